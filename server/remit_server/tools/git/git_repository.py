"""Runs git on a repository that is not trusted: a fixed command in the sandbox, without the repository's own settings
(GIT-01).

A repository's config can name programs in more ways than can be listed (fsmonitor, clean filters, textconv, aliases,
includes), some under names of its own choosing, which no `-c` can switch off. So git never sees the config file: it
works with a git folder in the scratch folder that has the repository's objects, refs and index and nothing else, and is
given only the settings that say how to read the tree.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from remit_governance.visible import visible
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import CommandOutput, CommandSpec
from remit_server.sandbox.visible.environment import command_environment
from remit_server.tools.spec import Target, ToolContext
from remit_server.workspace.git_config import harmless, settings_of
from remit_server.workspace.git_linked import Folders, NoRepository, find_repository
from remit_server.workspace.trees.exclude import ATTRIBUTES_FILE, EXCLUDES_FILE, persons_file, persons_list

MAX_OUTPUT_BYTES = 4_000_000
TIMEOUT_S = 60.0
_LEFT_OUT = b"\n[... "
_HEAD = re.compile(r"ref: refs/heads/(\S+)\s*")
_UNREADABLE = {"extensions.objectformat": "sha256", "extensions.refstorage": "reftable"}

_GIT_FOLDER = "/tmp/git"  # noqa: S108  inside the sandbox, where the scratch folder is
# $1 is the scratch git folder, $2 the folder that has HEAD, the rest are files and folders up to `--`. HEAD is copied,
# because it must not be a link.
_PREPARE = """set -e
to=$1; from=$2; shift 2
mkdir "$to"
cp "$from/HEAD" "$to/HEAD"
while [ "$1" != -- ]; do [ ! -e "$1" ] || [ -e "$to/${1##*/}" ] || ln -s "$1" "$to/"; shift; done
shift
"""
_OPTIONS = (
    *("--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "core.untrackedCache=false", "-c", "diff.external="),
    # In the sandbox the files seem to have another owner, so that git would otherwise read all of them again.
    *("-c", "core.checkStat=minimal", "-c", "core.quotePath=true", "-c", "protocol.allow=never"),
)
GIT = shlex.join(("git", *_OPTIONS))
"""The start of every git command, for a shell."""

DIFF = f"{GIT} diff --no-ext-diff --no-textconv --no-color --relative --ignore-submodules=dirty"
"""The start of every comparison, for a shell."""


def repository_targets(ctx: ToolContext) -> tuple[Target, ...]:
    """Returns the targets of looking at a repository: reading and listing, not running.

    The command line is fixed and starts nothing of the repository, so a person who allows files to be read has allowed
    this too; a rule about `git` is about commands that a model writes. A rule that denies reading `.git` denies all of
    it.
    """
    return (Target("fs.list", ctx.resolve(".")), Target("fs.read", ctx.resolve(".git")))


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository of the workspace at `root`, the settings that git is given, and the lists of ignored files and
    attributes that the settings name."""

    root: Path
    folders: Folders
    settings: tuple[tuple[str, str], ...]
    lists: tuple[Path, ...] = ()

    def command(self, script: str, *words: str) -> CommandSpec:
        """Returns the command for a shell `script` with these words as its arguments, in the sandbox, where it cannot
        write to the workspace."""
        parts = tuple(self.folders.parts())
        above = (path for name in (".gitignore", ".gitattributes") for path, _ in self.folders.above(name))
        given = (_GIT_FOLDER, str(self.folders.own), *map(str, parts), "--")
        return CommandSpec(
            argv=("/bin/sh", "-c", _PREPARE + script, "sh", *given, *words),
            cwd=self.root,
            workspace=self.root,
            environment={**command_environment(os.environ), **self._environment()},
            timeout_s=TIMEOUT_S,
            max_output_bytes=MAX_OUTPUT_BYTES,
            readable=(*parts, *self.lists, *above),
        )

    def _environment(self) -> Mapping[str, str]:
        told = {"GIT_CONFIG_COUNT": str(len(self.settings))}
        for number, (name, value) in enumerate(self.settings):
            told |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return {
            **told,
            # Set explicitly, so that no pointer file inside `.git` leads elsewhere.
            "GIT_DIR": _GIT_FOLDER,
            "GIT_COMMON_DIR": _GIT_FOLDER,
            "GIT_WORK_TREE": str(self.folders.top),
            "GIT_OBJECT_DIRECTORY": str(self.folders.common / "objects"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }


def open_repository(ctx: ToolContext) -> Repository:
    """Returns the workspace's repository. Raises ToolError, with the reason, if there is none that can be read."""
    root = ctx.workspace.root
    if shutil.which("git", path=command_environment(os.environ)["PATH"]) is None:
        raise _refusal("git is not installed", "install git", ErrorCode.TOOL_UNAVAILABLE)
    folders = find_repository(root)
    if isinstance(folders, NoRepository):
        raise _refusal(folders.why, folders.fix, folders.code)
    try:
        settings, head = folders.config(), folders.head()
    except OSError as error:
        raise _refusal(f"it cannot be read: {error.strerror}", "check its permissions") from error
    if (value := unreadable_format(settings)) is not None:
        raise _refusal(
            f"its format is {value}, which Remit does not support",
            "use run_command with git instead",
            ErrorCode.TOOL_UNAVAILABLE,
        )
    branch = _HEAD.fullmatch(head)
    # The person's own settings for reading trees come first, so that the repository's settings override them.
    theirs = tuple(settings_of(folders.own, (), os.environ).items())
    told = (*harmless(theirs, None), *harmless(settings, branch[1] if branch else None))
    ignored = persons_list(ctx.workspace, folders)
    attributes = persons_file(ctx.workspace, folders, ATTRIBUTES_FILE, "attributes")
    found = attributes if attributes is not None and attributes.is_file() else None
    told += ((EXCLUDES_FILE, str(ignored.path)),) if ignored else ()
    told += ((ATTRIBUTES_FILE, str(found or os.devnull)),)
    return Repository(root, folders, told, tuple(path for path in (ignored and ignored.path, found) if path))


def unreadable_format(settings: Iterable[tuple[str, str]]) -> str | None:
    """Returns the repository's format from its settings if git cannot read it without them, else None."""
    return next((value for name, value in settings if _UNREADABLE.get(name) == value.lower()), None)


def read_printed(output: CommandOutput, ctx: ToolContext) -> tuple[bytes, bool]:
    """Returns git's output up to the first omission, and whether there was one. Raises ToolError."""
    if output.timed_out or output.exit_code is None:
        why = f"git took longer than {TIMEOUT_S:.0f} s" if output.timed_out else "git was stopped at a sandbox's limit"
        raise _refusal(why, "name fewer paths, or use run_command", ErrorCode.LIMIT_REACHED)
    if output.exit_code != 0:
        said = ctx.redact(output.stderr.decode(errors="replace")).strip() or f"git ended with {output.exit_code}"
        line = next((line for line in said.splitlines() if line.startswith("fatal: ")), said.splitlines()[0])
        raise _refusal(line.removeprefix("fatal: "), "look at the arguments, or at the repository itself")
    cut = output.stdout.find(_LEFT_OUT) if output.truncated else -1
    return (output.stdout, False) if cut < 0 else (output.stdout[:cut], True)


def may_be_seen(path: str, ctx: ToolContext) -> bool:
    """Returns whether the model may know of `path`: policy must allow it to be listed and read without asking."""
    return ctx.permits("fs.list", path) and ctx.permits("fs.read", path)


def quote_path(path: str) -> str:
    """Returns a path as printable text on one line."""
    clean = visible(os.fsencode(path).decode(errors="replace"), "show")
    return clean if clean.isprintable() else json.dumps(clean)


def _refusal(why: str, fix: str, code: ErrorCode = ErrorCode.INVALID_ARGUMENTS) -> ToolError:
    return ToolError("cannot look at the repository", why, fix, code=code)
