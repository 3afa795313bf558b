"""Builds command lines for Podman and Docker (BOX-07); what is no argument here is fixed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from remit_server.sandbox.bubblewrap.apart import mounts_below
from remit_server.sandbox.limits.limits import Template
from remit_server.sandbox.policy_profile import PROGRAM
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.environment import SCRATCH
from remit_server.sandbox.visible.toolchains import ReadOnlyMount

ProgramName = Literal["podman", "docker"]
LABEL = "remit.server"
# Set, because many hosts allow less than a runtime's own default, and the runtime then fails to set that.
_USER_PROCESSES = 4096
NOT_BELOW = "bind-nonrecursive=true"
_NOT_BELOW_SINCE_25 = "bind-recursive=disabled"


@dataclass(frozen=True, slots=True)
class Container:
    """How one container is run: its name and image, the server that owns it, its user as `uid:gid`, its seccomp
    profile.

    `shown` and `toolchains` are mounted read-only; `empty_folder` and `empty_file` cover what is `hidden`. `not_below`
    is the mount option that leaves out what else is mounted below a folder. `overlays` may be written to: each is a
    place and the folder with the parts of its overlay; with `mounted` the overlay is mounted there already, else the
    program mounts it. `door` is a folder and the place at which it is mounted. `before` are words put before the
    command.
    """

    program: ProgramName
    name: str
    image: str
    owner: str
    user: str
    seccomp: Path
    empty_folder: Path
    empty_file: Path
    rootless: bool = False
    not_below: str = NOT_BELOW
    shown: tuple[Path, ...] = ()
    toolchains: tuple[ReadOnlyMount, ...] = ()
    hidden: tuple[Path, ...] = ()
    overlays: tuple[tuple[Path, Path], ...] = ()
    mounted: bool = False
    door: tuple[Path, Path] | None = None
    before: tuple[str, ...] = ()


def create_argv(container: Container, spec: CommandSpec, template: Template) -> list[str]:
    """Returns what makes a container for one command: read-only, without network or capabilities, and with no files of
    the host but the mounted ones.

    `start_argv` starts the container. The two are separate because a `run` that is cut short may still make its
    container after we removed it: Docker's daemon goes on, and so does a process that Podman leaves behind.
    """
    limits = template.limits
    return [
        *_confined(container, template),
        *(
            option
            for place in (SCRATCH, "/var/tmp")  # noqa: S108  inside
            if place != str(spec.workspace)
            for option in ("--tmpfs", f"{place}:rw,exec,nosuid,nodev,size={limits.scratch_bytes},mode=1777")
        ),
        *_shown_options(container),
        *_workspace_options(spec.workspace, container),
        *(_read_only_option(*container.door, container) if container.door else ()),
        *(option for path in container.hidden for option in _cover_option(path, container)),
        *("--workdir", str(spec.cwd), "--entrypoint", "/usr/bin/env", container.image, "-i"),
        *(f"{name}={value}" for name, value in spec.environment.items()),
        *("nice", "-n", "10", *container.before, *spec.argv),
    ]


def create_rules_argv(container: Container, template: Template, program: Path, argv: Sequence[str]) -> list[str]:
    """Returns what makes the container of a person's own rules, in which nothing can be written. `argv` runs the file
    `program`, which is mounted at `PROGRAM`; standard input stays open."""
    entry, *words = argv
    return [
        *(*_confined(container, template), "--interactive"),
        *_shown_options(container),
        *_read_only_option(program, Path(PROGRAM), container),
        *("--workdir", "/", "--entrypoint", entry, container.image, *words),
    ]


def _confined(container: Container, template: Template) -> list[str]:
    limits = template.limits
    return [
        *(container.program, "create"),
        *("--name", container.name, "--label", f"{LABEL}={container.owner}"),
        *("--pull", "never", "--log-driver", "none", "--hostname", "remit", "--network", "none", "--ipc", "private"),
        *("--read-only", *(("--read-only-tmpfs=false",) if container.program == "podman" else ())),
        *("--cap-drop", "ALL", "--user", container.user, *(("--userns", "keep-id") if container.rootless else ())),
        *("--security-opt", "no-new-privileges", "--security-opt", f"seccomp={container.seccomp}"),
        # With SELinux labels, the runtime would have to relabel the system's and the person's own files.
        *("--security-opt", "label=disable"),
        *("--memory", str(template.memory), "--memory-swap", str(template.memory), "--cpus", str(template.cpus)),
        *("--pids-limit", str(limits.tasks), "--shm-size", str(limits.shared_bytes)),
        *_ulimit_options(
            nofile=limits.open_files,
            nproc=_USER_PROCESSES,
            data=limits.process_bytes,
            fsize=limits.file_bytes,
            core=0,
        ),
    ]


def _shown_options(container: Container) -> Iterator[str]:
    for path in container.shown:
        yield from _read_only_option(path, path, container)
    for each in container.toolchains:
        yield from _read_only_option(each.source, each.place, container)
    for path in (path for each in container.toolchains for path in each.private):
        yield from _cover_option(path, container)


def start_argv(program: ProgramName, name: str, *, hears: bool = False) -> list[str]:
    """Returns what starts a container and ends with its command's exit code; 1 or 125 can also mean that it did not
    start. With `hears`, the command gets standard input."""
    return [program, "start", "--attach", *(("--interactive",) if hears else ()), name]


def remove_argv(program: ProgramName, names: Sequence[str]) -> list[str]:
    """Returns what kills and removes containers at once, with the volumes that were made for them alone."""
    at_once = ("--time", "0") if program == "podman" else ()
    return [program, "rm", "--force", "--volumes", *at_once, *names]


def clear_argv(container: Container, folder: Path) -> list[str]:
    """Returns what empties a folder as root, in a container that can write to nothing else, because Docker's daemon
    leaves files in it that only root may remove."""
    return [
        *(container.program, "run", "--rm", "--name", container.name, "--label", f"{LABEL}={container.owner}"),
        *("--pull", "never", "--network", "none", "--read-only", "--security-opt", "label=disable"),
        *("--cap-drop", "ALL", "--cap-add", "DAC_OVERRIDE", "--user", "0:0", "--security-opt", "no-new-privileges"),
        *(option for path in container.shown for option in _read_only_option(path, path, container)),
        *_mount_option(folder, Path("/mnt"), container.not_below),
        *("--entrypoint", "/bin/sh", container.image, "-c", "rm -rf /mnt/*"),
    ]


def pause_argv(program: ProgramName, name: str, *, stop: bool) -> list[str]:
    """Returns what pauses all processes in a container, or lets them go on."""
    return [program, "pause" if stop else "unpause", name]


def exit_code_argv(program: ProgramName, name: str) -> list[str]:
    """Returns what prints `<state> <exit code> <whether memory ran out> <when it started>` of a container."""
    shown = "{{.State.Status}} {{.State.ExitCode}} {{.State.OOMKilled}} {{.State.StartedAt}}"
    return [program, "inspect", "--type", "container", "--format", shown, name]


def list_argv(program: ProgramName) -> list[str]:
    """Returns what prints `<name> <owner>` for each container that any Remit server has left behind or is using."""
    # Podman and Docker have different names for the same field.
    label = f'index .Labels "{LABEL}"' if program == "podman" else f'.Label "{LABEL}"'
    shown = f"{{{{.Names}}}} {{{{{label}}}}}"
    return [program, "ps", "--all", "--filter", f"label={LABEL}", "--format", shown]


def version_argv(program: ProgramName) -> list[str]:
    """Returns what prints the program's name and version."""
    return [program, "--version"]


def not_below(version: str) -> str:
    """Returns how the option is spelled for a program with this version text. Docker has another spelling since 25, and
    prints a warning about the old one to the error output, where it would mix with the command's own."""
    docker = re.match(r"Docker version (\d+)", version)
    return _NOT_BELOW_SINCE_25 if docker and int(docker[1]) >= 25 else NOT_BELOW


def import_argv(program: ProgramName, image: str) -> list[str]:
    """Returns what makes an image from the tar file on standard input."""
    return [program, "import", "-", image]


def exists_argv(program: ProgramName, image: str) -> list[str]:
    """Returns what exits with 0 if there is such an image."""
    return [program, "image", "inspect", "--format", "{{.Id}}", image]


def _ulimit_options(**most: int) -> Iterable[str]:
    return (option for name, value in most.items() for option in ("--ulimit", f"{name}={value}:{value}"))


def _workspace_options(workspace: Path, container: Container) -> Iterable[str]:
    """Yields options for the workspace, read-only unless it has an overlay itself, for each overlay, and for other file
    systems mounted inside an overlay's place, read-only."""
    places = [place for place, _ in container.overlays]
    if workspace not in places:
        yield from _read_only_option(workspace, workspace, container)
    for place, parts in container.overlays:
        yield from _overlay_option(place, parts, container)
    for inner in (inner for place in places for inner in mounts_below(place)):
        yield from _read_only_option(inner, inner, container)


def _overlay_option(place: Path, parts: Path, container: Container) -> tuple[str, ...]:
    if container.mounted:
        return _mount_option(parts / "merged", place, container.not_below)
    lower, upper, work = (f"{name}dir={parts / name}" for name in ("lower", "upper", "work"))
    if container.program == "podman":
        return ("--volume", f"{parts / 'lower'}:{place}:O,{upper},{work}")
    overlay = ("type=overlay", "device=overlay", f"o={lower},{upper},{work},userxattr,nosuid,nodev")
    own = ("volume-driver=local", "volume-nocopy=true", *(f"volume-opt={each}" for each in overlay))
    return ("--mount", _fields("type=volume", f"dst={place}", *own))


def _cover_option(path: Path, container: Container) -> tuple[str, str]:
    return _read_only_option(container.empty_folder if path.is_dir() else container.empty_file, path, container)


def _read_only_option(source: Path, place: Path, container: Container) -> tuple[str, str]:
    """Returns a read-only mount without what else is mounted below, because that would be writable."""
    return _mount_option(source, place, "readonly=true", container.not_below)


def _mount_option(source: Path, place: Path, *how: str) -> tuple[str, str]:
    return ("--mount", _fields("type=bind", f"src={source}", f"dst={place}", *how))


def _fields(*fields: str) -> str:
    """Returns the fields of a mount as one CSV line, quoted because a path may hold commas."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()
