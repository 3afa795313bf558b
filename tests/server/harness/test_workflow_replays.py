"""Small changes to published packages, in strict mode from the request to the commit: nothing is refused."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench
from runner_projects import install_pytest
from workflow_replays import Change, Package, Replay, git, load_replays, steps_of, unpack

from remit_governance.audit.reading.verify import Verified, verify
from remit_governance.audit.record import AuditKind
from remit_governance.workflow.states import Mode

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
    pytest.mark.skipif(shutil.which("python3", path="/usr/bin:/bin") is None, reason="there is no system Python"),
]

REPLAYS = load_replays()
STATES = {
    "tests": ("planning", "test_writing", "code_writing", "validating", "reviewing", "committing", "idle"),
    "exemption": ("planning", "exploring", "validating", "reviewing", "committing", "idle"),
    "explore": ("planning", "exploring", "validating", "reviewing", "committing", "idle"),
}
EXTRA_STEPS = {"tests": 3, "exemption": 1, "explore": 0}
"""The further steps that strict mode costs a model according to docs/workflow.md, by the way of a change."""
EXPLORE = {"type": "call", "tool": "set_mode", "arguments": {"mode": "explore"}, "intent": "PLAN"}


def tried() -> list[Replay]:
    """Returns all replays, or without `REMIT_THOROUGH` the first of each package and way."""
    firsts = {(replay.package.name, replay.change.way): replay for replay in reversed(REPLAYS)}
    return REPLAYS if os.environ.get("REMIT_THOROUGH") else [each for each in REPLAYS if each in firsts.values()]


def named(replay: Replay) -> str:
    return f"{replay.package.name.rpartition('/')[2]}-{replay.change.name}"


async def replayed(make_bench: Any, package: Package, steps: Sequence[Any], change: Change, mode: Mode) -> Bench:
    """Unpacks the package into a folder of its own, and has a model with these steps make the change."""
    bench: Bench = await make_bench(*steps, mode=mode, name=f"work-{mode}", script=f"{mode}.json")
    (bench.workspace / "a.py").unlink()
    if package.registry == "pypi":
        install_pytest(bench.workspace)
        (site,) = (bench.workspace / ".venv" / "lib").glob("python*/site-packages")
        (site / "package.pth").write_text(f"{bench.workspace}\n")
    unpack(package, bench.workspace)
    parts = [EXPLORE] if change.way == "explore" and mode is Mode.STRICT else []
    asker = Answering()
    result = await bench.ask(*parts, change.request, asker=asker)
    assert [event.output for event in bench.of("tool_result") if not event.ok] == []
    assert result.status == "completed"
    assert asker.asked, "what is written is shown to the person"
    return bench


def assert_committed(bench: Bench, change: Change, mode: Mode) -> None:
    assert git(bench.workspace, "log", "-1", "--format=%s") == change.message
    assert git(bench.workspace, "diff", "--name-only", "HEAD~1").splitlines() == change.paths
    assert git(bench.workspace, "status", "--porcelain") == ""
    states = [event.state for event in bench.of("state_changed")]
    expected = STATES[change.way if mode is Mode.STRICT else "explore"]
    assert tuple(states[-len(expected) :]) == expected
    moves = [r.event for r in bench.audit() if r.event.kind is AuditKind.STATE_TRANSITION]
    assert tuple(event.state_machine_state for event in moves) == expected
    assert isinstance(verify(bench.settings.audit_database), Verified)


@pytest.mark.parametrize("replay", tried(), ids=named)
async def test_FLW_06_a_real_change_goes_from_the_request_to_the_commit(
    make_bench: Any, replay: Replay, record_property: Callable[[str, object], None]
) -> None:
    package, change = replay.package, replay.change
    if package.registry == "npm" and shutil.which("node", path="/usr/bin:/bin") is None:
        pytest.skip("there is no node")
    steps = {mode: steps_of(change, strict=mode is Mode.STRICT) for mode in (Mode.STRICT, Mode.EXPLORE)}
    trees: set[str] = set()
    for mode, said in steps.items():
        bench = await replayed(make_bench, package, said, change, mode)
        assert_committed(bench, change, mode)
        trees.add(git(bench.workspace, "rev-parse", "HEAD^{tree}"))
    assert len(trees) == 1, "both modes come to the same files"
    strict, explore = len(steps[Mode.STRICT]), len(steps[Mode.EXPLORE])
    record_property("steps", {"strict": strict, "explore": explore})
    assert strict - explore == EXTRA_STEPS[change.way]


def test_FLW_06_twenty_changes_to_three_packages_are_replayed_in_strict_mode() -> None:
    held = [replay for replay in REPLAYS if replay.change.way != "explore"]
    assert len(held) == 20
    assert {replay.package.registry for replay in held} == {"pypi", "npm"}
    assert len({replay.package.name for replay in held}) == 3
    assert len({named(replay) for replay in REPLAYS}) == len(REPLAYS)


def test_FLW_06_the_page_tells_what_strict_mode_costs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "workflow.md").read_text(encoding="utf-8")
    for way, extra in EXTRA_STEPS.items():
        rows = [replay for replay in REPLAYS if replay.change.way == way]
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {WORDS[way]} |"))
        counts = [(len(steps_of(r.change, strict=False)), len(steps_of(r.change, strict=True))) for r in rows]
        explore, strict = (sum(each) / len(rows) for each in zip(*counts, strict=True))
        assert row == f"| {WORDS[way]} | {len(rows)} | {explore:.1f} | {strict:.1f} | {extra} |"


WORDS = {"tests": "tests first", "exemption": "an exemption", "explore": "`/explore`, by the person"}
