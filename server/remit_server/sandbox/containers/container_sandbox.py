"""Podman and Docker behind the port: one container for each command, removed when the command ends (BOX-07)."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from remit_server.machine.peers import is_dead, this_process
from remit_server.sandbox.advice import no_sandbox, require_isolation
from remit_server.sandbox.bubblewrap.bubblewrap_options import hidden_paths_below
from remit_server.sandbox.bubblewrap.layer import Layer
from remit_server.sandbox.bubblewrap.seccomp import ProfileName, profile_json
from remit_server.sandbox.channel import open_channel
from remit_server.sandbox.containers import container_argv as containers
from remit_server.sandbox.containers.container_argv import Container, ProgramName
from remit_server.sandbox.containers.container_layer import (
    AREAS,
    TRIAL,
    can_lie_over,
    excess_of,
    make_trial,
    mounts_itself,
    open_layer,
    tried_well,
    user_inside,
)
from remit_server.sandbox.containers.system_image import image_here, system_paths
from remit_server.sandbox.containers.ways_trial import TRIAL_OF_WAYS, TRIAL_S, UNIX, WENT, ChannelTrial, come_in
from remit_server.sandbox.findings import Circumstances, Finding, Trial, circumstances
from remit_server.sandbox.limits.limits import MIB, TEMPLATES
from remit_server.sandbox.network.doors import open_doors
from remit_server.sandbox.network.loopback import Loopback
from remit_server.sandbox.network.mounted_socket import PLACE, MountedSocket, open_mounted_socket
from remit_server.sandbox.outcome import (
    has_never_begun,
    last_line,
    refuse_ways_out,
    trusted_path,
    with_changes,
)
from remit_server.sandbox.policy_profile import library_folders, rules_argv, runtime_beside, runtime_folders
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation, Progress, RuleStart, RuntimeName
from remit_server.sandbox.server_identity import clear_leftovers, find_leftovers, lasting_folder, prefix_of
from remit_server.sandbox.subprocess_run import Invocation, kill_process, run_subprocess
from remit_server.sandbox.visible.environment import (
    SYSTEM_FOLDERS,
    command_environment,
    mounts_named_by,
    visible_outside,
)
from remit_server.uninterrupted import finish_uninterrupted, meanwhile

_ACT_S = 30.0
_AGAIN_S = (0.3, 1.0, 0.0)
# Exit codes that may be the command's own, or mean that nothing started, or that the kernel killed the command.
_UNCLEAR = frozenset({1, 125, 126, 127, 137})
# By these variables the programs find their daemon, their settings and the user's images; they get no others of ours
# but PATH.
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
    """What the trial found: the image, whether the runtime is rootless, its mount option for "nothing mounted below", a
    folder of files to mount, and the folder in which layers lie, if any."""

    image: str
    rootless: bool
    not_below: str
    folder: Path
    area: Path | None = None


@dataclass(frozen=True, slots=True)
class _Given:
    """What one command gets in addition: its layer, each place with the folder of its overlay, and the socket by which
    it comes to its doors."""

    layer: Layer | None = None
    overlays: tuple[tuple[Path, Path], ...] = ()
    way: MountedSocket | None = None


_NOTHING_MORE = _Given()


@dataclass(frozen=True, slots=True)
class _Found(Finding):
    place: _Place | None = None


class Containers:
    """Runs each command in a container of its own: no network but a proxy's, no capabilities, writes to a layer.

    Unless the person names an image (`REMIT_SANDBOX_IMAGE`), commands see this system's programs, as in Bubblewrap.
    """

    def __init__(self, program: ProgramName, workspace: Path | None = None) -> None:
        self._program: ProgramName = program
        self._workspace = workspace
        self._image = os.environ.get(_IMAGE, "")
        self._environment = {
            "PATH": trusted_path(workspace),
            **{name: os.environ[name] for name in _PASSED if name in os.environ},
        }
        self._tried = Trial(self._circumstances, self._try)
        self._files: Path | None = None
        self._pausing: asyncio.Task[None] | None = None

    @property
    def name(self) -> RuntimeName:
        """The program, `podman` or `docker`."""
        return self._program

    def isolation(self) -> Isolation:
        """Returns what this sandbox gives here, found by real runs once in this process."""
        return self._tried.isolation()

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Runs the command until it ends, passes a limit, or is cancelled. Raises ToolError (`sandbox_unavailable`)."""
        found = await self._tried.find()
        require_isolation(found.isolation, spec)
        assert found.place is not None, "what isolates has its place"
        refuse_ways_out(spec, self._program, found.isolation)
        try:
            ended = await self._layered(spec, found.place, progress)
        except OSError as error:
            raise no_sandbox(
                self._nothing(f"{self._program} cannot start: {error}", _WORKS.format(self._program))
            ) from error
        if has_never_begun(ended):
            raise no_sandbox(self._did_not_start(ended))
        return ended

    def start_rules(self, program: bytes) -> RuleStart:
        """Returns how to start the rules in a container with this system's libraries and Python. Raises OSError."""
        place = self._tried.find_now().place
        if place is None or self._image:
            why = "rules need this system's own Python, which an image chosen by the person does not have"
            raise OSError(why if place else self.isolation().why)
        text = place.folder / f"rules-{hashlib.sha256(program).hexdigest()[:12]}.py"
        text.write_bytes(program)
        text.chmod(0o444)
        here = CommandSpec((), place.folder, place.folder, {}, _ACT_S)
        container = replace(
            self._container(place, here, "strict"), shown=library_folders(), toolchains=runtime_beside(()), hidden=()
        )
        template = TEMPLATES["code-executor"]
        self._act_now(containers.create_rules_argv(container, template, text, rules_argv()))

        def remove() -> None:
            with contextlib.suppress(OSError):  # another process may be removing it
                self._act_now(containers.remove_argv(self._program, [container.name]))

        argv = containers.start_argv(self._program, container.name, hears=True)
        return RuleStart(tuple(argv), self._environment, remove=remove)

    def _act_now(self, argv: Sequence[str]) -> None:
        """Calls the program once, briefly, and blocks the calling thread. Raises OSError if the call fails."""
        try:
            subprocess.run(argv, env=self._environment, cwd="/", capture_output=True, timeout=_ACT_S, check=True)
        except subprocess.SubprocessError as error:
            said = getattr(error, "stderr", None) or str(error).encode()
            raise OSError(last_line(said)) from error

    async def collect(self) -> list[str]:
        """Removes the containers of servers that are dead, and returns their names."""
        listed = await self._act(containers.list_argv(self._program))
        pairs = (line.split() for line in listed.stdout.decode(errors="replace").splitlines())
        left = [pair[0] for pair in pairs if len(pair) == 2 and is_dead(pair[1])]
        if left:
            await self._act(containers.remove_argv(self._program, left))
        return left

    def _circumstances(self) -> Circumstances:
        settings = tuple(sorted(self._environment.items()))
        return circumstances(self._program, (self._program,), self._environment["PATH"], self._image, settings)

    async def _try(self) -> _Found:
        if shutil.which(self._program, path=self._environment["PATH"]) is None:
            return _Found(self._nothing(f"there is no program `{self._program}`", f"install {self._program}"))
        if sys.platform != "linux" and not self._image:
            why = "the programs of this system cannot run in a container"
            return _Found(
                self._nothing(why, f"name an image that has your programs: `{_IMAGE}=IMAGE` in your environment")
            )
        try:
            await self.collect()
            place = await self._prepared()
            await asyncio.to_thread(self._clear_leftovers, place)
            isolation = await self._trial(place)
            return await self._try_more(isolation, place) if isolation.available else _Found(isolation)
        except (OSError, RuntimeError) as error:
            return _Found(self._nothing(str(error), _WORKS.format(self._program)))

    async def _prepared(self) -> _Place:
        """Returns the image, made if necessary, and how to run it. Raises RuntimeError if there is no image and none
        can be made."""
        if self._files is None:
            self._files = await asyncio.to_thread(_make_files_folder)
        image, content = (self._image, b"") if self._image else await asyncio.to_thread(image_here)
        if (await self._act(containers.exists_argv(self._program, image))).exit_code != 0:
            if not content:
                raise RuntimeError(f"there is no image `{image}`: get it with `{self._program} pull`")
            await self._import(image, content)
        version = (await self._act(containers.version_argv(self._program))).stdout.decode(errors="replace")
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
        with contextlib.suppress(OSError):  # the program may end before it reads all; Python 3.11 would print that
            await process.stdin.wait_closed()
        if process.returncode != 0:
            raise RuntimeError(last_line(said) or f"{self._program} cannot import an image")

    async def _is_rootless(self) -> bool:
        if self._program == "docker":
            return False
        shown = await self._act(["podman", "info", "--format", "{{.Host.Security.Rootless}}"])
        return shown.stdout.strip() == b"true"

    async def _trial(self, place: _Place) -> Isolation:
        with tempfile.TemporaryDirectory(prefix=prefix_of("trial")) as folder:
            here = _require_readable(Path(folder))
            trial = CommandSpec(("/bin/sh", "-c", _READ_LIMITS), here, here, command_environment({}), TRIAL_S)
            ended = await self._contained(trial, place)
        if ended.exit_code != 0:
            return self._did_not_start(ended)
        template = TEMPLATES[trial.template]
        if not {b"%d" % template.limits.tasks, b"%d" % template.memory} <= set(ended.stdout.split()):
            why = f"{self._program} cannot limit memory and processes here"
            return self._nothing(why, "delegate the control groups `memory` and `pids` to this user")
        return Isolation(self._program, available=True)

    async def _try_more(self, isolation: Isolation, place: _Place) -> _Found:
        """Returns isolation and place, completed by trials of a layer, the proxy, a channel and the loopback."""
        (area, read_only), (held, offline) = await asyncio.gather(self._find_area(place), self._try_ways(place))
        hosts, channel, background = (line in held for line in WENT)
        ways = replace(isolation, hosts=hosts, channel=channel, background=background, offline=offline)
        more = replace(ways, layers=area is not None, read_only=read_only)
        return _Found(more, replace(place, area=area))

    async def _find_area(self, place: _Place) -> tuple[Path | None, str]:
        """Returns the first folder in which layers can lie; or None, with the reason and advice in the text."""
        why = ""
        for area in map(Path, (tempfile.gettempdir(), *AREAS)):
            with tempfile.TemporaryDirectory(prefix=prefix_of("trial")) as folder:
                here = _require_readable(Path(folder))
                make_trial(here)
                argv = ("/bin/sh", "-c", TRIAL)
                trial = CommandSpec(argv, here, here, command_environment({}), TRIAL_S, writes=True)
                try:
                    ended = await self._layered(trial, replace(place, area=area))
                except OSError as error:
                    why = why or str(error)
                    continue
            if ended.exit_code == 0 and tried_well(ended.left):
                return area, ""
            why = why or last_line(ended.stderr) or "what a command writes there is not found"
        helps = (
            "run the server as a user other than root, or on Linux 5.19 with the workspace on a disk of its own"
            if mounts_itself()
            else f"use a {self._program} that runs on this machine, with Linux 5.11"
        )
        return None, f"{why}; {helps}, or install bubblewrap"

    async def _try_ways(self, place: _Place) -> tuple[Sequence[bytes], str]:
        """Returns which lines of `WENT` a command printed; unless it was all, also the reason with advice."""
        argv = (self._python(), "-I", "-S", "-B", "-c", TRIAL_OF_WAYS)
        loopback = Loopback()
        with tempfile.TemporaryDirectory(prefix=prefix_of("trial")) as folder:
            here = _require_readable(Path(folder))
            trial = CommandSpec(argv, here, here, command_environment({}), TRIAL_S, network=("example.org",))
            try:
                async with meanwhile(come_in(loopback)):
                    ended = await self._connected(replace(trial, loopback=loopback, channel=ChannelTrial()), place)
            except (OSError, RuntimeError) as error:
                return (), f"{error}; install bubblewrap"
        said = ended.stdout.splitlines()
        if said == [*WENT]:
            return said, ""
        helps = (
            f"put a `python3` of version 3.9 or newer into the image `{self._image}`"
            if self._image
            else f"use a {self._program} that runs on this machine, with Linux"
        )
        held = () if UNIX in said else said
        return (
            held,
            f"{last_line(ended.stderr) or 'it does not reach the server'}; {helps}, or install bubblewrap",
        )

    async def _layered(self, spec: CommandSpec, place: _Place, progress: Progress | None = None) -> CommandOutput:
        """Runs the command, with a layer if it writes and there can be one. Raises OSError and ToolError."""
        area = place.area if can_lie_over(spec, self._program) else None
        if spec.scratch and area is None:
            why = "no folder here can hold what a command writes"
            raise no_sandbox(self._nothing(why, "start it without folders that it may write to"))
        if area is None or not (spec.writes or spec.scratch):
            return await self._connected(spec, place, progress)
        async with open_layer(spec, area, partial(self._clear, place)) as (layer, overlays):
            given = _Given(layer, overlays)
            ended = await self._connected(spec, place, progress, given)
            if spec.scratch or has_never_begun(ended):
                return ended
            return await asyncio.to_thread(with_changes, ended, layer)

    async def _connected(
        self, spec: CommandSpec, place: _Place, progress: Progress | None = None, given: _Given = _NOTHING_MORE
    ) -> CommandOutput:
        """Runs the command, with its doors and its channel if it needs any. Raises OSError and ToolError."""
        async with open_doors(spec, always=spec.channel is not None) as doors, open_channel(spec.channel) as end:
            if doors is None:
                return await self._contained(spec, place, progress, given)
            async with open_mounted_socket(doors, _calls_of(spec), end, spec.begun) as way:
                waiting = replace(spec, begun=None, environment={**spec.environment, **end.environment})
                ended = await self._contained(waiting, place, progress, replace(given, way=way))
            if way.refusal is not None:
                raise way.refusal
            return ended if way.let_go or ended.exit_code is None else replace(ended, exit_code=None)

    async def _contained(
        self, spec: CommandSpec, place: _Place, progress: Progress | None = None, given: _Given = _NOTHING_MORE
    ) -> CommandOutput:
        template = TEMPLATES[spec.template]
        container = replace(
            self._container(place, spec, _calls_of(spec) if given.way is None else "standard-unix"),
            overlays=given.overlays,
            mounted=mounts_itself(),
            door=None if given.way is None else (given.way.folder, PLACE),
            before=() if given.way is None else (self._python(), *given.way.arguments),
        )
        try:
            made = await finish_uninterrupted(self._act(containers.create_argv(container, spec, template)))
            if made.exit_code != 0:
                return replace(made, exit_code=None, timed_out=False)
            errand = self._errand(spec, container.name, progress)
            if given.layer is not None:
                errand = replace(errand, beyond=excess_of(given.layer, spec, template.limits))
            ended = await self._judged(await run_subprocess(errand), container.name, template.memory)
        finally:
            gone = await finish_uninterrupted(self._remove(container.name))
        if given.layer is not None and not gone:
            raise OSError("its container cannot be stopped, so it may still be writing")
        return ended

    def _container(self, place: _Place, spec: CommandSpec, calls: ProfileName) -> Container:
        shown = mounts_named_by(spec) if self._image else visible_outside(spec)
        seen = (*map(Path, SYSTEM_FOLDERS), *(each.place for each in shown))
        python = () if self._image or not calls.endswith("-unix") else runtime_beside(seen)
        return Container(
            program=self._program,
            name=f"remit-{secrets.token_hex(8)}",
            image=place.image,
            owner=this_process(),
            user=":".join(map(str, user_inside())),
            seccomp=place.folder / f"{calls}.json",
            empty_folder=place.folder / "folder",
            empty_file=place.folder / "file",
            rootless=place.rootless,
            not_below=place.not_below,
            shown=() if self._image else system_paths(),
            toolchains=(*shown, *python),
            hidden=hidden_paths_below(spec),
        )

    def _python(self) -> str:
        """Returns the Python inside: the one that runs the server, or that of the image which the person named."""
        return "python3" if self._image else str(runtime_folders()[0])

    def _errand(self, spec: CommandSpec, name: str, progress: Progress | None) -> Invocation:
        return Invocation(
            argv=containers.start_argv(self._program, name),
            environment=self._environment,
            timeout_s=spec.timeout_s,
            kept=spec.max_output_bytes,
            most_output=spec.max_output_bytes * TEMPLATES[spec.template].limits.output_factor,
            end=partial(self._end, name),
            progress=progress,
            freezer=spec.freezer,
            begun=spec.begun,
            freeze=partial(self._freeze, name),
        )

    def _freeze(self, name: str, stop: bool) -> None:
        """Pauses the container, or lets it go on, in a task: after the earlier ones, and again if the program fails."""

        async def act(before: asyncio.Task[None] | None) -> None:
            if before is not None:
                await before
            for wait_s in _AGAIN_S:
                with contextlib.suppress(OSError):
                    if (await self._act(containers.pause_argv(self._program, name, stop=stop))).exit_code == 0:
                        return
                await asyncio.sleep(wait_s)

        self._pausing = asyncio.get_running_loop().create_task(act(self._pausing))

    async def _judged(self, ended: CommandOutput, name: str, memory: int) -> CommandOutput:
        """Returns the result, corrected where only the runtime knows that the command never started, or that the kernel
        killed it for lack of memory."""
        if ended.exit_code not in _UNCLEAR:
            return ended
        shown = await self._act(containers.exit_code_argv(self._program, name))
        words = shown.stdout.decode(errors="replace").split()
        if len(words) < 4 or words[0] == "created" or words[3].startswith("0001"):
            return replace(ended, exit_code=None)
        if words[2] == "true":
            return replace(ended, exit_code=None, stopped=f"more than {memory // MIB} MiB of memory")
        return ended

    async def _end(self, name: str, process: asyncio.subprocess.Process) -> None:
        """Ends the container before the program that attends to it, because Podman, killed while it starts a container,
        leaves an unknown process. A container whose program has ended stays, so that it can still be inspected."""
        if process.returncode is None:
            await self._remove(name)
        await kill_process(process)

    async def _remove(self, name: str) -> bool:
        """Removes a container in any state, also one that does not exist. Returns whether it is gone."""
        with contextlib.suppress(OSError):
            removed = await self._act(containers.remove_argv(self._program, [name]))
            asked = containers.exit_code_argv(self._program, name)
            return removed.exit_code == 0 or (await self._act(asked)).exit_code not in {0, None}
        return False

    def _clear_leftovers(self, place: _Place) -> None:
        for area in map(Path, (tempfile.gettempdir(), *AREAS)):
            clear_leftovers(area)
            for folder in () if mounts_itself() else find_leftovers(area):
                self._clear(place, folder)
                clear_leftovers(area)

    def _clear(self, place: _Place, folder: Path) -> None:
        """Empties a folder of files that only root may remove, by a container. Never raises."""
        here = CommandSpec((), folder, folder, {}, _ACT_S)
        argv = containers.clear_argv(self._container(place, here, "standard"), folder)
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(argv, env=self._environment, cwd="/", capture_output=True, timeout=_ACT_S, check=False)

    async def _act(self, argv: list[str]) -> CommandOutput:
        """Calls the program once, briefly, and returns the result. Raises OSError if it cannot start."""
        return await run_subprocess(Invocation(argv, self._environment, _ACT_S, MIB, MIB, kill_process))

    def _did_not_start(self, ended: CommandOutput) -> Isolation:
        said = last_line(ended.stderr) or f"{self._program} did not start a container"
        return self._nothing(said, _WORKS.format(self._program))

    def _nothing(self, why: str, fix: str) -> Isolation:
        return Isolation(self._program, available=False, why=why, fix=fix)


def _calls_of(spec: CommandSpec) -> ProfileName:
    """Returns the name of a command's seccomp profile."""
    return "alone" if spec.alone else "standard" if spec.reached else TEMPLATES[spec.template].seccomp


def _require_readable(folder: Path) -> Path:
    """Makes a private folder readable for the user inside the container, and returns it."""
    folder.chmod(0o755)
    return folder


def _make_files_folder() -> Path:
    """Makes a folder of the seccomp profiles, and of an empty folder and an unreadable file that cover hidden paths."""
    folder = _require_readable(lasting_folder("containers"))
    (folder / "folder").mkdir(mode=0o555)
    (folder / "file").touch(mode=0o000)
    profiles: set[ProfileName] = {
        "standard-unix",
        "alone",
        "strict",
        *(template.seccomp for template in TEMPLATES.values()),
    }
    for name in profiles:
        (folder / f"{name}.json").write_text(profile_json(name))
    return folder
