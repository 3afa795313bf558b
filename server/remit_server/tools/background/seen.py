"""What tools are told of the processes of their session (BG-01)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import Near


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended, in words, and its exit code where it ended by itself."""

    how: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessSeen:
    """A process as it is now. `ports` are those that it listens on, `published` the addresses of those that are."""

    id: str
    command: str
    ports: tuple[int, ...] = ()
    published: Mapping[int, str] = field(default_factory=dict[int, str])
    ending: Ending | None = None

    @property
    def words(self) -> str:
        """Says how it is, in one line."""
        if self.ending is not None:
            return f"{self.id} has ended: {self.ending.how} (`{self.command}`)"
        ports = f"; it listens on {', '.join(map(str, self.ports))}" if self.ports else ""
        open_at = "".join(f"; the person reaches {port} at {address}" for port, address in self.published.items())
        return f"{self.id} runs: `{self.command}`{ports}{open_at}"


@dataclass(frozen=True, slots=True)
class Awaited:
    """What to wait for: a text in what a process prints, or a port that it listens on, whichever comes first, and the
    seconds that it may take. Where neither is named, anything new that it prints."""

    text: str = ""
    port: int = 0
    within_s: float = 0.0


@dataclass(frozen=True, slots=True)
class NewOutput:
    """What a process has printed since it was read last, without secrets; `lost` bytes before it are not kept.

    `met` says whether what was waited for came.
    """

    process: ProcessSeen
    text: str
    lost: int = 0
    met: bool = False


class Background(Protocol):
    """The processes of one session, for its tools to look at."""

    def all(self) -> tuple[ProcessSeen, ...]:
        """Returns those that run, and the last ones that have ended."""
        ...

    def find(self, process: str) -> ProcessSeen:
        """Returns the one with this id. Raises ToolError (`not_found`)."""
        ...

    async def read(self, process: str, awaited: Awaited) -> NewOutput:
        """Returns what is new of its output, once what is awaited came, it ended, or the time is over. Raises
        ToolError."""
        ...

    async def near(self, process: str) -> Near:
        """Returns its ports, for a command to reach. Raises ToolError where it has ended, or listens on none."""
        ...


class NoProcesses:
    """The processes of a session that has none."""

    def all(self) -> tuple[ProcessSeen, ...]:
        """Returns none."""
        return ()

    def find(self, process: str) -> ProcessSeen:
        """Raises ToolError."""
        raise unknown_process(process, ())

    async def read(self, process: str, awaited: Awaited) -> NewOutput:
        """Raises ToolError."""
        del awaited
        raise unknown_process(process, ())

    async def near(self, process: str) -> Near:
        """Raises ToolError."""
        raise unknown_process(process, ())


def unknown_process(process: str, known: tuple[str, ...]) -> ToolError:
    """Returns the refusal of a process that is not there."""
    fix = f"name one of {', '.join(known)}" if known else "start it with `start_process`"
    return ToolError(
        f"there is no process {process!r}", "this session started none of this id", fix, code=ErrorCode.NOT_FOUND
    )
