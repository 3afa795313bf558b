"""The shell that a command line is run by, and what it does not understand (CMD-07)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from remit_governance.policy.shell.bash_words import bash_words
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError

_SYSTEM = "/usr/local/bin:/usr/bin:/bin"
_SH = "/bin/sh"


# Of an image of the person's own only a process inside can tell. $1 is the line, $2 names the words.
_BY_BASH_INSIDE = (
    'command -v bash >/dev/null 2>&1 && exec bash -c "$1"; '
    'echo "not run: the image of REMIT_SANDBOX_IMAGE has no bash, and $2 may mean something else to sh; '
    'write it for sh, as POSIX has it" >&2; exit 127'
)


def shell_argv(command: str, environ: Mapping[str, str] = os.environ, path: str = _SYSTEM) -> tuple[str, ...]:
    """The command line as it runs: by the system's `bash`, which every sandbox shows; by `sh` where there is none.

    What an image of the person's own has is not known here: a line with words for bash runs by the bash inside, or not
    at all, and any other by `sh`. Raises ToolError (`invalid_arguments`) where `sh` would run a line that is written
    for bash: it would do something else, and say nothing.
    """
    image = environ.get("REMIT_SANDBOX_IMAGE", "").strip()
    bash = None if image else shutil.which("bash", path=path)
    named = "" if bash else ", ".join(f"`{word}`" for word in bash_words(command))
    if named and image:
        return (_SH, "-c", _BY_BASH_INSIDE, "sh", command, named)
    if named:
        raise ToolError(
            "cannot run the command",
            f"it runs by `sh`, for there is no bash here; {named} may mean something else to it",
            "write it for `sh`, as POSIX has it",
            code=ErrorCode.INVALID_ARGUMENTS,
        )
    return (bash or _SH, "-c", command)
