"""A session's position in the workflow, as one frozen value (FLW-01), and its description in words for the model and
for the person (FLW-06).

The position is saved with the session, and judged here when the session is taken up again (FLW-12). The audit record of
the transition that led to it holds its digest, so that no other position is taken up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from remit_governance.canonical import Json, digest
from remit_governance.workflow.proof.runs import Red, TestFiles, name_some
from remit_governance.workflow.states import Facts, Held, Mode, Moved, State, Trigger, advance, ways_out
from remit_governance.workflow.test_files import Exemption

_WORKING = frozenset({State.TEST_WRITING, State.CODE_WRITING, State.EXPLORING, State.RETROACTIVE_TESTING})


@dataclass(frozen=True, slots=True)
class Position:
    """A session's mode and state, and what was proven on the way.

    `before` are the test files when the plan was complete, `red` the failing run that opened `code_writing`; `changed`
    says whether anything was written since then. `approved` are the trees that the person approved in a review.
    `passed_with` are the files that differed from the last commit, or that the session had changed, when all tests
    passed: digests by path, None for a file that is gone. `tree` is the tree of all files then, or None if git could
    not make it; `failing` are the tests that failed in that run as they did before.
    """

    mode: Mode = Mode.EXPLORE
    state: State = State.IDLE
    exemption: Exemption | None = None
    before: TestFiles | None = None
    red: Red | None = None
    changed: bool = False
    approved: frozenset[str] = frozenset()
    passed_with: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    tree: str | None = None
    failing: tuple[str, ...] = ()

    def mode_for(self, path: str | None) -> Mode:
        """Returns the mode in which a path is judged: `explore` while an exemption for this path is in use."""
        exempt = self.exemption is not None and path in self.exemption.paths
        return Mode.EXPLORE if exempt and self.state is State.EXPLORING else self.mode

    @property
    def is_exempt(self) -> bool:
        """Whether an exemption was granted for the work."""
        return self.exemption is not None

    @property
    def is_tests_alone(self) -> bool:
        """Whether the work that is under review or approved is tests alone: strict mode without a failing run, because
        code needs one."""
        done = self.state in {State.REVIEWING, State.COMMITTING}
        return done and self.mode is Mode.STRICT and self.red is None and not self.is_exempt

    def take(
        self,
        trigger: Trigger,
        *,
        red: bool = False,
        green: bool = False,
        restored: bool = False,
        tests_alone: bool = False,
        untouched: bool = False,
        within_budget: bool = True,
        gaining: Callable[[Position], Position] = lambda position: position,
    ) -> tuple[Position, Moved | Held]:
        """Returns the position to which a trigger leads, and what the state machine said; a new task forgets all
        proofs.

        If a transition is taken, `gaining` adds to the position what was proven, granted or approved.
        """
        alone = tests_alone or self.is_tests_alone
        facts = Facts(red, green, self.changed, within_budget, restored, alone, untouched)
        said = advance(self.mode, self.state, trigger, facts, exempt=self.is_exempt)
        match said:
            case Held():
                return self, said
            case Moved(target=State.IDLE):
                return Position(self.mode), said
            case Moved(target=target):
                writes_anew = target is State.RETROACTIVE_TESTING
                changed = self.changed and not writes_anew
                now = replace(self, state=target, changed=changed)
                untested = replace(now, passed_with=dict[str, str | None](), tree=None, failing=())
                return gaining(untested if target in _WORKING else now), said

    def ways_out(self) -> tuple[str, ...]:
        """Returns a phrase for each trigger that leads on from here, with what is missing for it."""
        known = Facts(changed=self.changed, tests_alone=self.is_tests_alone)
        return ways_out(self.mode, self.state, known, exempt=self.is_exempt)


VERSION = 1


def keep(position: Position) -> dict[str, Json]:
    """Returns a position as it is saved, with one digest for all test files. `changed` is left out, because it opens no
    file, and it changes without a transition."""
    return {
        "version": VERSION,
        "mode": position.mode.value,
        "state": position.state.value,
        "exemption": None
        if (granted := position.exemption) is None
        else {"category": granted.category, "paths": sorted(granted.paths)},
        "before": None if position.before is None else position.before.digest,
        "red": None if position.red is None else _proof(position.red),
        "approved": sorted(position.approved),
        "passed_with": dict(position.passed_with),
        **({} if position.tree is None else {"tree": position.tree}),
        **({} if not position.failing else {"failing": [*position.failing]}),
    }


def _proof(red: Red) -> dict[str, Json]:
    ended = {"proven": red.proven, "failing": red.failing, "passing": red.passing}
    tests: dict[str, Json] = {how: [*sorted(ids)] for how, ids in ended.items()}
    return {**tests, "locked": red.locked.digest, "since": red.since}


def digest_position(position: Position) -> str:
    """Returns the digest of a position, which the audit record of the transition to it holds."""
    return digest(keep(position))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The workspace as it is now: its test files, or None if no proof is about any, and files' digests by path."""

    tests: TestFiles | None = None
    files: Mapping[str, str | None] = field(default_factory=dict[str, str | None])


@dataclass(frozen=True, slots=True)
class TakenUp:
    """The judgement on a saved position: the `trigger` that it has to take, and in words why it no longer holds; both
    empty if it holds."""

    trigger: Trigger | None = None
    why: str = ""


def take_up(kept: Position, held_to: Mode, now: Surroundings) -> TakenUp:
    """Judges a saved position for a session that is held to a mode; a position that no longer fits leads back."""
    if strictest((kept.mode, held_to)) is not kept.mode:
        return TakenUp(Trigger.RESET, f"the session is held to {held_to} mode now")
    if kept.red is not None and now.tests is not None and (moved := kept.red.locked.differing(now.tests)):
        return TakenUp(Trigger.RESET, f"test files are not as they were when a test failed: {name_some(moved)}")
    if kept.state is State.VALIDATING:
        return TakenUp(Trigger.TESTS_ENDED, "the test run did not finish")
    moved = tuple(sorted(path for path, digest in kept.passed_with.items() if now.files.get(path) != digest))
    if kept.state is State.REVIEWING and moved:
        return TakenUp(Trigger.REJECTED, f"files are not as they were when all tests passed: {name_some(moved)}")
    return TakenUp()


def strictest(modes: Iterable[Mode]) -> Mode:
    """Returns the strictest of the modes."""
    return min(modes, key=tuple(Mode).index)


WRITABLE: Mapping[State, str] = MappingProxyType(
    {
        State.IDLE: "nothing may be written",
        State.PLANNING: "everything may be read, nothing may be written",
        State.TEST_WRITING: "only tests may be written",
        State.CODE_WRITING: "everything may be written except tests and their configuration",
        State.VALIDATING: "nothing may be written",
        State.REVIEWING: "nothing may be written",
        State.COMMITTING: "nothing may be written",
        State.EXPLORING: "only the exempted files may be written",
        State.RETROACTIVE_TESTING: "only tests may be written",
    }
)
"""What each state leaves writable in strict mode."""

ASKS_PERSON: Mapping[State, str] = MappingProxyType({State.REVIEWING: "/approve commits it, /reject sends it back"})
"""What the person can do in a state in which the work waits for them."""


def describe(position: Position) -> str:
    """Returns a sentence that says the mode and state, what may be written there, and what opens the next state."""
    where = f"workflow: {position.mode} mode, state {position.state}"
    if position.mode is not Mode.STRICT:
        held = WRITABLE[position.state] if position.state is State.RETROACTIVE_TESTING else "nothing is blocked"
        return f"{where}: {held}"
    ways = "; ".join(position.ways_out())
    return f"{where}: {WRITABLE[position.state]}. {ways[:1].upper()}{ways[1:]}"
