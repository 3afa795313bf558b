"""A session's place in the workflow as it is kept, and what becomes of it when the session is taken up again (FLW-12).

The digest of what is kept stands in the audit record of the transition that led there: nothing else is taken up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from remit_governance.canonical import Json, digest
from remit_governance.workflow.exemptions import Exemption
from remit_governance.workflow.position import Position
from remit_governance.workflow.proof.runs import MOST_NAMED, Red, TestFiles
from remit_governance.workflow.states import Mode, State, Trigger

VERSION = 1


def keep(position: Position) -> dict[str, Json]:
    """Returns a place as it is kept: files of tests by the digest of all, and all but whether anything was written
    since, which opens no file and comes to be without a transition."""
    return {
        "version": VERSION,
        "mode": position.mode.value,
        "state": position.state.value,
        "exemption": None if position.exemption is None else _exemption(position.exemption),
        "before": None if position.before is None else position.before.digest,
        "red": None if position.red is None else _proof(position.red),
        "approved": sorted(position.approved),
        "passed_with": dict(position.passed_with),
        **({} if position.tree is None else {"tree": position.tree}),
        **({} if not position.failing else {"failing": [*position.failing]}),
    }


def _exemption(exemption: Exemption) -> dict[str, Json]:
    return {"category": exemption.category, "paths": sorted(exemption.paths)}


def _proof(red: Red) -> dict[str, Json]:
    ended = {"proven": red.proven, "failing": red.failing, "passing": red.passing}
    tests: dict[str, Json] = {how: [*sorted(ids)] for how, ids in ended.items()}
    return {**tests, "locked": red.locked.digest, "since": red.since}


def digest_position(position: Position) -> str:
    """Returns what the audit record of a transition says of the place it led to."""
    return digest(keep(position))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is as it is now: the test files, None where no proof is of any, and the digests of files by path."""

    tests: TestFiles | None = None
    files: Mapping[str, str | None] = field(default_factory=dict[str, str | None])


@dataclass(frozen=True, slots=True)
class TakenUp:
    """What a kept place comes to: where it leads on by `trigger`, and in words why it does not hold as it was."""

    trigger: Trigger | None = None
    why: str = ""


def take_up(kept: Position, held_to: Mode, now: Surroundings) -> TakenUp:
    """Judges a place that was kept, for a session that is held to a mode: what no longer fits leads back."""
    if strictest((kept.mode, held_to)) is not kept.mode:
        return TakenUp(Trigger.RESET, f"the session is held to {held_to} mode now")
    if kept.red is not None and now.tests is not None and (moved := kept.red.locked.differing(now.tests)):
        return TakenUp(Trigger.RESET, f"files of tests are not as they were when a test failed: {_names(moved)}")
    if kept.state is State.VALIDATING:
        return TakenUp(Trigger.TESTS_ENDED, "the run of the tests did not come to its end")
    moved = tuple(sorted(path for path, digest in kept.passed_with.items() if now.files.get(path) != digest))
    if kept.state is State.REVIEWING and moved:
        return TakenUp(Trigger.REJECTED, f"files are not as they were when all tests passed: {_names(moved)}")
    return TakenUp()


def strictest(modes: Iterable[Mode]) -> Mode:
    """Returns the strictest of the modes."""
    return min(modes, key=tuple(Mode).index)


def _names(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(paths[:MOST_NAMED]) + more
