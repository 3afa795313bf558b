"""Says when a person has to look at a commit of strict mode, and when it meets every criterion without that; also the
person's settings for the workflow besides its mode (FLW-08, FLW-10).

Seed: a merge goes on by itself if tests pass, no file is sensitive and the diff is small.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit_governance.hosts import Endpoint
from remit_governance.workflow.debt import Thresholds
from remit_governance.workflow.position import Position
from remit_governance.workflow.proof.runs import name_some
from remit_governance.workflow.states import Mode, State


@dataclass(frozen=True, slots=True)
class WorkflowOptions:
    """The points of coverage that warn and lock, how a commit is made, and what tests may reach.

    `auto_commit`: a commit that meets every criterion is made without asking; `auto_commit_lines` is the most changed
    lines that it may have. `message_prefix` begins each commit's message. `test_hosts` are the hosts that runs of tests
    may reach, if policy allows it.
    """

    warning_points: float = 2.0
    lock_points: float = 5.0
    auto_commit: bool = False
    auto_commit_lines: int = 500
    message_prefix: str = ""
    test_hosts: tuple[Endpoint, ...] = ()

    @property
    def thresholds(self) -> Thresholds:
        """The points of debt above which a person is warned, and above which explore mode is locked."""
        return Thresholds(self.warning_points, self.lock_points)


OTHER_TREE = "the tests passed, but the other files of the commit are not those that they passed with"


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """What is known about a commit: `lines` is how many lines it changes.

    Paths: `sensitive` ones; `unreadable`, whose lines cannot be counted; `untested`, which are not as they were when
    the tests passed; `left_out`, which the tests passed with and the commit leaves out; `foreign`, which somebody else
    has also changed since the last commit; `unproven`, which were changed before the test failed, or are not among
    those of the exemption.

    `is_tested`: the commit's tree is the one that the tests passed with, and they used nothing outside of it. `failing`
    are the tests that fail all the same: as they did before, or if the commit has tests alone (`is_alone`), as they
    were committed. `old` are the tests that failed before the code was written, if the last commit has each of them.
    """

    lines: int
    sensitive: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()
    is_tested: bool = False
    failing: tuple[str, ...] = ()
    is_alone: bool = False
    old: tuple[str, ...] = ()


def is_review(position: Position) -> bool:
    """Returns whether a commit made now is the review of the work: in strict mode, after all tests passed."""
    return position.mode is Mode.STRICT and position.state is State.REVIEWING


def is_approved(position: Position, tree: str) -> bool:
    """Returns whether the person approved exactly the files that a commit would have."""
    return position.state is State.COMMITTING and tree in position.approved


def reasons_of_difference(facts: CommitFacts) -> tuple[str, ...]:
    """Returns in words how a commit differs from the files that the tests passed with; none if it does not."""
    found: list[str] = []
    if facts.untested:
        found.append(f"the tests passed, but these files have changed since: {name_some(facts.untested)}")
    if facts.left_out:
        found.append(f"the tests passed with these files, but the commit leaves them out: {name_some(facts.left_out)}")
    return tuple(found) if found or facts.is_tested else (OTHER_TREE,)


def reasons_to_look(facts: CommitFacts, options: WorkflowOptions) -> tuple[str, ...]:
    """Returns in words why a person has to look at a commit; none if it meets every criterion."""
    found = [*reasons_of_difference(facts)]
    if facts.foreign:
        found.append(f"it contains changes that this session did not make: {name_some(facts.foreign)}")
    if facts.unproven:
        found.append(
            f"it contains changes made before its test failed, or outside its exemption: {name_some(facts.unproven)}"
        )
    if facts.old:
        found.append(f"no test is new: its code was written for tests that fail as committed: {name_some(facts.old)}")
    if facts.failing and (facts.is_alone or not options.auto_commit):
        how = "though they are as they were committed" if facts.is_alone else "as they did before"
        found.append(f"these tests fail {how}, and no other does: {name_some(facts.failing)}")
    if not options.auto_commit:
        return tuple(found) or ("the tests pass, and the work waits for your review",)
    if facts.lines > options.auto_commit_lines:
        found.append(f"it changes {facts.lines} lines, more than the {options.auto_commit_lines} that need no review")
    if facts.sensitive:
        found.append(f"it changes sensitive files: {name_some(facts.sensitive)}")
    if facts.unreadable:
        found.append(f"it changes files that are not text: {name_some(facts.unreadable)}")
    return tuple(found)
