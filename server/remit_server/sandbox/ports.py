"""The port of all sandboxes: commands, their output, and what the harness calls (BOX-07)."""

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
"""Takes each piece of output as the command prints it, with the name of its stream."""


def unheard(wait: Wait) -> None:
    """Ignores the event: the default of `CommandSpec.waits`."""
    del wait


@dataclass(frozen=True, slots=True)
class Near:
    """The process `name` in another sandbox; a command finds `ports` of that sandbox's loopback on its own loopback."""

    name: str
    loopback: Loopback
    ports: tuple[int, ...]

    @property
    def means(self) -> str:
        """The process and its ports, in words for a person."""
        return f"{self.name}, port{'s' if len(self.ports) > 1 else ''} {', '.join(map(str, self.ports))}"


@dataclass(slots=True)
class Leave:
    """Lets a running command give its turn back and go on beside the other commands.

    `now` does that; its argument is how many seconds longer the command may run. It is None unless the command runs.
    """

    now: Callable[[float], None] | None = None


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command exactly as it will run: argv, an absolute cwd below `workspace`, a scrubbed environment, seconds.

    `hidden` are files of the workspace or of `readable` that the command cannot open, and folders that it finds empty.
    With `writes`, its writes to the workspace go to a layer of its own, and the output lists them. `network` are the
    hosts that it may reach, each `host` or `host:port`, by a proxy that reports every attempt to `attempted`; if it is
    empty, there is no network. `local` are ports of this machine's loopback that the command finds on its own loopback;
    each connection is reported to `attempted` as well. `readable` are real files and folders outside the workspace that
    the command may read; a tool or the harness names them, never a model. `in_place_of` maps a path to such a file,
    which the command sees at that path. Folders above such paths cannot be listed, except those in `listed`, which show
    what of them is visible. `priority` orders the commands that wait for a sandbox, from 1, the highest, to 5. The
    adapter attaches to `freezer` the way to pause the command; paused time does not count. `begun`
    gets the pid of the first process before the command begins. `waits` is called when the command has to wait for its
    turn, starts, is paused, and goes on; it may not raise. A tunnel is cut once `in_force` says no to its host. If
    there is a `channel`, the command inherits one end of a socket, and `channel` serves the other. If `alone`, it can
    start no other process.

    `scratch` are folders of the workspace that the command may write to: it sees what was in them, and what it writes
    is thrown away. A `background` command waits for no turn, because it runs beside the scheduled ones. By `loopback`
    the server reaches the ports that the command listens on. The command finds the ports of `near` on its own loopback.
    `leave` lets it give its turn back.
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
        """All hosts that the command may reach, as they were named, and the ports of `local` on this machine."""
        return (*self.network, *(str(Endpoint(THIS_MACHINE, port)) for port in self.local))


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """How a command ended. `exit_code` is None if it `timed_out`, or if another limit, named in `stopped`, ended it.
    Output is bounded, and has a note where bytes were left out.

    `left` is what the command changed in its layer. `written` is every path that it wrote there, also those that it put
    back as they were.
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
    """What a sandbox really gives on this machine; if it cannot isolate, `available` is false, with `why` and `fix`.

    `layers`: commands may write, into a layer over the workspace; else the workspace is read-only to them. `hosts`: a
    command that lists hosts reaches them, by the proxy; else it is refused. `background`: a background process can run
    in the sandbox, and the server can connect to it. `channel`: a command has a socket to its caller, as a plugin
    needs. `read_only` and `offline` say why there are no layers or no network although this sandbox supports them, and
    how to get them. `processes` says in words what limits the number of processes. `lacks` names the properties of
    `probe.py` that this sandbox never has. `by_rights`: commands run as the person's own user, so a file that the
    sandbox refuses looks to them like a missing permission.
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
    """How to start the process of a person's own rules: `argv`, whose program is found by the PATH in `environment`,
    and the descriptors to pass on, which the caller has to close. `remove` clears away what the process leaves behind
    when it dies."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    descriptors: tuple[int, ...] = ()
    remove: Callable[[], None] = lambda: None


class Sandbox(Protocol):
    """Runs commands so that they reach no hosts but the listed ones, and cannot change the workspace.

    An adapter without a proxy refuses commands with `network`; an adapter without channels refuses those with one.
    """

    @property
    def name(self) -> RuntimeName:
        """Which runtime this is, whether it works here or not. Starts nothing."""
        ...

    def isolation(self) -> Isolation:
        """Returns what this sandbox gives here, found by trying it once in this process."""
        ...

    async def run(self, spec: CommandSpec, progress: Progress | None = None) -> CommandOutput:
        """Runs the command until it ends, passes a limit, or is cancelled; none of its processes outlives the call.

        Raises ToolError (`sandbox_unavailable`) if nothing isolates.
        """
        ...


class RuleSandbox(Sandbox, Protocol):
    """A sandbox that can also run a person's own rules (EXT-01)."""

    def start_rules(self, program: bytes) -> RuleStart:
        """Returns how to start a process that runs this Python program and communicates by its standard streams.

        Raises OSError, and ImportError or RuntimeError if the seccomp library cannot be used.
        """
        ...
