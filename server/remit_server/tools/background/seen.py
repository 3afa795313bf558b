"""The background processes of a session, as its tools see them (BG-01)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.ports import Near


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended, in words, and its exit code if it ended by itself."""

    how: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessSeen:
    """The present state of a process. `ports` are those that it listens on, `published` the addresses of published
    ports."""

    id: str
    command: str
    ports: tuple[int, ...] = ()
    published: Mapping[int, str] = field(default_factory=dict[int, str])
    ending: Ending | None = None

    @property
    def words(self) -> str:
        """The state of the process, in one line."""
        if self.ending is not None:
            return f"{self.id} has ended: {self.ending.how} (`{self.command}`)"
        ports = f"; it listens on {', '.join(map(str, self.ports))}" if self.ports else ""
        open_at = "".join(f"; the person reaches {port} at {address}" for port, address in self.published.items())
        return f"{self.id} runs: `{self.command}`{ports}{open_at}"


@dataclass(frozen=True, slots=True)
class Awaited:
    """What to wait for: a text in the output of a process, or a port that it listens on, whichever comes first, for at
    most `within_s` seconds. If neither is named, any new output."""

    text: str = ""
    port: int = 0
    within_s: float = 0.0


@dataclass(frozen=True, slots=True)
class NewOutput:
    """What a process has printed since it was last read, without secrets; `lost` is how many bytes before it were
    dropped.

    `met` says whether the awaited event came.
    """

    process: ProcessSeen
    text: str
    lost: int = 0
    met: bool = False


class Background(Protocol):
    """The background processes of one session, for its tools to look at."""

    def all(self) -> tuple[ProcessSeen, ...]:
        """Returns the running processes and the last ones that have ended."""
        ...

    def find(self, process: str) -> ProcessSeen:
        """Returns the process with this id. Raises ToolError (`not_found`)."""
        ...

    async def read(self, process: str, awaited: Awaited) -> NewOutput:
        """Returns the new output once the awaited event came, the process ended, or the time is over. Raises
        ToolError."""
        ...

    async def near(self, process: str) -> Near:
        """Returns the process's ports, for a command to reach. Raises ToolError if it has ended or listens on none."""
        ...


class NoProcesses:
    """The background processes of a session without any."""

    def all(self) -> tuple[ProcessSeen, ...]:
        """Returns an empty tuple."""
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
    """Returns the error for a process that does not exist."""
    fix = f"name one of {', '.join(known)}" if known else "start it with `start_process`"
    return ToolError(
        f"there is no process {process!r}",
        "this session started no process with this id",
        fix,
        code=ErrorCode.NOT_FOUND,
    )
