"""Landlock and a seccomp filter behind the port, without any namespace: a weaker sandbox, used only if the person asks
for it (BOX-13)."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from remit_server.sandbox.advice import missing_advice, no_sandbox, require_isolation, sandbox_advice, this_machine
from remit_server.sandbox.bubblewrap.bubblewrap import (
    make_hold,
    memory_file,
    open_control_group,
    program_of_ours,
    with_reason,
    with_shell_exit_code,
)
from remit_server.sandbox.bubblewrap.bubblewrap_options import ETC, hidden_paths_below
from remit_server.sandbox.bubblewrap.layer import Layer
from remit_server.sandbox.bubblewrap.run_contained import Job, run_contained
from remit_server.sandbox.bubblewrap.seccomp import profile_filter
from remit_server.sandbox.findings import Circumstances, Finding, Trial, circumstances
from remit_server.sandbox.landlock.alone import signal_below
from remit_server.sandbox.landlock.kernel import SCOPED_SINCE, Rights, landlock_version
from remit_server.sandbox.limits.cgroup import ControlGroup
from remit_server.sandbox.limits.limits import TEMPLATES, tasks_of
from remit_server.sandbox.outcome import has_never_begun, last_line, refuse_ways_out, trusted_path
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation, Progress, RuntimeName
from remit_server.sandbox.server_identity import clear_leftovers, prefix_of
from remit_server.sandbox.visible.environment import SYSTEM_FOLDERS, command_environment, visible_outside
from remit_server.sandbox.visible.toolchains import ReadOnlyMount
from remit_server.uninterrupted import lent

LACKS = ("itself",)
"""The properties of `probe.py` that a command does not have here: a loopback of its own."""

_TRIAL_S = 20.0
_MOST_PLACES = 20_000
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
# The machine's own settings; git exits with an error if it may not read /etc/gitconfig.
_SETTINGS = ("/etc/passwd", "/etc/group", "/etc/hosts", "/etc/gitconfig")
# Files of /proc about the machine as a whole; none about a process.
_KERNEL = tuple(
    f"/proc/{name}" for name in ("cpuinfo", "meminfo", "stat", "version", "filesystems", "loadavg", "uptime")
)


@dataclass(slots=True)
class _Tree:
    """The processes of one command, below their supervisor, which is never paused so that it notices their end."""

    first: list[int] = field(default_factory=list[int])

    def freeze(self, stop: bool) -> None:
        """Pauses all processes below the supervisor, or lets them go on."""
        for pid in self.first:
            signal_below(pid, stop=stop)


class LandlockAlone:
    """Runs each command as the person's own user: it can read the system and the workspace, and write to a scratch
    folder alone."""

    name: RuntimeName = "landlock-alone"

    def __init__(self, workspace: Path | None = None) -> None:
        self._workspace = workspace
        self._tried = Trial(self._circumstances, self._try)

    def isolation(self) -> Isolation:
        """Returns what this sandbox gives here, found by one real run in this process."""
        return self._tried.isolation()

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Runs the command until it ends, passes a limit, or is cancelled. Raises ToolError (`sandbox_unavailable`)."""
        require_isolation((await self._tried.find()).isolation, spec)
        refuse_ways_out(spec, self.name)
        if spec.in_place_of or spec.scratch or spec.loopback or spec.near or spec.alone:
            why = "it gives no command its own loopback, a folder of the workspace, or a file in place of another"
            raise no_sandbox(_nothing(why, sandbox_advice(this_machine())))
        try:
            ended = with_shell_exit_code(await self._contained(spec, progress), spec.argv[0])
        except OSError as error:
            raise no_sandbox(_nothing(f"it cannot start: {error}", sandbox_advice(this_machine()))) from error
        if has_never_begun(ended):
            raise no_sandbox(_failed(ended))
        return ended

    def _circumstances(self) -> Circumstances:
        return circumstances(self.name, (), trusted_path(self._workspace))

    async def _try(self) -> Finding:
        if os.geteuid() == 0:
            return Finding(_nothing("it cannot limit how many processes root has", "run the server as another user"))
        version = landlock_version() if os.uname().sysname == "Linux" else 0
        if version < SCOPED_SINCE:
            why = "the kernel's Landlock does not keep signals apart" if version > 0 else "the kernel has no Landlock"
            return Finding(_nothing(f"{why}; Linux 6.12 or newer is needed", sandbox_advice(this_machine())))
        try:
            profile_filter("unspaced")
        except (ImportError, RuntimeError, OSError) as error:
            return Finding(
                _nothing(f"libseccomp cannot be used: {error}", missing_advice(this_machine(), "libseccomp"))
            )
        await asyncio.to_thread(clear_leftovers, Path(tempfile.gettempdir()))
        with tempfile.TemporaryDirectory(prefix=prefix_of("trial")) as folder:
            here = _real(folder)
            trial = CommandSpec(("/bin/sh", "-c", "exit 7"), here, here, command_environment({}), _TRIAL_S)
            try:
                ended = await self._contained(trial)
            except OSError as error:
                return Finding(_nothing(f"it cannot start: {error}", sandbox_advice(this_machine())))
        if ended.exit_code != 7:
            return Finding(_failed(ended))
        tasks = TEMPLATES[trial.template].limits.tasks
        bounded = f"RLIMIT_NPROC, {tasks} besides the person's own"
        return Finding(Isolation(self.name, True, processes=bounded, lacks=LACKS, by_rights=True))

    async def _contained(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        template = TEMPLATES[spec.template]
        async with open_control_group(template) as control, lent(_make_scratch, _remove_scratch) as scratch:
            files = await asyncio.to_thread(files_given, spec, scratch)
            others = await asyncio.to_thread(tasks_of, os.geteuid())
            job = self._job(spec, control, scratch, files=files, others=others)
            ended = await run_contained(replace(job, progress=progress))
            return with_reason(ended, control)

    def _job(
        self,
        spec: CommandSpec,
        control: ControlGroup | None,
        scratch: Path,
        *,
        files: dict[Rights, list[str]],
        others: int,
    ) -> Job:
        """Returns the job, which owns the descriptors opened here; `others` counts the person's other threads."""
        limits = TEMPLATES[spec.template].limits
        limits = replace(limits, tasks=limits.tasks + others)
        read_status, write_status = os.pipe()
        ours, held = make_hold()
        rules = memory_file(profile_filter("unspaced"))
        given = {
            "argv": spec.argv,
            "cwd": str(spec.cwd),
            "environment": {**spec.environment, "HOME": str(scratch), "TMPDIR": str(scratch)},
            "files": files,
            "scratch": str(scratch),
            "seccomp": rules,
            "status": write_status,
            "hold": held,
        }
        config = memory_file(json.dumps(given).encode())
        tree = _Tree()
        return Job(
            argv=[*(control.joining() if control else ()), *program_of_ours("landlock.alone"), str(config)],
            path=trusted_path(spec.workspace, self._workspace),
            descriptors=(config, rules, write_status, held),
            status=read_status,
            hold=ours,
            timeout_s=spec.timeout_s,
            max_output_bytes=spec.max_output_bytes,
            limits=limits,
            layer=scratch,
            freezer=spec.freezer,
            begun=partial(_begin, tree, spec),
            freeze=control.freeze if control else tree.freeze,
            sweeps=True,
        )


def files_given(spec: CommandSpec, scratch: Path) -> dict[Rights, list[str]]:
    """Returns the places that a command may use, by kind of right, from those that exist. Raises OSError if hiding
    files leaves too many places to list one by one."""
    shown = visible_outside(spec)
    hidden = frozenset((*hidden_paths_below(spec), *_private(shown)))
    folders = [spec.workspace, *(each.source for each in shown)]
    system = (*SYSTEM_FOLDERS, *(f"/etc/{name}" for name in ETC), *_SETTINGS, *_KERNEL)
    read = [*filter(os.path.exists, system), *(str(each) for top in folders for each in places_without(top, hidden))]
    if len(read) > _MOST_PLACES:
        raise OSError(f"more than {_MOST_PLACES} files lie beside those that are hidden")
    listed = [str(top) for top in folders if any(each.is_relative_to(top) for each in hidden) and top.is_dir()]
    return {"read": read, "list": listed, "use": [*filter(os.path.exists, _DEVICES)], "write": [str(scratch)]}


def places_without(top: Path, hidden: Iterable[Path]) -> Iterator[Path]:
    """Yields folders and files that together hold all of `top` except what is hidden, without links, because Landlock
    takes real files."""
    inside = [path for path in hidden if path.is_relative_to(top)]
    if not inside:
        yield top
    elif top not in inside:
        with os.scandir(top) as entries:
            below = [Path(entry.path) for entry in entries if not entry.is_symlink()]
        for each in below:
            yield from places_without(each, inside)


def _private(shown: Iterable[ReadOnlyMount]) -> Iterator[Path]:
    return (each.source / path.relative_to(each.place) for each in shown for path in each.private)


def _make_scratch() -> Path:
    """Returns a new scratch folder. Raises OSError."""
    return _real(tempfile.mkdtemp(prefix=prefix_of("scratch")))


def _real(folder: str) -> Path:
    """Returns the folder's path without links, because the supervisor compares real paths."""
    return Path(folder).resolve()


def _remove_scratch(scratch: Path) -> None:
    Layer(scratch, scratch).remove()


def _begin(tree: _Tree, spec: CommandSpec, first: int) -> None:
    tree.first.append(first)
    if spec.begun is not None:
        spec.begun(first)


def _failed(ended: CommandOutput) -> Isolation:
    why = last_line(ended.stderr) or ended.stopped or "it did not start a command"
    return _nothing(why, sandbox_advice(this_machine()))


def _nothing(why: str, fix: str) -> Isolation:
    return Isolation("landlock-alone", False, why, fix)
