"""Bubblewrap with seccomp and limits: the default sandbox on Linux (003 §Container Manager Module, agent.md §3)."""

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
from dataclasses import replace
from functools import partial
from pathlib import Path

from remit_governance.hosts import parse_endpoint
from remit_server.sandbox import pids
from remit_server.sandbox.advice import missing_advice, namespaces_advice, sandbox_advice, this_machine
from remit_server.sandbox.cgroup import ControlGroup, clear_groups, parents_here
from remit_server.sandbox.contain import Ended, Job, contain
from remit_server.sandbox.door import NO_DOOR, Door, opened, relay_text
from remit_server.sandbox.environment import command_environment
from remit_server.sandbox.etc import settings
from remit_server.sandbox.held import clear_held, mark
from remit_server.sandbox.layer import Layer, Left
from remit_server.sandbox.limits import Limits
from remit_server.sandbox.nothing import no_sandbox
from remit_server.sandbox.outcome import command_output, found_out, last_line, never_began, own_path
from remit_server.sandbox.owner import clear_left, prefix_of
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation
from remit_server.sandbox.profile import bubblewrap_options
from remit_server.sandbox.proxy import Attempt, Proxy
from remit_server.sandbox.seccomp import profile_filter, standard_filter
from remit_server.sandbox.seen import seen_outside
from remit_server.sandbox.templates import TEMPLATES, Template
from remit_server.sandbox.toolchains import Shown
from remit_server.uninterrupted import lent

_PROBE_S = 20.0
_KILLED = 137
_EVERYTHING = Isolation("bubblewrap", False, "the workspace is the whole file system", "open a folder of it instead")
_LAYER = (
    'mount -t overlay overlay -o "lowerdir=$layer/lower,upperdir=$layer/upper,workdir=$layer/work,userxattr" '
    '"$layer/merged" && '
)


class Bubblewrap:
    """Runs each command in namespaces of its own: no network but a proxy's, no capabilities, what it writes kept apart.

    `hidden` are files and folders of the workspace that no command may see. Its own programs come from nowhere below
    `workspace`: whoever has activated a virtual environment there has a folder of it in PATH.
    """

    def __init__(
        self, hidden: tuple[Path, ...] = (), limits: Limits | None = None, workspace: Path | None = None
    ) -> None:
        self._hidden = hidden
        self._workspace = workspace
        self._limits = limits
        self._isolation: Isolation | None = None
        self._area: Path | None = None
        self._bounds = pids.own_in_each_namespace(os.uname().release)

    def isolation(self) -> Isolation:
        """What isolates here, found out by one real run."""
        self._isolation = found_out(self._isolation, self._try)
        return self._isolation

    async def run(self, spec: CommandSpec, progress: Callable[[bytes], None] | None = None) -> CommandOutput:
        """Run to the end, the limit, or cancellation. Raises ToolError (`sandbox_unavailable`)."""
        if self._isolation is None or not self._isolation.available:
            self._isolation = await self._try()
        if not self._isolation.available:
            raise no_sandbox(self._isolation)
        if not spec.workspace.name:
            raise no_sandbox(_EVERYTHING)
        try:
            ended, left = await self._layered(spec, progress)
        except OSError as error:
            raise no_sandbox(
                Isolation("bubblewrap", False, f"bwrap cannot start: {error}", sandbox_advice(this_machine()))
            ) from error
        ended = _as_shells_say(ended, spec.argv[0])
        if never_began(ended):
            raise no_sandbox(_failed(ended))
        return command_output(ended, left)

    async def _try(self) -> Isolation:
        for program in ("bwrap", "unshare"):
            if shutil.which(program, path=own_path(self._workspace)) is None:
                machine = this_machine()
                fix = sandbox_advice(machine) if program == "bwrap" else missing_advice(machine, program)
                return Isolation("bubblewrap", False, f"there is no program `{program}`", fix)
        try:
            standard_filter()
        except (ImportError, RuntimeError, OSError) as error:
            return Isolation(
                "bubblewrap", False, f"libseccomp cannot be used: {error}", missing_advice(this_machine(), "libseccomp")
            )
        await asyncio.to_thread(clear_held)
        await asyncio.to_thread(clear_groups)
        with tempfile.TemporaryDirectory(prefix=prefix_of("trial")) as folder:
            here = Path(folder)
            trial = CommandSpec(("/bin/cat", pids.SETTING), here, here, command_environment({}), _PROBE_S)
            try:
                ended = await self._contained(trial)
                if ended.exit_code != 0 and self._bounds:
                    # It may be the bound that this system does not let bwrap write.
                    self._bounds = False
                    ended = await self._contained(trial)
            except OSError as error:
                return Isolation("bubblewrap", False, f"bwrap cannot start: {error}", namespaces_advice(this_machine()))
            if ended.exit_code != 0:
                return _failed(ended)
            self._area = await self._area_for_layers(replace(trial, argv=("/bin/sh", "-c", "echo x > probe")))
        return Isolation("bubblewrap", True, layers=self._area is not None, processes=_bounded_by(ended))

    async def _area_for_layers(self, trial: CommandSpec) -> Path | None:
        """The first folder in which a layer's parts may lie: it must not be part of an overlay itself."""
        for area in (Path(tempfile.gettempdir()), Path("/dev/shm")):  # noqa: S108  a private folder is made in it
            with contextlib.suppress(OSError):
                clear_left(area)
                layer = Layer.make(area, trial.workspace, prefix_of("layer"))
                try:
                    ended = await self._contained(trial, layer=layer)
                    if ended.exit_code == 0 and [left.path for left in layer.changes()] == ["probe"]:
                        return area
                finally:
                    layer.remove()
        return None

    async def _layered(
        self, spec: CommandSpec, progress: Callable[[bytes], None] | None
    ) -> tuple[Ended, tuple[Left, ...]]:
        """Run it with a layer over the workspace, where there can be one; and what is then in it. Raises OSError."""
        if not spec.writes or self._area is None:
            return await self._contained(spec, progress), ()
        make = partial(Layer.make, self._area, spec.workspace, prefix_of("layer"))
        async with lent(make, Layer.remove) as layer:
            ended = await self._contained(spec, progress, layer=layer)
            return ended, await asyncio.to_thread(layer.changes)

    async def _contained(
        self, spec: CommandSpec, progress: Callable[[bytes], None] | None = None, layer: Layer | None = None
    ) -> Ended:
        async with _controlled(TEMPLATES[spec.template]) as control:
            shown = seen_outside(spec)
            async with way_out(spec, shown) as door:
                ended = await contain(self._job(spec, control, progress, layer, door, shown=shown))
            why = control.stopped() if control and ended.exit_code == _KILLED else None
            return replace(ended, exit_code=None, stopped=why) if why else ended

    def _job(
        self,
        spec: CommandSpec,
        control: ControlGroup | None,
        progress: Callable[[bytes], None] | None,
        layer: Layer | None,
        door: Door,
        *,
        shown: tuple[Shown, ...],
    ) -> Job:
        template = TEMPLATES[spec.template]
        limits = self._limits or template.limits
        rules = profile_filter("standard-net" if spec.network else template.seccomp)
        # First: what is opened below is closed only once there is a job.
        etc = settings(str(place) for place in (spec.workspace, *(each.place for each in shown)))
        read_status, write_status = os.pipe()
        ours, held = hold()
        merged = layer.merged if layer else None
        profile = memory_file(rules)
        bound = memory_file(pids.bound(limits.tasks)) if self._bounds else None
        options = bubblewrap_options(
            spec, limits, self._hidden, etc=etc, bound=bound, merged=merged, shown=shown, more=door.options
        )
        argv = [
            *(*(control.joining() if control else ()), *_first(layer)),
            *("bwrap", *mark(), *options, "--seccomp", str(profile), "--json-status-fd", str(write_status)),
            *("--block-fd", str(held), "--", *door.command, *spec.argv),
        ]
        return Job(
            argv=argv,
            path=own_path(spec.workspace, self._workspace),
            descriptors=(profile, write_status, held, *(() if bound is None else (bound,)), *door.descriptors),
            status=read_status,
            hold=ours,
            timeout_s=spec.timeout_s,
            max_output_bytes=spec.max_output_bytes,
            limits=limits,
            progress=progress,
            layer=layer.upper if layer else None,
            as_root=os.geteuid() == 0,
            # It has half the mounts of a machine, and bwrap reads the table of all for each that it makes.
            unseen=() if control else ("/sys",),
        )


@asynccontextmanager
async def _controlled(template: Template) -> AsyncGenerator[ControlGroup | None]:
    """A control group for one command, gone with it; None where this user can make none, which takes no thread."""
    groups = parents_here()
    if not groups:
        yield None
        return
    async with lent(partial(ControlGroup.make, template, groups), _ungrouped) as control:
        yield control


def _ungrouped(control: ControlGroup | None) -> None:
    if control:
        control.remove()


def _first(layer: Layer | None) -> tuple[str, ...]:
    """What happens in a mount namespace of our own before bwrap starts there; nothing without a layer."""
    if layer is None:
        return ()
    own = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    script = f'layer=$1; shift; {_LAYER}exec "$@"'
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


def hold() -> tuple[socket.socket, int]:
    """A socket of ours, and the descriptor at which bwrap waits for a message to it before the command begins.

    Datagrams, for they have no end: it must not begin either when the server dies before the limits are set.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return ours, theirs.detach()


@asynccontextmanager
async def way_out(spec: CommandSpec, shown: tuple[Shown, ...] = ()) -> AsyncGenerator[Door]:
    """The door to the proxy of a command that may reach something."""
    if not spec.network:
        yield NO_DOOR
        return
    listed = frozenset(map(parse_endpoint, spec.network))
    async with opened(Proxy(listed, spec.attempted or _unheard), memory_file(relay_text()), shown) as door:
        yield door


def _unheard(attempt: Attempt) -> None:
    del attempt


def _as_shells_say(ended: Ended, program: str) -> Ended:
    """127 where there is no such program and 126 where it cannot be started, of which bwrap reports no code."""
    said = last_line(ended.stderr.value())
    if not (never_began(ended) and said.startswith(f"bwrap: execvp {program}: ")):
        return ended
    return replace(ended, exit_code=127 if said.endswith(os.strerror(errno.ENOENT)) else 126)


def _bounded_by(read: Ended) -> str:
    """What bounds the number of a command's processes, from a trial that read the setting inside."""
    tasks = TEMPLATES["code-executor"].limits.tasks
    if parents_here():
        return f"a control group, {tasks} at most"
    if pids.held_to(read.stdout.value(), tasks):
        return f"their namespace, {tasks + pids.RESERVED} at most"
    if os.geteuid() != 0:
        return f"RLIMIT_NPROC, {tasks} at most"
    return "nothing but a look at them ten times a second; run the server as another user than root, or on Linux 6.14"


def _failed(ended: Ended) -> Isolation:
    said = last_line(ended.stderr.value()) or ended.stopped or "bwrap did not start"
    missing = "Unknown option" in said
    advice = sandbox_advice if missing else namespaces_advice
    return Isolation("bubblewrap", False, said, advice(this_machine()))


def memory_file(data: bytes) -> int:
    """A descriptor to read these bytes from."""
    fd = os.memfd_create("remit")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
