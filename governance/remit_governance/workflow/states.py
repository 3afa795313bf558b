"""The workflow's states, modes and triggers (FLW-01), and the state machine as tables that a person can read: pure, and
the only place that says which transitions there are; also draws the tables as a diagram (FLW-02).

Seed: the three transition tables. `debug` has the same transitions as `explore`. Some rows are our own. In `explore`
and `debug` a rejected review leads back to `exploring`, because the seed has no other way to correct what was rejected.
In `strict` a wrong test leads back to `test_writing`, once the code is as it was when the test failed. Tests alone, of
code that exists already, go from `test_writing` to their review, and back to it if they are rejected (FLW-16). An
exemption can still be asked for in `test_writing`, until a test is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class State(StrEnum):
    """The states of a session's work."""

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
    """The modes, which say how much of the workflow a session is held to; the strictest first."""

    STRICT = "strict"
    EXPLORE = "explore"
    DEBUG = "debug"


class Trigger(StrEnum):
    """Events that may lead to another state."""

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
    """What is known when a trigger occurs, for guards to check.

    `red`: a new or changed test ran and failed by an assertion, or one of the person's failed. `green`: the tests that
    had to pass ran unchanged and passed, and no other got worse. `changed`: the session has changed something since it
    began to write code (in `retroactive_testing`: tests). `within_budget`: coverage has not fallen further than the
    debt budget allows. `restored`: the session's changes to the code since the tests failed are taken back.
    `tests_alone`: only new test files were written since the plan, and every test passes, but for those that fail as
    they were committed. `untouched`: all test files are as they were when the plan was complete.
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
    """A condition of a transition, and the words that say what is missing if it does not hold."""

    name: str
    holds: Callable[[Facts], bool]
    needs: str


RED = Guard(
    "red",
    lambda facts: facts.red,
    "tests must exist and have been run; a new or changed one must fail by an assertion, "
    "or one of the person's must fail",
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
    "the code has to be as it was when the tests failed; the person can take back what the model cannot",
)
TESTS_ALONE = Guard(
    "tests alone",
    lambda facts: facts.tests_alone and not facts.red,
    "if only tests for existing code are wanted: write them into new files, and all tests must pass",
)
CODE_TOO = Guard("code too", lambda facts: facts.red or not facts.tests_alone, "code must have been written")
NOT_GREEN = Guard("not green", lambda facts: not facts.green, "a test must have failed")
WITHIN_BUDGET = Guard(
    "within budget",
    lambda facts: facts.within_budget,
    "coverage has fallen too far: write tests in strict mode that bring it back",
)


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of a table: in `source`, `trigger` leads to `target` if the guard holds."""

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

# Exempted work takes the transitions of `explore`, but is not checked against the debt budget and must have its tests
# run. A wrong exemption can be given up for a test, or for another exemption.
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
"""The tables by mode. In addition, `reset` leads from any state to `idle`."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A transition was taken."""

    source: State
    target: State


@dataclass(frozen=True, slots=True)
class Held:
    """No transition was taken. `needs` says what is missing for one; it is empty if this trigger has no row here."""

    state: State
    needs: str


def rows_of(mode: Mode, *, exempt: bool = False) -> tuple[Transition, ...]:
    """Returns the table of a mode; with `exempt` the table of work for which an exemption was granted."""
    return (
        (*(row for row in TRANSITIONS[mode] if row.source in {State.IDLE, State.PLANNING}), *_EXEMPT)
        if exempt
        else TRANSITIONS[mode]
    )


def advance(mode: Mode, state: State, trigger: Trigger, facts: Facts, *, exempt: bool = False) -> Moved | Held:
    """Returns the transition that a trigger takes, by the first row whose guard holds, or what is missing (FLW-02)."""
    if trigger is Trigger.RESET:
        return Moved(state, State.IDLE)
    rows = [row for row in rows_of(mode, exempt=exempt) if row.source is state and row.trigger is trigger]
    for row in rows:
        if row.guard is None or row.guard.holds(facts):
            return Moved(state, row.target)
    return Held(state, "; ".join(row.guard.needs for row in rows if row.guard is not None))


_OPENERS: Mapping[Trigger, str] = MappingProxyType(
    {
        Trigger.MESSAGE: "a message from the person",
        Trigger.PLAN_COMPLETED: "call plan_complete once you know what to do",
        Trigger.EXEMPTION_GRANTED: "ask for an exemption with workflow_request_exemption, where no test can come first",
        Trigger.TESTS_STARTED: "run all tests with run_tests",
        Trigger.TESTS_ENDED: "run all tests with run_tests",
        Trigger.TESTS_REVISED: "call revise_tests where a test was wrong",
        Trigger.TESTS_WANTED: "the person asks for tests first",
        Trigger.UNTESTED: "a commit is wanted, but no test was run",
        Trigger.APPROVED: "the person's /approve, or yes to git_commit",
        Trigger.REJECTED: "the person's /reject, or the first change after their next message",
        Trigger.COMMITTED: "commit with git_commit",
    }
)


_SETTLED = frozenset({UNCHANGED.name, CODE_TOO.name})
"""Guards that, once they do not hold, can hold again only after another transition leads back."""


def ways_out(mode: Mode, state: State, facts: Facts, *, exempt: bool = False) -> tuple[str, ...]:
    """Returns a phrase for each trigger that leads out of a state: where to, and what is still missing. Leaves out
    transitions that are closed. Refusals end with these words.
    """
    rows = [row for row in rows_of(mode, exempt=exempt) if row.source is state and not _is_closed(row, facts)]
    triggers = dict.fromkeys(row.trigger for row in rows)
    return tuple(_describe_way([row for row in rows if row.trigger is trigger], facts) for trigger in triggers)


def _describe_way(rows: Sequence[Transition], facts: Facts) -> str:
    """Returns where one trigger leads, and for each target what is missing."""
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
