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
from remit_server.machine.wall_clock import timestamp, utc_now
from remit_server.tools.spec import FileChange
from remit_server.tools.table import TEST_RUNS

E = TypeVar("E", bound=Event)


class Stamp(TypedDict):
    """The fields of `Event`, which all events carry."""

    seq: int
    session_id: str
    turn_id: str
    time: str
    step: int
    sub_agent: str | None


MAX_CALL_ID = 100
MOST_FOUND = 12
"""The most tools that a model is offered because it asked for them."""


@dataclass(slots=True)
class SessionMemory:
    """What governance remembers of a session: the files that were read, the person's standing answers, and the position
    in the workflow. `measured` is the coverage of the last run of all tests, or None if anything changed after it.
    `found` are tools that a model asked for."""

    session_id: str
    read_digests: dict[str, str] = field(default_factory=dict[str, str])
    standing: Standing = field(default_factory=Standing)
    position: Position = field(default_factory=Position)
    measured: Coverage | None = None
    found: tuple[str, ...] = ()

    def note_found(self, tools: Sequence[str]) -> None:
        """Remembers tools that a model asked for, and keeps only the last `MOST_FOUND`."""
        others = [name for name in self.found if name not in tools]
        self.found = (*others, *tools)[-MOST_FOUND:]


@dataclass(frozen=True, slots=True)
class EndedCall:
    """How one call of a turn ended.

    `acts`: the call was to do more than read. `works`: it was to do more than a step of the workflow, too. `own`: it
    came with the request and not from our model. `error` says, without secrets, why the call did not run or was
    stopped. `program` says in words how a program that the call ran failed; it is empty if the program succeeded, and
    None if the call ran no program.
    """

    acts: bool
    works: bool
    own: bool
    error: ErrorPayload | None = None
    program: str | None = None


class SubAgents(Protocol):
    """Runs the sub-agents that a turn hands work to."""

    async def run(self, work: str, turn: Turn) -> str:
        """Does the work in `turn`, the sub-agent's own turn, and returns the answer. Raises RemitError if that
        fails."""
        ...


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The id of the call that handed a sub-agent its work, and the work in one line, as a person is shown it."""

    call_id: str
    work: str


@dataclass(slots=True)
class Allowance:
    """The number of steps that a turn may take. The steps of a sub-agent also count for its parent (`above`)."""

    most: int
    above: Allowance | None = None
    taken: int = 0

    @property
    def left(self) -> int:
        """The number of steps that are left."""
        own = self.most - self.taken
        return own if self.above is None else min(own, self.above.left)

    def take(self) -> None:
        """Takes one step."""
        self.taken += 1
        if self.above is not None:
            self.above.take()


@dataclass(slots=True)
class Turn:
    """One running turn: its events, its step, and the intent of that step (which `begin_step` clears).

    `own_call`: the running call came with the request, and not from our model. `typed`: the person typed this very
    command. `asks_as` returns a name of the session that questions show, or None if only one session is open.
    `room_chars` are the characters that the model can read of one result now, or None if that is not limited.
    `careful`: the model may not overwrite a file that it has not read, nor break a file's syntax. `asked`: what
    the person wrote, if the model may move or delete only files that are named there, or None. `reopens`: the person's
    message came while work was under review. `authority` is what the turn's model may do, and `narrowed_by`
    says what limited it.

    A sub-agent's turn is a part of its `parent`'s turn: it has the same ids, answers and events. `handed` is what it
    was handed, and `own_reads` what it has read itself. `sub_agents` runs the sub-agents of this turn, or is None if it
    can have none. `send` sends each event to the client, after each of `beside` has taken it: the session's file, and
    observers of the turn.
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
    asked: str | None = None
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
        """Returns the turn of a sub-agent of this turn, with this authority. It cannot have sub-agents itself."""
        return replace(
            self,
            authority=authority,
            narrowed_by="the agent that handed it this work",
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
        """The turn itself, and then the turns that it is a part of."""
        turn: Turn | None = self
        while turn is not None:
            yield turn
            turn = turn.parent

    @property
    def conversation_id(self) -> str:
        """The id of the conversation for the model; a sub-agent has a conversation of its own."""
        return self.session_id if self.handed is None else f"{self.session_id}/{self.handed.call_id}"

    @property
    def read_digests(self) -> dict[str, str]:
        """For each file the digest of what was last read of it, by the session, or by the sub-agent in its turn."""
        return self.memory.read_digests if self.own_reads is None else self.own_reads

    def note_read(self, data: Mapping[str, JsonValue]) -> None:
        """Remembers the digest of the file that a read showed, if the result names the file and the digest."""
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
        """Returns the position in the workflow at which an action is judged.

        That is the session's position, with one exception: a write to work under review is judged at the position that
        a rejected review leads back to, because it continues the work. This holds if the person's message came while
        the work was under review, or if only tests were written, because the model cannot know beforehand that they
        pass. It does not hold for what a run of tests writes.
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
        """The priority of the turn's commands among those that wait for a sandbox; the person's come before a
        model's."""
        return 2 if self.caller == "human" else 3

    @property
    def session_id(self) -> str:
        """The id of the session that this turn belongs to."""
        return self.memory.session_id

    def begin_steps(self, most: int) -> None:
        """Sets how many steps the turn may take. A sub-agent may take no more than it was handed, and than its parent
        has left."""
        own = most if self.authority.steps is None else min(most, self.authority.steps)
        self.allowance = Allowance(own, None if self.parent is None else self.parent.allowance)

    def reached_limit(self) -> str | None:
        """Returns in words why the turn may take no further step, or None if it may."""
        if self.allowance.left <= 0:
            return f"this turn took {self.allowance.taken} steps without an answer"
        used, most = self.usage.prompt_tokens + self.usage.completion_tokens, self.authority.tokens
        return None if most is None or used < most else f"this turn took {used} tokens without an answer, of {most}"

    def begin_step(self) -> None:
        """Begins a new step, and clears the intent of the step before (AGT-06)."""
        self.step += 1
        self.clear_intent()

    def narrow(self, skill: str, intents: frozenset[Intent]) -> None:
        """Leaves the turn's model only these intents, of those that it still has, for the rest of the turn
        (TOOL-20)."""
        if self.caller != "model":
            return
        self.authority, self.narrowed_by = self.authority.meet(Wanted(intents=intents)), f"the skill `{skill}`"
        if self.intent.active not in self.authority.intents:
            self.clear_intent()

    def clear_intent(self) -> None:
        """Clears the intent. Also called when a request to the model is retried."""
        self.intent = IntentState()

    def own_id(self, call_id: str) -> str:
        """Returns an id for the call that no other call of this turn has, because a model may use an id twice."""
        short = call_id[:MAX_CALL_ID] if self.handed is None else f"{self.handed.call_id}/{call_id}"[: 2 * MAX_CALL_ID]
        unique = short
        if short in self.call_ids:
            numbered = (f"{short}#{number}" for number in itertools.count(2))
            unique = next(name for name in numbered if name not in self.call_ids)
        self.call_ids.add(unique)
        return unique

    def add_usage(self, usage: TokenUsage, context: int, window: int | None) -> None:
        """Adds a step's tokens to the turn's, and shows them with `context`, the tokens of its longest request, and the
        model's window, if that is known.
        """
        for each in self.lineage:
            each.usage = each.usage.plus(usage)
        self.emit(UsageEvent(**self.stamp(), usage=usage, context=context, window=window))

    def stamp(self) -> Stamp:
        """Returns the fields that every event carries, with the next number. Call it only for an event that is sent
        now."""
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
        """Gives one event to each of `beside`, then to the client; returns the event."""
        for take in (*self.beside, self.send):
            take(event)
        return event

    def warn(self, message: str) -> None:
        """Warns the person of something that does not end the turn."""
        self.emit(WarningEvent(**self.stamp(), message=message))
