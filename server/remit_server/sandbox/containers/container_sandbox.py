"""Podman and Docker behind the port: one container a command, gone with it (BOX-07).

The image that commands run in where no other is named: empty folders to mount this system's own programs on.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import os
import secrets
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from remit_server.peers import is_dead, this_process
from remit_server.sandbox.advice import no_sandbox
from remit_server.sandbox.bubblewrap.bubblewrap_options import ETC, GROUP, PASSWD, USER_ID, hidden_paths_below
from remit_server.sandbox.bubblewrap.run_contained import ProcessResult
from remit_server.sandbox.bubblewrap.seccomp import profile_json
from remit_server.sandbox.containers import container_argv as containers
from remit_server.sandbox.containers.container_argv import Container, ProgramName
from remit_server.sandbox.findings import circumstances, find_once, wait_for
from remit_server.sandbox.limits.limits import MIB, TEMPLATES
from remit_server.sandbox.outcome import (
    command_output,
    has_never_begun,
    last_line,
    refuse_ways_out,
    trusted_path,
)
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation, Progress, RuntimeName
from remit_server.sandbox.server_identity import clear_leftovers, lasting_folder, prefix_of
from remit_server.sandbox.subprocess_run import Invocation, run_subprocess
from remit_server.sandbox.visible.environment import (
    SCRATCH,
    SYSTEM_FOLDERS,
    command_environment,
    mounts_named_by,
    places_of,
    visible_outside,
)
from remit_server.sandbox.visible.toolchains import folders_above
from remit_server.uninterrupted import finish_uninterrupted

_TRIAL_S = 60.0
_ACT_S = 30.0
# Exit codes that may be the command's own, or say that nothing started or that the kernel ended it.
_UNCLEAR: Mapping[ProgramName, frozenset[int]] = {
    "podman": frozenset({125, 126, 127, 137}),
    "docker": frozenset({1, 125, 126, 127, 137}),
}
# How the programs find their daemon, their own settings and the user's images; nothing else of ours reaches them.
_PASSED = (
    *("HOME", "USER", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS"),
    *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST", "CONTAINERS_CONF"),
)
_WORKS = "see that `{} run` works for this user, or on Linux install bubblewrap"
_IMAGE = "REMIT_SANDBOX_IMAGE"
_READ_LIMITS = (
    "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max; "
    "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; true"
)


@dataclass(frozen=True, slots=True)
class _Place:
    """What the trial found: the image, whether the runtime is rootless, how it mounts, and a folder of files to
    mount."""

    image: str
    rootless: bool
    not_below: str
    folder: Path


@dataclass(frozen=True, slots=True)
class _Found:
    isolation: Isolation
    place: _Place | None = None


class Containers:
    """Runs each command in a container of its own: no network, a read-only workspace, no capabilities, no layers.

    Without an image of the person's own (`REMIT_SANDBOX_IMAGE`) it shows this system's programs, as Bubblewrap does.
    """

    def __init__(self, program: ProgramName, workspace: Path | None = None) -> None:
        self._program: ProgramName = program
        self._workspace = workspace
        self._image = os.environ.get(_IMAGE, "")
        self._environment = {
            "PATH": trusted_path(workspace),
            **{name: os.environ[name] for name in _PASSED if name in os.environ},
        }
        self._found: _Found | None = None
        self._files: Path | None = None
        self._pausing: asyncio.Task[None] | None = None

    @property
    def name(self) -> RuntimeName:
        """The program."""
        return self._program

    def isolation(self) -> Isolation:
        """Returns what isolates here, found out by one real run in this process."""
        return wait_for(self._find).isolation

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Run to the end, the limit, or cancellation. Raises ToolError (`sandbox_unavailable`)."""
        found = await self._find()
        if found.place is None:
            raise no_sandbox(found.isolation)
        refuse_ways_out(spec, self._program)
        if spec.workspace == Path(spec.workspace.anchor):
            raise no_sandbox(self._nothing("the workspace is the whole file system", "open a folder of it instead"))
        try:
            ended = await self._contained(spec, found.place, progress)
        except OSError as error:
            raise no_sandbox(
                self._nothing(f"{self._program} cannot start: {error}", _WORKS.format(self._program))
            ) from error
        if has_never_begun(ended):
            raise no_sandbox(self._did_not_start(ended))
        return command_output(ended)

    async def collect(self) -> list[str]:
        """Remove the containers of servers that are dead; their names."""
        listed = await self._act(containers.list_argv(self._program))
        pairs = (line.split() for line in listed.stdout.value().decode(errors="replace").splitlines())
        left = [pair[0] for pair in pairs if len(pair) == 2 and is_dead(pair[1])]
        if left:
            await self._act(containers.remove_argv(self._program, left))
        return left

    async def _find(self) -> _Found:
        if self._found is None or self._found.place is None:
            settings = tuple(sorted(self._environment.items()))
            here = circumstances(self._program, (self._program,), self._environment["PATH"], self._image, settings)
            self._found = await find_once(here, self._try)
        return self._found

    async def _try(self) -> _Found:
        if shutil.which(self._program, path=self._environment["PATH"]) is None:
            return _Found(self._nothing(f"there is no program `{self._program}`", f"install {self._program}"))
        if sys.platform != "linux" and not self._image:
            why = "the programs of this system cannot run in a container"
            return _Found(self._nothing(why, f"name an image that has yours: `{_IMAGE}=IMAGE` in your environment"))
        try:
            await asyncio.to_thread(clear_leftovers, Path(tempfile.gettempdir()))
            await self.collect()
            place = await self._prepared()
            isolation = await self._trial(place)
            return _Found(isolation, place if isolation.available else None)
        except (OSError, RuntimeError) as error:
            return _Found(self._nothing(str(error), _WORKS.format(self._program)))

    async def _prepared(self) -> _Place:
        """Raises RuntimeError where there is no image and none can be made."""
        if self._files is None:
            self._files = await asyncio.to_thread(_make_files_folder)
        image, content = (self._image, b"") if self._image else await asyncio.to_thread(_system_image)
        if (await self._act(containers.exists_argv(self._program, image))).exit_code != 0:
            if not content:
                raise RuntimeError(f"there is no image `{image}`: {self._program} pull it first")
            await self._import(image, content)
        version = (await self._act(containers.version_argv(self._program))).stdout.value().decode(errors="replace")
        return _Place(image, await self._is_rootless(), containers.not_below(version), self._files)

    async def _import(self, image: str, content: bytes) -> None:
        process = await asyncio.create_subprocess_exec(
            *containers.import_argv(self._program, image),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
            cwd="/",
        )
        _, said = await process.communicate(content)
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # a program that ended before it read all; Python 3.11 would print that
            await process.stdin.wait_closed()
        if process.returncode != 0:
            raise RuntimeError(last_line(said) or f"{self._program} cannot import an image")

    async def _is_rootless(self) -> bool:
        if self._program == "docker":
            return False
        shown = await self._act(["podman", "info", "--format", "{{.Host.Security.Rootless}}"])
        return shown.stdout.value().strip() == b"true"

    async def _trial(self, place: _Place) -> Isolation:
        with tempfile.TemporaryDirectory(prefix=prefix_of("trial")) as folder:
            here = _require_readable(Path(folder))
            trial = CommandSpec(("/bin/sh", "-c", _READ_LIMITS), here, here, command_environment({}), _TRIAL_S)
            ended = await self._contained(trial, place)
        if ended.exit_code != 0:
            return self._did_not_start(ended)
        template = TEMPLATES[trial.template]
        if not {b"%d" % template.limits.tasks, b"%d" % template.memory} <= set(ended.stdout.value().split()):
            why = f"{self._program} cannot limit memory and processes here"
            return self._nothing(why, "let this user have control groups: delegate `memory` and `pids` to it")
        return Isolation(self._program, available=True)

    async def _contained(self, spec: CommandSpec, place: _Place, progress: Progress | None = None) -> ProcessResult:
        template = TEMPLATES[spec.template]
        shown = mounts_named_by(spec) if self._image else visible_outside(spec)
        container = Container(
            program=self._program,
            name=f"remit-{secrets.token_hex(8)}",
            image=place.image,
            owner=this_process(),
            user=_user_option(),
            seccomp=place.folder / f"{template.seccomp}.json",
            empty_folder=place.folder / "folder",
            empty_file=place.folder / "file",
            rootless=place.rootless,
            not_below=place.not_below,
            shown=() if self._image else system_paths(),
            toolchains=shown,
            hidden=hidden_paths_below(spec),
        )
        argv = containers.run_argv(container, spec, template)
        try:
            if self._program == "docker":
                made = await finish_uninterrupted(self._act(argv))
                if made.exit_code != 0:
                    return replace(made, exit_code=None, timed_out=False)
                argv = containers.start_argv(container.name)
            ended = await run_subprocess(self._errand(argv, spec, container.name, progress))
            return await self._judged(ended, container.name, template.memory)
        finally:
            await asyncio.shield(asyncio.create_task(self._remove(container.name)))

    def _errand(self, argv: list[str], spec: CommandSpec, name: str, progress: Progress | None) -> Invocation:
        return Invocation(
            argv=argv,
            environment=self._environment,
            timeout_s=spec.timeout_s,
            kept=spec.max_output_bytes,
            most_output=spec.max_output_bytes * TEMPLATES[spec.template].limits.output_factor,
            end=_kill,
            progress=progress,
            freezer=spec.freezer,
            begun=spec.begun,
            freeze=partial(self._freeze, name),
        )

    def _freeze(self, name: str, stop: bool) -> None:
        """Beside what goes on: one act after the other, in their order."""

        async def act(before: asyncio.Task[None] | None) -> None:
            if before is not None:
                await before
            with contextlib.suppress(OSError):
                await self._act(containers.pause_argv(self._program, name, stop=stop))

        self._pausing = asyncio.get_running_loop().create_task(act(self._pausing))

    async def _judged(self, ended: ProcessResult, name: str, memory: int) -> ProcessResult:
        """Returns the same, with what only the runtime knows: that nothing started, or that the kernel ended it."""
        if ended.exit_code not in _UNCLEAR[self._program]:
            return ended
        shown = await self._act(containers.exit_code_argv(self._program, name))
        words = shown.stdout.value().decode(errors="replace").split()
        if len(words) < 4 or words[0] == "created" or words[3].startswith("0001"):
            return replace(ended, exit_code=None)
        if words[2] == "true":
            return replace(ended, exit_code=None, stopped=f"more than {memory // MIB} MiB of memory")
        return ended

    async def _remove(self, name: str) -> None:
        """Whatever state it is in, and whether it is there or not."""
        with contextlib.suppress(OSError):
            await self._act(containers.remove_argv(self._program, [name]))

    async def _act(self, argv: list[str]) -> ProcessResult:
        """Returns one short call of the program. Raises OSError where it cannot start."""
        return await run_subprocess(Invocation(argv, self._environment, _ACT_S, MIB, MIB, _kill))

    def _did_not_start(self, ended: ProcessResult) -> Isolation:
        said = last_line(ended.stderr.value()) or f"{self._program} did not start a container"
        return self._nothing(said, _WORKS.format(self._program))

    def _nothing(self, why: str, fix: str) -> Isolation:
        return Isolation(self._program, available=False, why=why, fix=fix)


async def _kill(process: asyncio.subprocess.Process) -> None:
    """End the program that attends to a container; the container itself is removed after it."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    await process.wait()


def _user_option() -> str:
    """Never root: where the server is, commands are somebody else, who reads what anyone may."""
    return f"{os.geteuid() or USER_ID}:{os.getegid() or USER_ID}"


def _require_readable(folder: Path) -> Path:
    """Returns a private folder of ours that the user inside may look into."""
    folder.chmod(0o755)
    return folder


def _system_image() -> tuple[str, bytes]:
    """With the folders above every toolchain of this person: the runtime itself would make them to be listed."""
    return system_image(passed=folders_above(places_of(os.environ)))


def _make_files_folder() -> Path:
    """Returns the seccomp profiles, and an empty folder and an unreadable file to lay over what is hidden."""
    folder = _require_readable(lasting_folder("containers"))
    (folder / "folder").mkdir(mode=0o555)
    (folder / "file").touch(mode=0o000)
    for template in TEMPLATES.values():
        (folder / f"{template.seccomp}.json").write_text(profile_json(template.seccomp))
    return folder


_FOLDERS = ("/usr", "/etc", "/proc", "/sys", "/dev", "/run", "/var")


def system_image(system: Iterable[str] = SYSTEM_FOLDERS, passed: Iterable[Path] = ()) -> tuple[str, bytes]:
    """Returns the image's name, which changes with its content, and a tar file of it. Looks at what is a link here.

    The folders that are `passed` through on the way to a mount cannot be listed.
    """
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name in _FOLDERS:
            tar.addfile(_tar_entry(name, tarfile.DIRTYPE, 0o755))
        tar.addfile(_tar_entry(SCRATCH, tarfile.DIRTYPE, 0o1777))
        for path in passed:
            if str(path) not in _FOLDERS and not any(map(path.is_relative_to, (SCRATCH, *SYSTEM_FOLDERS))):
                tar.addfile(_tar_entry(str(path), tarfile.DIRTYPE, 0o111))
        for folder in map(Path, system):
            if folder.is_symlink():
                link = _tar_entry(str(folder), tarfile.SYMTYPE, 0o777)
                link.linkname = str(folder.readlink())
                tar.addfile(link)
        for name, content in (("/etc/passwd", PASSWD), ("/etc/group", GROUP)):
            entry = _tar_entry(name, tarfile.REGTYPE, 0o644)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    digest = hashlib.sha256(data.getvalue()).hexdigest()[:12]
    return f"localhost/remit-system:{digest}", data.getvalue()


def system_paths() -> tuple[Path, ...]:
    """Returns what is mounted on it: this system's programs, and the few files of /etc that they need."""
    folders = (Path(name) for name in SYSTEM_FOLDERS)
    files = (Path("/etc", name) for name in ETC)
    return (*(f for f in folders if f.is_dir() and not f.is_symlink()), *(f for f in files if f.exists()))


def _tar_entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name.lstrip("/"))
    entry.type, entry.mode = kind, mode
    return entry
