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


def shell_argv(command: str, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The command line as it runs: by the system's `bash`, which every sandbox shows; by `sh` where there is none.

    What an image of the person's own has is not known, so there it is `sh`. Raises ToolError (`invalid_arguments`)
    where `sh` would run a line that is written for bash: it would do something else, and say nothing.
    """
    image = environ.get("REMIT_SANDBOX_IMAGE", "").strip()
    bash = None if image else shutil.which("bash", path=_SYSTEM)
    if bash is None and (words := bash_words(command)):
        named = ", ".join(f"`{word}`" for word in words)
        because = (
            "REMIT_SANDBOX_IMAGE is set, and what its image has is not known" if image else "there is no bash here"
        )
        raise ToolError(
            "cannot run the command",
            f"it runs by `sh`, for {because}; {named} may mean something else to it",
            "write it for `sh`, as POSIX has it",
            code=ErrorCode.INVALID_ARGUMENTS,
        )
    return (bash or _SH, "-c", command)
