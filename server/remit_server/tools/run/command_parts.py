"""What the tools that run programs share: the hosts that a command may reach (BOX-03), how long it may take (BOX-04),
where it finds programs (BOX-02), and its output without the codes that colour it (TOOL-08).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from remit_governance.hosts import THIS_MACHINE, Endpoint
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.network.doors import PORT
from remit_server.sandbox.network.proxy_socket import network_environment
from remit_server.sandbox.ports import CommandOutput, CommandSpec
from remit_server.sandbox.visible.environment import command_environment, places_of
from remit_server.sandbox.visible.toolchains import VENVS
from remit_server.tools.spec import Arguments, Target, ToolContext

_NO_NETWORK = re.compile(
    "could not resolve host|temporary failure in name resolution|name or service not known|network is unreachable|"
    "getaddrinfo (?:enotfound|eai_again)|nodename nor servname|failed to lookup address",
    re.IGNORECASE,
)
"""Messages that programs print if they can reach nothing."""


_FIRST_PORT = 1024
"""The lowest port on which a process in a sandbox may listen."""


def host_targets(endpoints: Iterable[Endpoint]) -> tuple[Target, ...]:
    """Returns a target for each host that a command wants to reach."""
    return tuple(Target("net.connect", host=str(endpoint)) for endpoint in endpoints)


def with_hosts(spec: CommandSpec, endpoints: tuple[Endpoint, ...]) -> CommandSpec:
    """Returns the command with a network to these hosts, and with environment variables that tell its programs of it;
    without hosts, the command unchanged. Raises ToolError for a port of this machine that a sandbox cannot have."""
    if not endpoints:
        return spec
    away = tuple(each for each in endpoints if each.host != THIS_MACHINE)
    local = tuple(each.port for each in endpoints if each.host == THIS_MACHINE)
    for port in local:
        if port < _FIRST_PORT or port == PORT:
            raise ToolError(
                f"cannot reach `{THIS_MACHINE}:{port}`",
                f"a sandbox has ports from {_FIRST_PORT} on, except {PORT}, which its proxy uses",
                "name another port, as in `localhost:8080`",
                code=ErrorCode.INVALID_ARGUMENTS,
            )
    return replace(
        spec,
        environment={**spec.environment, **network_environment(away)} if away else spec.environment,
        network=tuple(map(str, away)),
        local=local,
        template="integration-test",
    )


def python_inside(environment: Mapping[str, str], to: str) -> str:
    """Returns the Python that runs our programs in the sandbox. Raises ToolError if there is none."""
    python = shutil.which("python3", path=environment["PATH"])
    if python is None:
        raise ToolError(
            f"cannot {to}",
            "there is no `python3` in the system's folders, which a sandbox can see",
            "ask the person to install it there",
            code=ErrorCode.TOOL_UNAVAILABLE,
        )
    return python


def lacked_network(printed: str) -> bool:
    """Returns whether the output says that the program could reach nothing."""
    return _NO_NETWORK.search(printed) is not None


_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
"""SGR of ECMA-48: codes that change only how the text after them looks."""


def without_colours(text: str) -> str:
    """Returns the text without colour codes, for searching and for readers outside a terminal."""
    return _COLOURS.sub("", text)


MOST_S = 3600
SETTING = "limits.command_timeout_s"
WAS_STOPPED = "the command was stopped"


def choose_seconds(arguments: Arguments, asked: int, ctx: ToolContext) -> int:
    """Returns the time limit of a command in seconds. `asked` is the call's `timeout`, or else the tool's default.

    A call that the person typed without a `timeout` gets all the time that they allow. Raises ToolError if the
    `timeout` is longer than that.
    """
    most = ctx.command_limit_s
    if "timeout" not in arguments.model_fields_set:
        return most if ctx.typed else min(asked, most)
    if asked > most:
        raise ToolError(
            f"cannot run the command for {asked} s",
            f"the person's `{SETTING}` allows {most} s at most",
            f"name a `timeout` up to {most}, or do less at once",
            code=ErrorCode.INVALID_ARGUMENTS,
        )
    return asked


def timed_out(seconds: int, ctx: ToolContext) -> ToolError:
    """Returns the error for a command that was stopped after its `seconds`, with advice on how to get more time."""
    most, why = ctx.command_limit_s, f"it took {seconds} s, its time limit"
    if seconds >= most:
        why = f"it took {seconds} s, the most that `{SETTING}` allows"
        fix = f"do less at once; the person can raise `{SETTING}`"
    elif ctx.typed:
        fix = f"begin with `!--timeout {most}`, the most that it may have, or do less at once"
    else:
        fix = f"call it with `timeout`: {most}, the most that it may have, or do less at once"
    return ToolError(WAS_STOPPED, why, fix, code=ErrorCode.TIMED_OUT)


def failure_of(output: CommandOutput, too_long: ToolError) -> ToolError | None:
    """Returns why Remit stopped a command: `too_long` if its time was over; None if the command ended by itself."""
    if output.timed_out:
        return too_long
    if output.stopped is None:
        return None
    why = f"it reached a limit of the sandbox: {output.stopped}"
    return ToolError(WAS_STOPPED, why, "do less at once, or let it print and keep less", code=ErrorCode.STOPPED)


_CACHES = {"COVERAGE_FILE": "/tmp/.coverage", "CARGO_TARGET_DIR": "/tmp/target"}  # noqa: S108  inside the sandbox


def own_folders(root: Path) -> tuple[Path, ...]:
    """Returns the folders of the project's own programs that can run inside a sandbox."""
    places = places_of(os.environ)
    own = [root / name / "bin" for name in VENVS if places.is_seen(root / name / "bin" / "python3", root)]
    return tuple(folder for folder in (*own, root / "node_modules" / ".bin") if folder.is_dir())


def hidden_program(root: Path, program: str) -> str | None:
    """Returns why a program of the project's own virtual environment cannot run in a sandbox, which is so if the
    sandbox cannot see its Python; else None."""
    places = places_of(os.environ)
    for name in VENVS:
        python = root / name / "bin" / "python3"
        if (python.parent / program).exists() and not places.is_seen(python, root):
            return f"`{program}` is in `{name}`, whose Python (`{python.resolve()}`) a sandbox cannot see"
    return None


def _not_found(printed: str) -> str | None:
    """Returns the program that a shell did not find, or None. Takes linear time, because a program can print
    anything."""
    for line in printed.splitlines():
        said, _, end = line.rpartition(": ")
        program = said.rpartition(" ")[2]
        if end in {"not found", "command not found"} and program and "/" not in program:
            return program
    return None


def way_on(printed: str, root: Path, cwd: Path) -> str | None:
    """Returns advice if the output says that a program of the project's own was not found, or that git does not know
    who commits; else None."""
    if "Please tell me who you are" in printed:
        return "nothing is committed inside a command: call git_commit, which commits as the person"
    program = _not_found(printed)
    if program is None:
        return None
    own = next((folder / program for folder in own_folders(root) if (folder / program).exists()), None)
    return hidden_program(root, program) if own is None else f"run it as `{os.path.relpath(own, cwd)}`"


def project_environment(root: Path, *, own: bool) -> dict[str, str]:
    """Returns a command's environment; with `own`, the project's programs come first on PATH, as they do for a person
    who works on the project."""
    environment = command_environment(os.environ)
    folders = [*map(str, own_folders(root)), environment["PATH"]] if own else [environment["PATH"]]
    return {**environment, **_CACHES, "PATH": ":".join(folders)}
