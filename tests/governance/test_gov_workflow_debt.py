"""The debt of untested code: how it is computed (FLW-08)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remit_governance.workflow.debt import (
    Account,
    Coverage,
    Standing,
    Thresholds,
    count_explore,
    count_measurement,
    count_strict,
    opening,
    standing_of,
)

THRESHOLDS = Thresholds()
ALMOST = 1e-5


def covered(points: int) -> Coverage:
    return Coverage("pytest", points, 100)


measurements = st.integers(0, 100).map(covered)
commits = st.lists(st.tuples(st.booleans(), measurements), max_size=20)


def after(steps: list[tuple[bool, Coverage]], account: Account | None = None) -> Account | None:
    for strict, measured in steps:
        if strict:
            account = count_strict(account, measured)
        elif account is not None:
            account = count_explore(account, measured)
    return account


@given(commits, measurements)
def test_FLW_08_a_strict_commit_never_adds_debt_and_takes_what_it_gained(
    steps: list[tuple[bool, Coverage]], measured: Coverage
) -> None:
    before = after(steps)
    now = count_strict(before, measured)
    owed = before.debt if before else 0.0
    gained = max(0.0, measured.points - before.now) if before else 0.0
    assert abs(now.debt - max(0.0, owed - gained)) < ALMOST
    assert now.now == measured.points
    if not owed:
        assert now.baseline == measured.points


@given(commits, measurements)
def test_FLW_08_explore_mode_never_moves_the_baseline(steps: list[tuple[bool, Coverage]], measured: Coverage) -> None:
    before = after(steps)
    if before is not None:
        now = count_explore(before, measured)
        assert now.baseline == before.baseline
        assert abs(now.debt - max(0.0, before.baseline - measured.points)) < ALMOST


@given(st.lists(measurements, min_size=1, max_size=20))
def test_FLW_08_strict_mode_alone_is_never_in_debt(measured: list[Coverage]) -> None:
    account = after([(True, each) for each in measured])
    assert account is not None
    assert account.debt == 0
    assert standing_of(account, THRESHOLDS) is Standing.WITHIN


@given(measurements, measurements, measurements)
def test_FLW_08_a_lock_opens_by_coverage_gained_in_strict_mode_alone(
    base: Coverage, fallen: Coverage, later: Coverage
) -> None:
    account = count_explore(count_strict(None, base), fallen)
    if standing_of(account, THRESHOLDS) is Standing.LOCKED:
        now = standing_of(count_strict(account, later), THRESHOLDS)
        assert (now is not Standing.LOCKED) == (later.points >= base.points - THRESHOLDS.lock)


@given(st.integers(0, 10), st.integers(0, 10))
def test_FLW_08_more_debt_never_stands_better(one: int, other: int) -> None:
    order = [Standing.WITHIN, Standing.WARNING, Standing.LOCKED]
    less, more = (
        order.index(standing_of(count_explore(count_strict(None, covered(50)), covered(50 - drop)), THRESHOLDS))
        for drop in sorted((one, other))
    )
    assert less <= more


def test_FLW_08_two_points_warn_and_five_lock_and_neither_does_at_the_very_point() -> None:
    account = count_strict(None, covered(90))
    found = [standing_of(count_explore(account, covered(points)), THRESHOLDS) for points in (90, 88, 87, 85, 84)]
    assert found == [Standing.WITHIN, Standing.WITHIN, Standing.WARNING, Standing.WARNING, Standing.LOCKED]
    assert standing_of(None, THRESHOLDS) is Standing.NOT_MEASURED
    assert "from 84.0 % back to 85.0 %" in opening(count_explore(account, covered(84)), THRESHOLDS)


def test_FLW_08_what_another_runner_measured_pays_no_debt() -> None:
    account = count_explore(count_strict(None, covered(90)), covered(80))
    other = Coverage("jest", 100, 100)
    assert count_explore(account, other) == account
    assert count_strict(account, other) == account
    assert count_strict(count_strict(None, covered(90)), other) == Account("jest", 100.0, 100.0)


@given(commits, measurements, st.booleans())
def test_FLW_08_a_run_without_a_commit_makes_no_debt_of_what_is_not_committed(
    steps: list[tuple[bool, Coverage]], measured: Coverage, is_committed: bool
) -> None:
    before = after(steps)
    if before is None:
        return
    now = count_measurement(before, measured, THRESHOLDS, is_committed=is_committed)
    assert now.baseline == before.baseline
    if is_committed:
        assert now.now == measured.points
    else:
        was, would = standing_of(before, THRESHOLDS), standing_of(count_explore(before, measured), THRESHOLDS)
        ends = was is Standing.LOCKED and would is not Standing.LOCKED
        assert now.now == (measured.points if ends else before.now)
