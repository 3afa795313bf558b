"""The workflow's states, modes, what can happen in a session (FLW-01), and the state machine, as tables that a person
can read: pure, and the only place that says what leads where; and these tables as a diagram (FLW-02).

Seed: the three transition tables. `debug` moves as `explore` does. Some rows are our own: in `explore` and `debug` a
rejected review leads back to `exploring`, for the seed says of no other way to mend what was rejected; in `strict`
what was wrong with a test leads back to `test_writing`, once the code is as it was when the test failed; tests alone,
of code that is there, go from `test_writing` to their review, and back to it where they are rejected (FLW-16); and an
exemption can still be asked for in `test_writing`, until a test is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class State(StrEnum):
    """Where a session's work stands."""

    IDLE = "idle"
    PLANNING = "planning"
    TEST_WRITING = "test_writing"
    CODE_WRITING = "code_writing"
    VALIDATING = "validating"
    REVIEWING = "reviewing"
    COMMITTING = "committing"
    EXPLORING = "exploring"
    RETROACTIVE_TESTING = "retroactive_testing"


class Mode(StrEnum):
    """How much of the workflow a session is held to, the strictest first."""

    STRICT = "strict"
    EXPLORE = "explore"
    DEBUG = "debug"


class Trigger(StrEnum):
    """Something that happened, and may lead to another state."""

    MESSAGE = "message"
    PLAN_COMPLETED = "plan_completed"
    EXEMPTION_GRANTED = "exemption_granted"
    TESTS_STARTED = "tests_started"
    TESTS_ENDED = "tests_ended"
    TESTS_REVISED = "tests_revised"
    TESTS_WANTED = "tests_wanted"
    UNTESTED = "untested"
    APPROVED = "approved"
    REJECTED = "rejected"
    COMMITTED = "committed"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known when something happens, as guards look at it.

    `red`: a new or changed test ran and failed by an assertion. `green`: the tests that were to pass ran unchanged and
    passed, and no other got worse. `changed`: the session has changed something since it began to write code (in
    `retroactive_testing`: tests). `within_budget`: coverage has not fallen below what the debt budget bears.
    `restored`: what the session changed of the code since the tests failed is taken back. `tests_alone`: new files of
    tests are all that was written since the plan, and every test passes. `untouched`: no test file is another than when
    the plan was complete.
    """

    red: bool = False
    green: bool = False
    changed: bool = False
    within_budget: bool = True
    restored: bool = False
    tests_alone: bool = False
    untouched: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """What has to be so for a transition, and what is said where it is not."""

    name: str
    holds: Callable[[Facts], bool]
    needs: str


RED = Guard(
    "red",
    lambda facts: facts.red,
    "tests must exist, have been run, and a new or changed one must fail by an assertion, or one of the person's fail",
)
CHANGED = Guard("changed", lambda facts: facts.changed, "there must be changes to test")
UNTOUCHED = Guard(
    "untouched", lambda facts: facts.untouched, "the tests have to be as they were when the plan was complete"
)
UNCHANGED = Guard("unchanged", lambda facts: not facts.changed, "nothing may have been changed under the exemption")
GREEN = Guard("green", lambda facts: facts.green, "all tests must pass before the review")
RESTORED = Guard(
    "restored",
    lambda facts: facts.restored,
    "the code has to be as it was when the tests failed, and what it cannot take back the person can",
)
TESTS_ALONE = Guard(
    "tests alone",
    lambda facts: facts.tests_alone and not facts.red,
    "where tests of code that is there are all that is wanted: write them into new files, and all tests must pass",
)
CODE_TOO = Guard("code too", lambda facts: facts.red or not facts.tests_alone, "code must have been written")
NOT_GREEN = Guard("not green", lambda facts: not facts.green, "a test must have failed")
WITHIN_BUDGET = Guard(
    "within budget",
    lambda facts: facts.within_budget,
    "coverage has fallen too far: write tests in strict mode that win it back",
)


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of a table: in `source`, `trigger` leads to `target` where the guard holds."""

    source: State
    trigger: Trigger
    target: State
    guard: Guard | None = None


_STRICT = (
    Transition(State.IDLE, Trigger.MESSAGE, State.PLANNING),
    Transition(State.PLANNING, Trigger.PLAN_COMPLETED, State.TEST_WRITING),
    Transition(State.PLANNING, Trigger.EXEMPTION_GRANTED, State.EXPLORING),
    Transition(State.TEST_WRITING, Trigger.TESTS_ENDED, State.CODE_WRITING, RED),
    Transition(State.TEST_WRITING, Trigger.TESTS_ENDED, State.REVIEWING, TESTS_ALONE),
    Transition(State.TEST_WRITING, Trigger.EXEMPTION_GRANTED, State.EXPLORING, UNTOUCHED),
    Transition(State.CODE_WRITING, Trigger.TESTS_STARTED, State.VALIDATING, CHANGED),
    Transition(State.CODE_WRITING, Trigger.TESTS_REVISED, State.TEST_WRITING, RESTORED),
    Transition(State.VALIDATING, Trigger.TESTS_ENDED, State.REVIEWING, GREEN),
    Transition(State.VALIDATING, Trigger.TESTS_ENDED, State.CODE_WRITING, NOT_GREEN),
    Transition(State.REVIEWING, Trigger.APPROVED, State.COMMITTING),
    Transition(State.REVIEWING, Trigger.REJECTED, State.CODE_WRITING, CODE_TOO),
    Transition(State.REVIEWING, Trigger.REJECTED, State.TEST_WRITING, TESTS_ALONE),
    Transition(State.COMMITTING, Trigger.COMMITTED, State.IDLE),
)

_EXPLORE = (
    Transition(State.IDLE, Trigger.MESSAGE, State.PLANNING),
    Transition(State.PLANNING, Trigger.PLAN_COMPLETED, State.EXPLORING),
    Transition(State.EXPLORING, Trigger.TESTS_STARTED, State.VALIDATING, CHANGED),
    Transition(State.EXPLORING, Trigger.UNTESTED, State.VALIDATING, CHANGED),
    Transition(State.VALIDATING, Trigger.UNTESTED, State.REVIEWING),
    Transition(State.VALIDATING, Trigger.TESTS_ENDED, State.REVIEWING, GREEN),
    Transition(State.VALIDATING, Trigger.TESTS_ENDED, State.EXPLORING, NOT_GREEN),
    Transition(State.REVIEWING, Trigger.APPROVED, State.COMMITTING, WITHIN_BUDGET),
    Transition(State.REVIEWING, Trigger.TESTS_WANTED, State.RETROACTIVE_TESTING),
    Transition(State.REVIEWING, Trigger.REJECTED, State.EXPLORING),
    Transition(State.RETROACTIVE_TESTING, Trigger.TESTS_STARTED, State.VALIDATING, CHANGED),
    Transition(State.COMMITTING, Trigger.COMMITTED, State.IDLE),
)

# What was exempted goes the way of `explore`, costs nothing of the debt budget, and has its tests run. A wrong
# exemption is given up for a test, or for another.
_EXEMPT = (
    *(
        Transition(row.source, row.trigger, row.target, None if row.guard is WITHIN_BUDGET else row.guard)
        for row in _EXPLORE
        if row.source not in {State.IDLE, State.PLANNING} and row.trigger is not Trigger.UNTESTED
    ),
    Transition(State.EXPLORING, Trigger.PLAN_COMPLETED, State.TEST_WRITING, UNCHANGED),
    Transition(State.EXPLORING, Trigger.EXEMPTION_GRANTED, State.EXPLORING, UNCHANGED),
)

TRANSITIONS: Mapping[Mode, tuple[Transition, ...]] = MappingProxyType(
    {Mode.STRICT: _STRICT, Mode.EXPLORE: _EXPLORE, Mode.DEBUG: _EXPLORE}
)
"""The tables by mode. Besides, `reset` leads from any state to `idle`."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A transition was taken."""

    source: State
    target: State


@dataclass(frozen=True, slots=True)
class Held:
    """Nothing moves. `needs` says what would open the gate, empty where this trigger leads nowhere from here."""

    state: State
    needs: str


def rows_of(mode: Mode, *, exempt: bool = False) -> tuple[Transition, ...]:
    """Returns the table of a mode, with `exempt` that of work which an exemption was granted for."""
    return (
        (*(row for row in TRANSITIONS[mode] if row.source in {State.IDLE, State.PLANNING}), *_EXEMPT)
        if exempt
        else TRANSITIONS[mode]
    )


def advance(mode: Mode, state: State, trigger: Trigger, facts: Facts, *, exempt: bool = False) -> Moved | Held:
    """Says what a trigger leads to: the one row whose guard holds, else what is missing (FLW-02)."""
    if trigger is Trigger.RESET:
        return Moved(state, State.IDLE)
    rows = [row for row in rows_of(mode, exempt=exempt) if row.source is state and row.trigger is trigger]
    for row in rows:
        if row.guard is None or row.guard.holds(facts):
            return Moved(state, row.target)
    return Held(state, "; ".join(row.guard.needs for row in rows if row.guard is not None))


_OPENERS: Mapping[Trigger, str] = MappingProxyType(
    {
        Trigger.MESSAGE: "a message of the person",
        Trigger.PLAN_COMPLETED: "call plan_complete once you know what to do",
        Trigger.EXEMPTION_GRANTED: "ask for an exemption with workflow_request_exemption, where no test can come first",
        Trigger.TESTS_STARTED: "run all tests with run_tests",
        Trigger.TESTS_ENDED: "run all tests with run_tests",
        Trigger.TESTS_REVISED: "call revise_tests where a test was wrong",
        Trigger.TESTS_WANTED: "the person asks for tests first",
        Trigger.UNTESTED: "a commit is wanted, and no test was run",
        Trigger.APPROVED: "the person's /approve, or yes to git_commit",
        Trigger.REJECTED: "the person's /reject, or the first change after their next message",
        Trigger.COMMITTED: "commit with git_commit",
    }
)


_SETTLED = frozenset({UNCHANGED.name, CODE_TOO.name})
"""Guards that nothing but another way back opens again, once they do not hold."""


def ways_out(mode: Mode, state: State, facts: Facts, *, exempt: bool = False) -> tuple[str, ...]:
    """Says of each thing that leads out of a state where to, in the words that a refusal ends with: what is still
    missing, and nothing of ways that are closed.
    """
    rows = [row for row in rows_of(mode, exempt=exempt) if row.source is state and not _is_closed(row, facts)]
    triggers = dict.fromkeys(row.trigger for row in rows)
    return tuple(_describe_way([row for row in rows if row.trigger is trigger], facts) for trigger in triggers)


def _describe_way(rows: Sequence[Transition], facts: Facts) -> str:
    """Says where one trigger leads, and of each place what is missing."""
    missing = [(row.target, row.guard.needs) for row in rows if row.guard is not None and not row.guard.holds(facts)]
    needs = [needs if len(rows) == 1 else f"{target}: {needs}" for target, needs in missing]
    where = " or ".join(row.target for row in rows)
    more = f" ({'; '.join(needs)})" if needs else ""
    return f"to {where}: {_OPENERS[rows[0].trigger]}{more}"


def _is_closed(row: Transition, facts: Facts) -> bool:
    is_settled = row.guard is not None and (row.guard.name in _SETTLED or row.trigger is Trigger.REJECTED)
    return is_settled and row.guard is not None and not row.guard.holds(facts)


def mermaid(mode: Mode) -> str:
    """Returns a Mermaid state diagram of a mode's table."""
    lines = ["stateDiagram-v2", "    [*] --> idle", *(f"    {_arrow(row)}" for row in TRANSITIONS[mode])]
    return "\n".join(lines) + "\n"


def _arrow(row: Transition) -> str:
    guard = f" [{row.guard.name}]" if row.guard else ""
    return f"{row.source} --> {row.target}: {row.trigger}{guard}"
