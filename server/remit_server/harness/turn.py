"""The turn and the session a call belongs to, as the harness needs them (AGT-06)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, TypedDict, TypeVar

from pydantic import JsonValue

from remit_governance.authority import EVERYTHING, Authority, Wanted
from remit_governance.intents import IntentState
from remit_governance.permissions.permissions import Standing
from remit_governance.values import Intent
from remit_governance.workflow.debt import Coverage
from remit_governance.workflow.position import Position
from remit_governance.workflow.states import State, Trigger
from remit_server.contract import ErrorPayload, Event, TokenUsage, ToolTrace, UsageEvent, WarningEvent
from remit_server.harness.calls import CallerName
from remit_server.harness.collected import Collected
from remit_server.harness.ports import Asker, Emit, KeptHistory, NothingKept
from remit_server.harness.turn_changes import TurnChanges
from remit_server.tools.spec import FileChange
from remit_server.tools.table import TEST_RUNS
from remit_server.wall_clock import timestamp, utc_now

E = TypeVar("E", bound=Event)


class Stamp(TypedDict):
    """What all events carry, as `Event` has it."""

    seq: int
    session_id: str
    turn_id: str
    time: str
    step: int
    sub_agent: str | None


MAX_CALL_ID = 100
MOST_FOUND = 12
"""Tools of those that a model asked for that it is offered."""


@dataclass(slots=True)
class SessionMemory:
    """What governance remembers of a session: what was read, which answers of the person still stand, and its place in
    the workflow. `measured` is the coverage of the last run of all tests, None once anything changed after it. `found`
    are tools that a model asked for."""

    session_id: str
    read_digests: dict[str, str] = field(default_factory=dict[str, str])
    standing: Standing = field(default_factory=Standing)
    position: Position = field(default_factory=Position)
    measured: Coverage | None = None
    found: tuple[str, ...] = ()

    def note_found(self, tools: Sequence[str]) -> None:
        """Remembers tools that a model asked for, the last ones of them."""
        others = [name for name in self.found if name not in tools]
        self.found = (*others, *tools)[-MOST_FOUND:]


@dataclass(frozen=True, slots=True)
class EndedCall:
    """How one call of a turn ended.

    `acts`: it was to do more than read. `works`: more than a step of the workflow, too. `own`: the person made it.
    `error` says why it did not run, or was stopped, without secrets. `program` is how a program ended that it ran, in
    words where that did not go well, empty where it did; None where it ran none.
    """

    acts: bool
    works: bool
    own: bool
    error: ErrorPayload | None = None
    program: str | None = None


class SubAgents(Protocol):
    """Works off what a turn hands to a sub-agent."""

    async def run(self, work: str, turn: Turn) -> str:
        """Returns what the sub-agent answers, whose turn this is. Raises RemitError, as a turn of its own does."""
        ...


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The id of the call that handed a sub-agent its work, and the work as a person knows it by, in a line."""

    call_id: str
    work: str


@dataclass(slots=True)
class Allowance:
    """The steps that a turn may take in all; those of a sub-agent are of its parent's, too."""

    most: int
    above: Allowance | None = None
    taken: int = 0

    @property
    def left(self) -> int:
        """How many there are still to take."""
        own = self.most - self.taken
        return own if self.above is None else min(own, self.above.left)

    def take(self) -> None:
        """Takes one."""
        self.taken += 1
        if self.above is not None:
            self.above.take()


@dataclass(slots=True)
class Turn:
    """One running turn: its events, its step, and the intent of that step (which `begin_step` clears).

    `own_call` says that what runs is a call that came with the request, not one of our model; `typed` that the person
    typed this very command. `asks_as` says which
    session its questions are of, where the person may wonder. `room_chars` are the characters that the model can read
    of one result now, None where that does not matter; `careful` says that it writes no file over contents that
    it has not read, and breaks the syntax of none. `reopens`: the person's message came to work under review.
    `authority` is what is left to its model, and `narrowed_by` says what took the rest. A turn of a sub-agent is a part
    of its `parent`'s: it has the same ids, answers and events, and what it was `handed`; what it has read is its own.
    `sub_agents` works off what this turn hands over, None where it can hand over nothing. `send` takes each event to
    the client, after what is `beside` it: the session's file, and whoever observes the turn.
    """

    turn_id: str
    memory: SessionMemory
    send: Emit
    asker: Asker
    caller: CallerName = "model"
    own_call: bool = False
    typed: bool = False
    allow_tools: frozenset[str] | None = None
    dry_run: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    now: Callable[[], datetime] = utc_now
    step: int = 0
    intent: IntentState = field(default_factory=IntentState)
    seq: int = 0
    trace: list[ToolTrace] = field(default_factory=list[ToolTrace])
    ended: list[EndedCall] = field(default_factory=list[EndedCall])
    usage: TokenUsage = field(default_factory=TokenUsage)
    call_ids: set[str] = field(default_factory=set[str])
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    history: KeptHistory = field(default_factory=NothingKept)
    asks_as: Callable[[], str | None] = lambda: None
    collected: Collected = field(default_factory=Collected)
    changes: TurnChanges = field(default_factory=TurnChanges)
    room_chars: int | None = None
    careful: bool = False
    reopens: bool = False
    authority: Authority = EVERYTHING
    narrowed_by: str = ""
    allowance: Allowance = field(default_factory=lambda: Allowance(0))
    sub_agents: SubAgents | None = None
    parent: Turn | None = None
    handed: HandedOver | None = None
    beside: tuple[Emit, ...] = ()
    own_reads: dict[str, str] | None = None

    def hand_over(self, handed: HandedOver, authority: Authority) -> Turn:
        """Returns the turn of a sub-agent of this one, which has this authority. It makes no sub-agents itself."""
        return replace(
            self,
            authority=authority,
            narrowed_by="whoever handed it this work",
            sub_agents=None,
            parent=self,
            handed=handed,
            own_reads={},
            step=0,
            intent=IntentState(),
            ended=[],
            usage=TokenUsage(),
            collected=Collected(wants=self.collected.wants),
            changes=TurnChanges(),
        )

    @property
    def lineage(self) -> Iterator[Turn]:
        """The turn itself, and those that it is a part of."""
        turn: Turn | None = self
        while turn is not None:
            yield turn
            turn = turn.parent

    @property
    def conversation_id(self) -> str:
        """What the model knows the conversation by: a sub-agent has one of its own."""
        return self.session_id if self.handed is None else f"{self.session_id}/{self.handed.call_id}"

    @property
    def read_digests(self) -> dict[str, str]:
        """For each file what was last read of it, by this session or, in a sub-agent, by that."""
        return self.memory.read_digests if self.own_reads is None else self.own_reads

    def note_read(self, data: Mapping[str, JsonValue]) -> None:
        """Remembers what a read showed, where the result says which file at which content."""
        path, digest = data.get("path"), data.get("digest")
        if isinstance(path, str) and isinstance(digest, str):
            self.read_digests[path] = digest

    def note_change(self, change: FileChange) -> None:
        """Notes a change that was merged."""
        for each in self.lineage:
            each.changes.note(change)

    def note_end(self, ended: EndedCall) -> None:
        """Notes how a call ended."""
        for each in self.lineage:
            each.ended.append(ended)

    def place_for(self, syscall: str, tool: str | None) -> Position:
        """Returns the place that a call is judged at. Where the person has said more to work under review, a change is
        judged where it leads back to, for the first one goes on with the work; a run of tests is no such change. Tests
        alone may be gone on with at any time, for the model cannot know beforehand that they pass.
        """
        position = self.memory.position
        goes_on = position.state is State.REVIEWING and (self.reopens or position.is_tests_alone)
        return (
            position.take(Trigger.REJECTED)[0]
            if goes_on and syscall == "fs.write" and tool not in TEST_RUNS
            else position
        )

    @property
    def priority(self) -> int:
        """Where its commands stand among those that wait for a sandbox: the person's own before a model's."""
        return 2 if self.caller == "human" else 3

    @property
    def session_id(self) -> str:
        """The session this turn belongs to."""
        return self.memory.session_id

    def begin_steps(self, most: int) -> None:
        """Begins with the work: of a sub-agent no step more is taken than it was handed, and than its parent has."""
        own = most if self.authority.steps is None else min(most, self.authority.steps)
        self.allowance = Allowance(own, None if self.parent is None else self.parent.allowance)

    def reached_limit(self) -> str | None:
        """Returns why no further step is taken, in words; None where one is."""
        if self.allowance.left <= 0:
            return f"this turn took {self.allowance.taken} steps without an answer"
        used, most = self.usage.prompt_tokens + self.usage.completion_tokens, self.authority.tokens
        return None if most is None or used < most else f"this turn took {used} tokens without an answer, of {most}"

    def begin_step(self) -> None:
        """Begins a new request to the model: the intent of the one before no longer holds (AGT-06)."""
        self.step += 1
        self.clear_intent()

    def narrow(self, skill: str, intents: frozenset[Intent]) -> None:
        """Leaves the rest of the turn's own model these intents alone, of those that it still has (TOOL-20)."""
        if self.caller != "model":
            return
        self.authority, self.narrowed_by = self.authority.meet(Wanted(intents=intents)), f"the skill `{skill}`"
        if self.intent.active not in self.authority.intents:
            self.clear_intent()

    def clear_intent(self) -> None:
        """Clears the intent; also on retry and on abort."""
        self.intent = IntentState()

    def own_id(self, call_id: str) -> str:
        """Makes the call's id one that no other call of this turn has: a model may use one twice."""
        short = call_id[:MAX_CALL_ID] if self.handed is None else f"{self.handed.call_id}/{call_id}"[: 2 * MAX_CALL_ID]
        unique = short
        if short in self.call_ids:
            numbered = (f"{short}#{number}" for number in itertools.count(2))
            unique = next(name for name in numbered if name not in self.call_ids)
        self.call_ids.add(unique)
        return unique

    def add_usage(self, usage: TokenUsage, context: int, window: int | None) -> None:
        """Adds a step's tokens to the turn's, and shows those of its longest request beside the model's window, where
        that is known.
        """
        for each in self.lineage:
            each.usage = each.usage.plus(usage)
        self.emit(UsageEvent(**self.stamp(), usage=usage, context=context, window=window))

    def stamp(self) -> Stamp:
        """Returns the fields that every event carries, with the next number: for the event that is sent now."""
        *_, whole = self.lineage
        whole.seq += 1
        return {
            "seq": whole.seq,
            "session_id": self.session_id,
            "turn_id": self.turn_id,
            "time": timestamp(self.now()),
            "step": self.step,
            "sub_agent": None if self.handed is None else self.handed.call_id,
        }

    def emit(self, event: E) -> E:
        """Has whoever keeps or follows the turn take one event, then the client; returns it."""
        for take in (*self.beside, self.send):
            take(event)
        return event

    def warn(self, message: str) -> None:
        """Tells the person of something that the turn goes on after."""
        self.emit(WarningEvent(**self.stamp(), message=message))
