"""Namespaces with seccomp and limits: the default sandbox on Linux (BOX-02).

bwrap(1) builds the namespaces; where it is not installed, our launcher builds them from the same options (BOX-12).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import socket
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import remit_server
from remit_server.sandbox.advice import (
    missing_advice,
    namespaces_advice,
    no_sandbox,
    require_isolation,
    sandbox_advice,
    this_machine,
)
from remit_server.sandbox.bubblewrap.apart import MOUNT_STAND_INS, foreign_folders, make_stand_ins
from remit_server.sandbox.bubblewrap.bubblewrap_options import bubblewrap_options, etc_options
from remit_server.sandbox.bubblewrap.layer import MOUNT_SCRATCH, Layer
from remit_server.sandbox.bubblewrap.orphans import kill_orphans, orphan_mark
from remit_server.sandbox.bubblewrap.run_contained import WATCH_S, Job, run_contained
from remit_server.sandbox.bubblewrap.seccomp import profile_filter
from remit_server.sandbox.channel import ChannelEnd, open_channel
from remit_server.sandbox.findings import Circumstances, Finding, Trial, circumstances, find_once
from remit_server.sandbox.limits import pids
from remit_server.sandbox.limits.cgroup import ControlGroup, clear_groups, find_parents
from remit_server.sandbox.limits.limits import TEMPLATES, Limits, Template
from remit_server.sandbox.network.doors import open_doors
from remit_server.sandbox.network.proxy_socket import NO_ENDPOINT, ProxyEndpoint, open_endpoint, relay_text
from remit_server.sandbox.outcome import has_never_begun, last_line, trusted_path, with_changes
from remit_server.sandbox.policy_profile import policy_options, runtime_folders
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation, Progress, RuleStart, RuntimeName
from remit_server.sandbox.probe import listening_in, trial_argv
from remit_server.sandbox.server_identity import clear_leftovers, prefix_of
from remit_server.sandbox.visible.environment import command_environment, visible_outside
from remit_server.sandbox.visible.toolchains import ReadOnlyMount
from remit_server.uninterrupted import finish_uninterrupted, lent

_PROBE_S = 20.0
_KILLED = 137
_WATCH_BACKGROUND_S = 1.0
"""A background command runs for hours and is checked less often, because each check reads all processes' status."""
_LAYER = (
    'mount -t overlay overlay -o "lowerdir=$layer/lower,upperdir=$layer/upper,workdir=$layer/work,userxattr" '
    '"$layer/merged" || exit; '
)


@dataclass(frozen=True, slots=True)
class Builder:
    """What builds the namespaces: `argv` returns the beginning of its command line, for a layer or for none; bwrap's
    options follow. `programs` must be installed.

    The builder reports as bwrap does, and prints `bwrap: …` if it fails.
    """

    runtime: RuntimeName
    programs: tuple[str, ...]
    argv: Callable[[Layer | None], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Found(Finding):
    """The trial's result: `area` is the folder in which layers lie, `bounds` whether bwrap can write `kernel.pid_max`.

    `apart`: the host's sockets are out of reach if the folders that were tried are behind overlays.
    """

    area: Path | None = None
    bounds: bool = False
    apart: bool = False


class Bubblewrap:
    """Runs each command in namespaces of its own: no network but a proxy's, no capabilities, writes to a layer.

    The programs that build the sandbox are never taken from below `workspace`, although PATH has a folder there when a
    virtual environment of the workspace is active.
    """

    def __init__(
        self, limits: Limits | None = None, workspace: Path | None = None, builder: Builder | None = None
    ) -> None:
        self._workspace = workspace
        self._limits = limits
        self._builder = builder or BWRAP
        self._tried = Trial(self._circumstances, self._try)

    @property
    def name(self) -> RuntimeName:
        """The builder's runtime, `bubblewrap` or `landlock`."""
        return self._builder.runtime

    def isolation(self) -> Isolation:
        """Returns what this sandbox gives here, found by real runs once in this process."""
        return self._tried.isolation()

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Runs the command until it ends, passes a limit, or is cancelled. Raises ToolError (`sandbox_unavailable`)."""
        found = await self._tried.find()
        require_isolation(found.isolation, spec)
        try:
            ended = await self._layered(spec, found, progress)
        except OSError as error:
            raise no_sandbox(self._cannot_start(error, sandbox_advice(this_machine()))) from error
        ended = with_shell_exit_code(ended, spec.argv[0])
        if has_never_begun(ended):
            raise no_sandbox(self._failed(ended))
        return ended

    def start_rules(self, program: bytes) -> RuleStart:
        """Returns how to start the rules. Raises OSError, and ImportError or RuntimeError without libseccomp."""
        rules = memory_file(profile_filter("strict"))
        text = memory_file(program)
        argv = (*self._builder.argv(None), "--seccomp", str(rules), *policy_options(text))
        return RuleStart(argv, {"PATH": trusted_path(self._workspace)}, (rules, text))

    def _circumstances(self) -> Circumstances:
        return circumstances(self.name, self._builder.programs, trusted_path(self._workspace), self._limits)

    async def _try(self) -> _Found:
        for program in self._builder.programs:
            if shutil.which(program, path=trusted_path(self._workspace)) is None:
                machine = this_machine()
                fix = sandbox_advice(machine) if program == "bwrap" else missing_advice(machine, program)
                return _Found(self._nothing(f"there is no program `{program}`", fix))
        try:
            profile_filter("standard")
        except (ImportError, RuntimeError, OSError) as error:
            advice = missing_advice(this_machine(), "libseccomp")
            return _Found(self._nothing(f"libseccomp cannot be used: {error}", advice))
        await asyncio.to_thread(kill_orphans)
        await asyncio.to_thread(clear_groups)
        with tempfile.TemporaryDirectory(prefix=prefix_of("trial")) as folder:
            here = Path(folder)
            trial = CommandSpec(("/bin/cat", pids.SETTING), here, here, command_environment({}), _PROBE_S)
            bounds = pids.has_own_limit_per_namespace(os.uname().release)
            try:
                ended = await self._contained(trial, bounds=bounds)
                if ended.exit_code != 0 and bounds:
                    # This system may not let bwrap write `kernel.pid_max`, so try again without it.
                    bounds = False
                    ended = await self._contained(trial, bounds=bounds)
            except OSError as error:
                return _Found(self._cannot_start(error, namespaces_advice(this_machine())))
            if ended.exit_code != 0:
                return _Found(self._failed(ended))
            area = await self._area_for_layers(replace(trial, argv=("/bin/sh", "-c", "echo x > probe")), bounds=bounds)
        bound = _bound_name(ended)
        isolation = Isolation(self.name, True, layers=area is not None, hosts=True, background=True, channel=True)
        return _Found(replace(isolation, processes=bound), area, bounds=bounds)

    async def _area_for_layers(self, trial: CommandSpec, *, bounds: bool) -> Path | None:
        """Returns the first folder in which a layer works, or None; a folder that is in an overlay itself cannot."""
        for area in (Path(tempfile.gettempdir()), Path("/dev/shm")):  # noqa: S108  a private folder is made in it
            with contextlib.suppress(OSError):
                clear_leftovers(area)
                layer = Layer.make(area, trial.workspace, prefix_of("layer"))
                try:
                    ended = await self._contained(trial, layer=layer, bounds=bounds)
                    if ended.exit_code == 0 and [left.path for left in layer.changes()] == ["probe"]:
                        return area
                finally:
                    layer.remove()
        return None

    async def _layered(self, spec: CommandSpec, found: _Found, progress: Progress | None) -> CommandOutput:
        """Runs the command, with a layer over the workspace if it writes and there can be one. Raises OSError, and
        ToolError as `_with_scratch` does."""
        if spec.scratch:
            return await self._with_scratch(spec, found, progress)
        if not spec.writes or found.area is None:
            return await self._contained(spec, progress, bounds=found.bounds)
        make = partial(Layer.make, found.area, spec.workspace, prefix_of("layer"))
        async with lent(make, Layer.remove) as layer:
            apart = await self._stand_ins(spec, found, layer)
            ended = await self._contained(spec, progress, layer=layer, stand_ins=apart, bounds=found.bounds)
            return await asyncio.to_thread(with_changes, ended, layer)

    async def _with_scratch(self, spec: CommandSpec, found: _Found, progress: Progress | None) -> CommandOutput:
        """Runs the command with its scratch folders, and throws away what it wrote. Raises OSError and ToolError."""
        if found.area is None:
            why = "no folder here can hold what a command writes"
            raise no_sandbox(self._nothing(why, "start it without folders that it may write to"))
        make = partial(Layer.make_scratch, found.area, spec.workspace, spec.scratch, prefix_of("layer"))
        async with lent(make, Layer.remove) as layer:
            return await self._contained(spec, progress, layer=layer, bounds=found.bounds)

    async def _stand_ins(self, spec: CommandSpec, found: _Found, layer: Layer) -> dict[str, str] | None:
        """Returns the overlays that are shown in place of the host's folders, so that the command may have UNIX
        sockets; None if it may not.

        Whether overlays keep the host's sockets out of reach is tried once in this process for the same folders; after
        a failure, again in a minute.
        """
        if spec.alone or TEMPLATES[spec.template].seccomp != "standard":
            return None
        if (folders := foreign_folders(spec.workspace, visible_outside(spec))) is None:
            return None
        here = circumstances(self.name, self._builder.programs, trusted_path(self._workspace), self._limits, folders)
        tried = await find_once(here, partial(self._try_apart, spec, found, folders), lambda each: each.apart)
        if not tried.apart:
            return None
        # Uninterrupted, because a thread that goes on after a cancellation would fill a layer that is being removed.
        return await finish_uninterrupted(asyncio.to_thread(make_stand_ins, layer, folders))

    async def _try_apart(self, spec: CommandSpec, found: _Found, folders: frozenset[str]) -> _Found:
        """Tries to reach a socket of the server from a command that has UNIX sockets and sees all that `spec` would."""
        with tempfile.TemporaryDirectory(prefix=prefix_of("trial")) as folder, contextlib.suppress(OSError):
            here = Path(folder)
            python = runtime_folders()
            readable = (*spec.readable, *python)
            trial = CommandSpec(trial_argv(str(python[0])), here, here, spec.environment, _PROBE_S, readable=readable)
            layer = Layer.make(found.area or here, here, prefix_of("layer"))
            try:
                with listening_in(here):
                    places = make_stand_ins(layer, folders)
                    ended = await self._contained(trial, layer=layer, stand_ins=places, bounds=found.bounds)
                    return replace(found, apart=ended.stdout.split() == [b"ip", b"unix", b"end"])
            finally:
                layer.remove()
        return found

    async def _contained(
        self,
        spec: CommandSpec,
        progress: Progress | None = None,
        layer: Layer | None = None,
        *,
        stand_ins: dict[str, str] | None = None,
        bounds: bool,
    ) -> CommandOutput:
        async with open_control_group(TEMPLATES[spec.template]) as control:
            shown = visible_outside(spec)
            async with open_proxy(spec, shown) as door, open_channel(spec.channel) as end:
                given = (replace(spec, environment={**spec.environment, **end.environment}), control, progress, layer)
                ended = await run_contained(
                    self._job(*given, door, end=end, shown=shown, stand_ins=stand_ins, bounds=bounds)
                )
            return with_reason(ended, control)

    def _job(
        self,
        spec: CommandSpec,
        control: ControlGroup | None,
        progress: Progress | None,
        layer: Layer | None,
        door: ProxyEndpoint,
        *,
        end: ChannelEnd,
        shown: tuple[ReadOnlyMount, ...],
        stand_ins: dict[str, str] | None,
        bounds: bool,
    ) -> Job:
        template = TEMPLATES[spec.template]
        limits = self._limits or template.limits
        own = "alone" if spec.alone else "standard" if spec.reached else template.seccomp
        rules = profile_filter(own if stand_ins is None else "standard-unix")
        read_status, write_status = os.pipe()
        ours, held = make_hold()
        merged = None if layer is None or spec.scratch else layer.merged
        profile = memory_file(rules)
        etc, settings = etc_options(memory_file)
        bound = memory_file(pids.bound_setting(limits.tasks)) if bounds else None
        given = (profile, *settings, *(() if bound is None else (bound,)))
        options = bubblewrap_options(
            *(spec, limits),
            etc=etc,
            bound=bound,
            merged=merged,
            shown=shown,
            stand_ins=stand_ins or {},
            scratch={} if layer is None else layer.scratch_of(spec.scratch),
            more=door.options,
        )
        argv = [
            *(*(control.joining() if control else ()), *self._builder.argv(layer)),
            *(*options, "--seccomp", str(profile), "--json-status-fd", str(write_status)),
            *("--block-fd", str(held), "--", *door.command, *spec.argv),
        ]
        return Job(
            argv=argv,
            path=trusted_path(spec.workspace, self._workspace),
            descriptors=(*given, write_status, held, *door.descriptors, *end.descriptors),
            status=read_status,
            hold=ours,
            timeout_s=spec.timeout_s,
            max_output_bytes=spec.max_output_bytes,
            limits=limits,
            progress=progress,
            layer=None if layer is None else layer.scratch if spec.scratch else layer.upper,
            as_root=os.geteuid() == 0,
            # /sys has half the mounts of a machine, and for each mount that bwrap makes it reads the table of all.
            unseen=() if control else ("/sys",),
            freezer=spec.freezer,
            begun=partial(_begin, (door.begin, end.begin, spec.begun)),
            freeze=control.freeze if control else None,
            watch_s=_WATCH_BACKGROUND_S if spec.background else WATCH_S,
        )

    def _nothing(self, why: str, fix: str) -> Isolation:
        return Isolation(self.name, False, why, fix)

    def _cannot_start(self, error: OSError, fix: str) -> Isolation:
        return self._nothing(f"{self._starter()} cannot start: {error}", fix)

    def _failed(self, ended: CommandOutput) -> Isolation:
        said = last_line(ended.stderr) or ended.stopped or f"{self._starter()} did not start"
        advice = sandbox_advice if "Unknown option" in said else namespaces_advice
        return self._nothing(said, advice(this_machine()))

    def _starter(self) -> str:
        return "bwrap" if self._builder is BWRAP else "the launcher"


@asynccontextmanager
async def open_control_group(template: Template) -> AsyncGenerator[ControlGroup | None]:
    """Yields a control group for one command, which is removed on exit; None if this user can make none, which is found
    out without a thread."""
    groups = find_parents()
    if not groups:
        yield None
        return
    async with lent(partial(ControlGroup.make, template, groups), _require_group) as control:
        yield control


def _require_group(control: ControlGroup | None) -> None:
    if control:
        control.remove()


def _first_options(layer: Layer | None) -> tuple[str, ...]:
    """Returns the words that mount the layer's overlays in a new mount namespace and then start bwrap in it; nothing
    without a layer."""
    if layer is None:
        return ()
    own = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    script = f'layer=$1; shift; {_LAYER}{MOUNT_SCRATCH}{MOUNT_STAND_INS}exec "$@"'
    return (
        "unshare",
        *own,
        "--mount",
        "--propagation",
        "private",
        "--",
        "/bin/sh",
        "-c",
        script,
        "sh",
        str(layer.folder),
    )


def _bwrap_argv(layer: Layer | None) -> tuple[str, ...]:
    return (*_first_options(layer), "bwrap", *orphan_mark())


def _launcher_argv(layer: Layer | None) -> tuple[str, ...]:
    return (*program_of_ours("landlock.launch"), *(() if layer is None else ("--layer", str(layer.folder))))


def program_of_ours(name: str) -> tuple[str, ...]:
    """Returns how to start a program of this package: an isolated Python, with the standard library and Remit alone."""
    code = f"import sys; sys.path.append(sys.argv.pop(1)); from remit_server.sandbox.{name} import main; "
    packages = str(Path(remit_server.__file__).parents[1])
    return (str(runtime_folders()[0]), "-I", "-S", "-B", "-c", f"{code}sys.exit(main(sys.argv[1:]))", packages)


BWRAP = Builder("bubblewrap", ("bwrap", "unshare"), _bwrap_argv)
LAUNCHER = Builder("landlock", (), _launcher_argv)


def make_hold() -> tuple[socket.socket, int]:
    """Returns a socket of ours, and the descriptor at which bwrap waits for a message from it before the command
    begins.

    They are datagram sockets, which signal no end of file: if the server dies before the limits are set, the command
    must not begin.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return ours, theirs.detach()


@asynccontextmanager
async def open_proxy(spec: CommandSpec, shown: tuple[ReadOnlyMount, ...] = ()) -> AsyncGenerator[ProxyEndpoint]:
    """Yields what the sandbox needs for a command's doors; `NO_ENDPOINT` for a command without any."""
    async with open_doors(spec) as doors:
        if doors is None:
            yield NO_ENDPOINT
            return
        async with open_endpoint(doors, memory_file(relay_text()), shown) as endpoint:
            yield endpoint


def _begin(told: tuple[Callable[[int], None] | None, ...], first: int) -> None:
    for begun in told:
        if begun is not None:
            begun(first)


def with_reason(ended: CommandOutput, control: ControlGroup | None) -> CommandOutput:
    """Returns how a command ended, with the reason from its control group if the kernel killed something in it."""
    why = control.stopped() if control and ended.exit_code == _KILLED else None
    return replace(ended, exit_code=None, stopped=why) if why else ended


def with_shell_exit_code(ended: CommandOutput, program: str) -> CommandOutput:
    """Returns the result with exit code 127 if there is no such program, or 126 if it cannot be started, because bwrap
    reports no exit code for these."""
    said = last_line(ended.stderr)
    if not (has_never_begun(ended) and said.startswith(f"bwrap: execvp {program}: ")):
        return ended
    return replace(ended, exit_code=127 if said.endswith(os.strerror(errno.ENOENT)) else 126)


def _bound_name(read: CommandOutput) -> str:
    """Returns in words what limits the number of a command's processes, given a trial that read `kernel.pid_max`."""
    tasks = TEMPLATES["code-executor"].limits.tasks
    if find_parents():
        return f"a control group, {tasks} at most"
    if pids.is_bounded_by(read.stdout, tasks):
        return f"their namespace, {tasks + pids.RESERVED} at most"
    if os.geteuid() != 0:
        return f"RLIMIT_NPROC, {tasks} at most"
    return "only a check ten times a second; run the server as a user other than root, or on Linux 6.14"


def memory_file(data: bytes) -> int:
    """Returns a descriptor from which these bytes can be read."""
    fd = os.memfd_create("remit")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
