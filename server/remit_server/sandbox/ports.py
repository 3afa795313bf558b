"""What the harness asks of a sandbox (BOX-07)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from remit_governance.hosts import THIS_MACHINE, Endpoint
from remit_server.sandbox.bubblewrap.layer import LayerChange
from remit_server.sandbox.channel import Channel
from remit_server.sandbox.limits.limits import TemplateName
from remit_server.sandbox.network.loopback import Loopback
from remit_server.sandbox.network.proxy import InForce, Told, always_in_force
from remit_server.scheduling.runner import Freezer

RuntimeName = Literal["bubblewrap", "podman", "docker", "landlock", "landlock-alone", "seatbelt", "none"]
Wait = Literal["queued", "started", "paused", "resumed"]
Waits = Callable[[Wait], None]
StreamName = Literal["stdout", "stderr"]
Progress = Callable[[StreamName, bytes], None]
"""Is told what a command prints as it comes, and on which of its streams: each has lines of its own."""


def unheard(wait: Wait) -> None:
    """Tells nobody."""
    del wait


@dataclass(frozen=True, slots=True)
class Near:
    """The process `name` in another sandbox: the ports of its loopback that a command finds on its own."""

    name: str
    loopback: Loopback
    ports: tuple[int, ...]

    @property
    def means(self) -> str:
        """Says for a person what is reached."""
        return f"{self.name}, port{'s' if len(self.ports) > 1 else ''} {', '.join(map(str, self.ports))}"


@dataclass(slots=True)
class Leave:
    """How a running command gives its turn back and goes on beside others: `now`, with the seconds that it has more.

    None as long as it waits for its turn.
    """

    now: Callable[[float], None] | None = None


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command exactly as it will run: argv, an absolute cwd below `workspace`, a scrubbed environment, seconds.

    `hidden` are files of the workspace and of what is `readable` that it cannot open, and folders that it finds empty.
    With `writes`, what it writes there goes to a layer of its own, which the output hands over. `network` are the hosts
    it may reach, each `host` or `host:port`, by a proxy that says every attempt to `attempted`; where it is empty,
    there is no network. `local` are ports of this machine's loopback that it finds on its own, each connection told to
    `attempted` as well. `readable` are real files and folders outside the workspace that it may read: a tool or the
    harness names them, never a model. `in_place_of` are such files, each seen in the place of another, and
    `listed` folders above what it sees, of which it may ask what of that is in them.
    `priority` is its place among those that wait for a sandbox, from 1, the highest, to 5. The adapter attaches to
    `freezer` how it is paused, and counts no time of it then. `begun` is told the process, by its
    pid, before the command begins; `waits` is told when the command has to wait for its turn, is paused, and goes on,
    and may not raise. A tunnel is cut from when `in_force` says no to its host. It inherits one end of a socket, at
    whose other end `channel` is; `alone` it starts no other process.

    `scratch` are folders of the workspace that it may write to: it sees what was in them, and what it writes is thrown
    away. `background`: it takes no turn of others, for it runs beside them. By `loopback` the server reaches what
    listens in it, and what listens `near` it finds on its own loopback. By `leave` it gives its turn back.
    """

    argv: tuple[str, ...]
    cwd: Path
    workspace: Path
    environment: Mapping[str, str]
    timeout_s: float
    max_output_bytes: int = 1_000_000
    hidden: tuple[Path, ...] = ()
    writes: bool = False
    template: TemplateName = "code-executor"
    network: tuple[str, ...] = ()
    local: tuple[int, ...] = ()
    attempted: Told | None = None
    readable: tuple[Path, ...] = ()
    listed: tuple[Path, ...] = ()
    in_place_of: Mapping[Path, Path] = field(default_factory=dict[Path, Path])
    priority: int = 3
    freezer: Freezer | None = None
    waits: Waits = unheard
    begun: Callable[[int], None] | None = None
    in_force: InForce = always_in_force
    scratch: tuple[Path, ...] = ()
    background: bool = False
    loopback: Loopback | None = None
    near: Near | None = None
    channel: Channel | None = None
    alone: bool = False
    leave: Leave | None = None

    @property
    def reached(self) -> tuple[str, ...]:
        """All hosts that it may reach, as they were named."""
        return (*self.network, *(str(Endpoint(THIS_MACHINE, port)) for port in self.local))


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """How a command ended. `exit_code` is None where it was `timed_out`, or `stopped` at another limit, which that
    names; output is bounded, and says so.

    `left` is what it changed in its layer, and `written` every path that it wrote there, also what it put back.
    """

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    stopped: str | None = None
    truncated: bool = False
    left: tuple[LayerChange, ...] = ()
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Isolation:
    """What a sandbox really gives on this machine; `available` is false with `why` and `fix` where it gives nothing.

    `layers`: commands may write, into a layer over the workspace; else the workspace is read-only to them. `hosts`: a
    command that lists hosts reaches them, by the proxy; else it is refused. `background`: a process can go on in it,
    and be reached. `channel`: a command has a socket to whoever has it run, as a plugin needs. `read_only` and
    `offline` say why there is no such thing, where this sandbox may have it, and how to get it. `processes` is what
    bounds their number, in words. `lacks` are properties by which `probe.py` knows them, that this sandbox never has.
    `by_rights`: a command is the person, and what the sandbox refuses of files reads as a right that lacks.
    """

    name: RuntimeName
    available: bool
    why: str = ""
    fix: str = ""
    layers: bool = False
    hosts: bool = False
    background: bool = False
    channel: bool = False
    read_only: str = ""
    offline: str = ""
    processes: str = ""
    lacks: tuple[str, ...] = ()
    by_rights: bool = False


@dataclass(frozen=True, slots=True)
class RuleStart:
    """How the process of a person's own rules is started: its words, to be found by PATH in its environment, and the
    descriptors that it is passed, which are whoever's who starts it. `remove` clears away what its death leaves."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    descriptors: tuple[int, ...] = ()
    remove: Callable[[], None] = lambda: None


class Sandbox(Protocol):
    """Runs commands where they see no network but what was listed, and cannot change the workspace.

    An adapter that has no proxy runs no command with `network`, and one without a socket for it none with a `channel`.
    """

    @property
    def name(self) -> RuntimeName:
        """Which runtime this is; says nothing of whether it works here, and starts nothing."""
        ...

    def isolation(self) -> Isolation:
        """Returns what isolates here, found out by trying it once in this process."""
        ...

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Run to the end, the limit, or cancellation; no process of the command outlives the call.

        Raises ToolError (`sandbox_unavailable`) where nothing isolates.
        """
        ...


class RuleSandbox(Sandbox, Protocol):
    """A sandbox that a person's own rules run in, too (EXT-01)."""

    def start_rules(self, program: bytes) -> RuleStart:
        """Returns how a process begins that this Python program is all of, and that speaks by its standard streams.

        Raises OSError, and ImportError or RuntimeError without what the filter of calls needs.
        """
        ...
