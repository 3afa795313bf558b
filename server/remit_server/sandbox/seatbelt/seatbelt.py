"""macOS's own sandbox behind the port (BOX-07): no network, no writes but to a scratch folder, no layers.

Also builds the profile and the command line for macOS's `sandbox-exec` (BOX-07); that part is pure.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from remit_server.sandbox.advice import no_sandbox, require_isolation
from remit_server.sandbox.bubblewrap.bubblewrap_options import hidden_paths_below
from remit_server.sandbox.findings import Finding, Trial, circumstances
from remit_server.sandbox.limits.limits import TEMPLATES, Limits
from remit_server.sandbox.outcome import last_line, refuse_ways_out
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation, Progress, RuntimeName
from remit_server.sandbox.server_identity import prefix_of
from remit_server.sandbox.subprocess_run import Invocation, run_subprocess
from remit_server.sandbox.visible.environment import command_environment, visible_outside
from remit_server.sandbox.visible.toolchains import ReadOnlyMount, parents_of

_TRIAL_S = 20.0
_LOOK_S = 0.1
_PROGRAM = "/usr/bin/sandbox-exec"


class Seatbelt:
    """Runs each command under a profile of its own."""

    name: RuntimeName = "seatbelt"

    def __init__(self) -> None:
        self._tried = Trial(lambda: circumstances(self.name, (_PROGRAM,), "/usr/bin"), self._try)

    def isolation(self) -> Isolation:
        """Returns what this sandbox gives here, found by one real run in this process."""
        return self._tried.isolation()

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Runs the command until it ends, passes a limit, or is cancelled. Raises ToolError (`sandbox_unavailable`)."""
        require_isolation((await self._tried.find()).isolation, spec)
        refuse_ways_out(spec, _PROGRAM)
        try:
            return await self._contained(spec, progress)
        except OSError as error:
            raise no_sandbox(_no_isolation(f"sandbox-exec cannot start: {error}")) from error

    async def _try(self) -> Finding:
        if shutil.which(_PROGRAM) is None:
            return Finding(_no_isolation("there is no program `sandbox-exec`, which only macOS has"))
        with tempfile.TemporaryDirectory(prefix=prefix_of("trial")) as folder:
            here = _real_path(folder)
            trial = CommandSpec(("/usr/bin/true",), here, here, command_environment({}), _TRIAL_S)
            ended = await self._contained(trial)
        if ended.exit_code != 0:
            return Finding(_no_isolation(last_line(ended.stderr) or "sandbox-exec did not run a command"))
        return Finding(Isolation("seatbelt", available=True, lacks=("memory", "itself")))

    async def _contained(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        template = TEMPLATES[spec.template]
        with tempfile.TemporaryDirectory(prefix=prefix_of("scratch"), ignore_cleanup_errors=True) as folder:
            scratch = _real_path(folder)
            hidden = [(path, path.is_dir()) for path in hidden_paths_below(spec)]
            shown = visible_outside(spec)
            profile = profile_text(spec, scratch, hidden, shown)
            tree = _Tree()
            errand = Invocation(
                argv=seatbelt_argv(spec, profile, template.limits, scratch),
                environment={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
                timeout_s=spec.timeout_s,
                kept=spec.max_output_bytes,
                most_output=spec.max_output_bytes * template.limits.output_factor,
                end=tree.end,
                progress=progress,
                began=tree.watch,
                freezer=spec.freezer,
                begun=spec.begun,
                freeze=tree.freeze,
            )
            return await run_subprocess(errand)


class _Tree:
    """Keeps track of the processes of one command, because macOS has no namespace that would end them all."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    async def watch(self, process: asyncio.subprocess.Process) -> None:
        """Adds new processes of the command until cancelled."""
        self._known.add(process.pid)
        while True:
            self._known |= find_descendants(await asyncio.to_thread(_list_processes), self._known)
            await asyncio.sleep(_LOOK_S)

    def freeze(self, stop: bool) -> None:
        """Stops the known processes and their descendants, or lets them go on."""
        for pid in living_below(_list_processes(), self._known):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP if stop else signal.SIGCONT)

    async def end(self, process: asyncio.subprocess.Process) -> None:
        """Kills the known processes and their descendants, until none is left."""
        self._known.add(process.pid)
        while alive := living_below(await asyncio.to_thread(_list_processes), self._known):
            self._known |= alive
            for pid in alive:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if process.pid in alive:
                await process.wait()


def find_descendants(listed: str, roots: Iterable[int]) -> set[int]:
    """Returns the pids below the roots or in their process groups, the roots included.

    `listed` has lines `pid parent group state`.
    """
    rows = [(int(pid), int(parent), int(group)) for pid, parent, group, *_ in map(str.split, listed.splitlines())]
    found = set(roots)
    while more := {pid for pid, parent, group in rows if (parent in found or group in found) and pid not in found}:
        found |= more
    return found


def living_below(listed: str, roots: Iterable[int]) -> set[int]:
    """Returns the processes of `find_descendants` that are listed and no zombies."""
    dead = {int(line.split()[0]) for line in listed.splitlines() if line.split()[3].startswith("Z")}
    there = {int(line.split()[0]) for line in listed.splitlines()}
    return (find_descendants(listed, roots) & there) - dead


def _list_processes() -> str:
    argv = ["/bin/ps", "-axo", "pid=,ppid=,pgid=,state="]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env={}).stdout


def _real_path(folder: str) -> Path:
    """Returns the folder's path without links, because macOS compares the profile's paths with real paths."""
    return Path(folder).resolve()


def _no_isolation(why: str) -> Isolation:
    return Isolation("seatbelt", False, why, "run commands yourself, or choose Podman or Docker with REMIT_SANDBOX")


_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/System", "/Library", "/opt/homebrew", "/opt/local", "/nix/store"),
    *("/private/etc/ssl", "/private/etc/localtime", "/private/var/db/timezone", "/private/var/db/dyld", "/dev"),
)
_FILES = ("/", "/private", "/private/tmp", "/private/var", "/private/etc", "/private/var/select/sh")
# The services that every program needs when it starts; they give no clipboard, keychain, window or other process.
_MACH = ("com.apple.system.opendirectoryd.libinfo", "com.apple.system.notification_center", "com.apple.logd")


def profile_text(
    spec: CommandSpec,
    scratch: Path,
    hidden: Iterable[tuple[Path, bool]] = (),
    shown: Sequence[ReadOnlyMount] = (),
) -> str:
    """Returns a profile that denies everything that it does not allow; a later line wins over earlier ones.

    `hidden` are paths, with whether each is a folder.

    `shown` are the person's toolchains. macOS compares real paths, so a toolchain's real folder is allowed, and the
    links that lead there can be followed.
    """
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow sysctl-read)",
        "(allow process-exec*)",
        "(allow process-fork)",
        "(allow signal (target same-sandbox))",
        "(allow process-info* (target same-sandbox))",
        f"(allow mach-lookup {' '.join(f'(global-name {quote(name)})' for name in _MACH)})",
        f"(allow file-read* {_rule_lines('subpath', _SYSTEM)} {_rule_lines('literal', _FILES)})",
        *_toolchain_rules(shown),
        f"(allow file-read* (subpath {quote(str(spec.workspace))}))",
        # Only metadata of the folders above the workspace, so that paths can be followed.
        f"(allow file-read-metadata {_rule_lines('literal', (str(path) for path in spec.workspace.parents))})",
        f"(allow file-read* file-write* (subpath {quote(str(scratch))}))",
        '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
        *(
            f"(deny file-read* file-write* ({'subpath' if folder else 'literal'} {quote(str(path))}))"
            for path, folder in hidden
        ),
        "(deny network*)",
    ]
    return "\n".join(lines) + "\n"


def _toolchain_rules(shown: Sequence[ReadOnlyMount]) -> list[str]:
    if not shown:
        return []
    above_them = parents_of(path for each in shown for path in (each.source, each.place))
    private = [str(each.source / path.relative_to(each.place)) for each in shown for path in each.private]
    looked_at = map(str, (*above_them, *(each.place for each in shown)))
    return [
        f"(allow file-read* {_rule_lines('subpath', (str(each.source) for each in shown))})",
        f"(allow file-read-metadata {_rule_lines('literal', looked_at)})",
        *(f"(deny file-read* (subpath {quote(path)}))" for path in private),
    ]


def seatbelt_argv(spec: CommandSpec, profile: str, limits: Limits, scratch: Path) -> list[str]:
    """Returns the words that run the command under the profile, with limits and only its own environment; the home and
    the folder for temporary files are `scratch`."""
    environment = {**spec.environment, "HOME": str(scratch), "TMPDIR": str(scratch)}
    kib = 1024
    bounds = (
        f"ulimit -c 0; ulimit -n {limits.open_files}; ulimit -u {limits.tasks}; "
        f"ulimit -f {limits.file_bytes // 512}; ulimit -v {limits.process_bytes // kib} 2>/dev/null; "
        'cd "$0" || exit 126; exec "$@"'
    )
    return [
        *("/usr/bin/nice", "-n", "10", "/usr/bin/sandbox-exec", "-p", profile),
        *("/usr/bin/env", "-i", *(f"{name}={value}" for name, value in environment.items())),
        *("/bin/sh", "-c", bounds, str(spec.cwd), *spec.argv),
    ]


def quote(text: str) -> str:
    """Returns the text as a quoted string of the profile's language."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _rule_lines(kind: str, paths: Iterable[str]) -> str:
    return " ".join(f"({kind} {quote(path)})" for path in paths)
