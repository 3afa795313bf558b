"""Where a session stands in the workflow, as one value; each change makes another (FLW-01)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from remit_governance.workflow.exemptions import Exemption
from remit_governance.workflow.machine import Held, Moved, advance, ways_out
from remit_governance.workflow.proof.runs import Red, TestFiles
from remit_governance.workflow.states import Facts, Mode, State, Trigger

_WORKING = frozenset({State.TEST_WRITING, State.CODE_WRITING, State.EXPLORING, State.RETROACTIVE_TESTING})


@dataclass(frozen=True, slots=True)
class Position:
    """A session's mode and state, and what was proven on the way.

    `before` are the test files when the plan was complete, `red` the failing run that opened `code_writing`; `changed`
    says whether anything was written since then. `approved` are the trees that the person's review was of, and
    `passed_with` the files that differed from the last commit, or that the session had changed, when all tests passed:
    digests by path, None for what is gone. `tree` is the tree of all of them, None where git could not have it, and
    `failing` are the tests that failed then, as they did before.
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
        """Returns the mode that a path is judged in: what an exemption was granted for goes the way of `explore`."""
        exempt = self.exemption is not None and path in self.exemption.paths
        return Mode.EXPLORE if exempt and self.state is State.EXPLORING else self.mode

    @property
    def is_exempt(self) -> bool:
        """Whether the work goes the way of an exemption."""
        return self.exemption is not None

    @property
    def is_tests_alone(self) -> bool:
        """Whether the work under review, or approved, is tests alone: in strict mode code comes by a failing test."""
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
        """Returns where a trigger leads, and what the machine said; proofs are forgotten where a new task begins.

        `gaining` adds what was proven, granted or approved by what happened, where anything moves.
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
        """Says what would open each gate from here."""
        known = Facts(changed=self.changed, tests_alone=self.is_tests_alone)
        return ways_out(self.mode, self.state, known, exempt=self.is_exempt)
