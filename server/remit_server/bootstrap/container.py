"""Makes the container of a workspace in which the server runs, and removes it with the server (CLI-12, CLI-15)."""

from __future__ import annotations

import csv
import io
import os
import resource
import secrets
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from remit_server.machine.peers import is_dead, this_process
from remit_server.streams.pulse import INSIDE, SOCKET

LABEL = "remit.bootstrap"
HOME = "/run/remit-home"
# SELinux labels are off, because otherwise the person's own files would have to be relabelled.
HELD = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--security-opt", "label=disable")
# These let an ordinary user make Bubblewrap's namespaces, which restrict commands more than is given up here.
_NESTING = ("--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined", "--security-opt")
NESTING: Mapping[str, tuple[str, ...]] = {
    "podman": (*_NESTING, "unmask=ALL"),
    "docker": (*_NESTING, "systempaths=unconfined"),
}
_ROOTLESS: Mapping[str, tuple[str, str]] = {
    "podman": ("{{.Host.Security.Rootless}}", "true"),
    "docker": ("{{.SecurityOptions}}", "name=rootless"),
}
_LIMITS = (("nofile", resource.RLIMIT_NOFILE, 65_536), ("nproc", resource.RLIMIT_NPROC, 4_096))


class CannotStart(Exception):
    """There is no container, and another try would not make one. Has the reason (`why`) and the remedy (`fix`)."""

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.why, self.fix = why, fix


@dataclass(frozen=True, slots=True)
class Workspace:
    """A container to run the server in: the program, the image, the folder that it may write, and its user and group.

    `own` are Remit's folders, by the variables that name them; `passed` are variables of this process that the
    container gets.
    """

    program: str
    image: str
    folder: Path
    own: Mapping[str, Path] = field(default_factory=dict[str, Path])
    passed: Sequence[str] = ()
    user: int = field(default_factory=os.getuid)
    group: int = field(default_factory=os.getgid)


def create_argv(
    workspace: Workspace, name: str, sockets: Path, command: Sequence[str], *, rootless: bool = False
) -> list[str]:
    """Returns the command line that makes the container, for `start_argv` to start.

    The workspace and Remit's own folders are writable in it, at the same paths; it has no privileges and nothing else
    of the person's. Root gets no namespaces inside, because without capabilities it could not use them (CLI-16).
    """
    return [
        *(workspace.program, "create", "--interactive", "--pull", "never", "--log-driver", "none"),
        *("--name", name, "--label", f"{LABEL}={this_process()}", *_user_options(workspace, rootless)),
        *(*HELD, *(NESTING[workspace.program] if workspace.user else ())),
        # Set limits that the host allows, because many hosts allow less than a runtime's own default.
        *(option for each in _LIMITS for option in ("--ulimit", _limit(*each))),
        *("--tmpfs", f"{HOME}:rw,mode=1777", "--env", f"HOME={HOME}"),
        *_mount(workspace.folder, workspace.folder),
        *(option for folder in workspace.own.values() for option in _mount(folder, folder)),
        *(option for variable, folder in workspace.own.items() for option in ("--env", f"{variable}={folder}")),
        *(option for variable in workspace.passed for option in ("--env", variable)),
        *(*_mount(sockets, Path(INSIDE)), "--env", f"{SOCKET}={INSIDE}/socket"),
        *("--workdir", str(workspace.folder), "--entrypoint", command[0], workspace.image, *command[1:]),
    ]


def start_argv(program: str, name: str) -> list[str]:
    """Returns the command line that starts the container with this process's streams and ends with the exit code
    inside."""
    return [program, "start", "--attach", "--interactive", name]


def signal_argv(program: str, name: str, number: int) -> list[str]:
    """Returns the command line that sends a signal to the server inside. The signal does not go to the program of
    `start_argv`, because that may end before the server."""
    return [program, "kill", "--signal", str(number), name]


@contextmanager
def contained(workspace: Workspace, sockets: Path, command: Sequence[str]) -> Generator[str]:
    """Makes a container, and yields its name; removes it in the end, whatever its state.

    Raises CannotStart, and OSError if there is no such program.
    """
    name = f"remit-workspace-{secrets.token_hex(6)}"
    argv = create_argv(workspace, name, sockets, command, rootless=is_rootless(workspace.program))
    try:
        made = _act(argv)
        if made.returncode != 0:
            fix = f"`{workspace.program} pull` or build `{workspace.image}` first, with `remit` in it"
            raise CannotStart(_last_line(made.stderr), fix)
        yield name
    finally:
        _act([workspace.program, "rm", "--force", "--volumes", name])


def is_rootless(program: str) -> bool:
    """Returns whether the program's containers belong to an ordinary user. Raises CannotStart if the program fails."""
    asked, answer = _ROOTLESS[program]
    told = _act([program, "info", "--format", asked])
    if told.returncode != 0:
        raise CannotStart(_last_line(told.stderr), f"make sure that `{program} info` works for this user")
    return answer in told.stdout


def remove_orphans(program: str) -> list[str]:
    """Removes the containers whose bootstrap is dead; returns their names."""
    label = f'index .Labels "{LABEL}"' if program == "podman" else f'.Label "{LABEL}"'
    shown = f"{{{{.Names}}}} {{{{{label}}}}}"
    listed = _act([program, "ps", "--all", "--filter", f"label={LABEL}", "--format", shown])
    pairs = [line.split() for line in listed.stdout.splitlines()]
    left = [pair[0] for pair in pairs if len(pair) == 2 and is_dead(pair[1])]
    if left:
        _act([program, "rm", "--force", "--volumes", *left])
    return left


def _user_options(workspace: Workspace, rootless: bool) -> tuple[str, ...]:
    """Returns the options for the user inside: the one who started this process, so that written files stay theirs. In
    rootless Docker that user is root."""
    if rootless and workspace.program == "docker":
        return ("--user", "0:0")
    kept = ("--userns", "keep-id") if rootless else ()
    return (*kept, "--user", f"{workspace.user}:{workspace.group}")


def _limit(kind: str, number: int, most: int) -> str:
    _, hard = resource.getrlimit(number)
    least = most if hard == resource.RLIM_INFINITY else min(hard, most)
    return f"{kind}={least}:{least}"


def _mount(source: Path, place: Path) -> tuple[str, str]:
    """Returns the option that mounts a folder, with quoted fields, because a path may hold commas and colons."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(("type=bind", f"src={source}", f"dst={place}"))
    return ("--mount", line.getvalue())


def _act(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("Error: ") if lines else "it gave no reason"
