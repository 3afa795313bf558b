"""The debt of untested code, in points of coverage: what explore mode lost and strict mode has not won back (FLW-08).

A point is one percent of the lines that could run. The baseline is the coverage that strict mode reached, and the debt
is how far coverage lies below it. A commit of strict mode never adds to the debt, and reduces it only by the coverage
that it gains.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

EXACT = 6
"""Points are rounded to this many decimals, so that comparing sums of them is not disturbed by rounding errors."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The lines that ran, and all that could run; `by` names the measuring runner, because others count otherwise."""

    by: str
    ran: int
    all: int

    @property
    def points(self) -> float:
        """The share in points, 0 to 100."""
        return round(100 * self.ran / self.all, EXACT) if self.all else 0.0


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The points of debt above which a person is warned, and those above which explore mode is locked."""

    warning: float = 2.0
    lock: float = 5.0


class Standing(StrEnum):
    """How a workspace's debt compares with its budget."""

    NOT_MEASURED = "not measured"
    WITHIN = "within budget"
    WARNING = "warning"
    LOCKED = "locked"


@dataclass(frozen=True, slots=True)
class Account:
    """The coverage that `by` measured: `baseline` is what strict mode reached, `now` what the last commit had."""

    by: str
    baseline: float
    now: float

    @property
    def debt(self) -> float:
        """The points below the baseline."""
        return round(max(0.0, self.baseline - self.now), EXACT)


def standing_of(account: Account | None, thresholds: Thresholds) -> Standing:
    """Returns how an account compares with the thresholds; None is a workspace for which no commit of strict mode has
    measured coverage."""
    if account is None:
        return Standing.NOT_MEASURED
    if account.debt > thresholds.lock:
        return Standing.LOCKED
    return Standing.WARNING if account.debt > thresholds.warning else Standing.WITHIN


def is_comparable(account: Account | None, measured: Coverage | None) -> bool:
    """Returns whether a measurement can be compared with an account, because the same runner measured both."""
    return account is not None and measured is not None and measured.by == account.by


def count_strict(account: Account | None, measured: Coverage) -> Account:
    """Returns the account after a commit of strict mode: the measured coverage, and a baseline above it by the debt
    that is left.

    A measurement by another runner begins a new account, unless there is debt, which another runner cannot reduce.
    """
    if account is None or (not is_comparable(account, measured) and not account.debt):
        return Account(measured.by, measured.points, measured.points)
    if not is_comparable(account, measured):
        return account
    gained = max(0.0, measured.points - account.now)
    left = max(0.0, account.debt - gained)
    return Account(account.by, round(measured.points + left, EXACT), measured.points)


def count_explore(account: Account, measured: Coverage) -> Account:
    """Returns the account after, or at, a commit of explore mode; its baseline stays the same."""
    return replace(account, now=measured.points) if is_comparable(account, measured) else account


def count_measurement(account: Account, measured: Coverage, thresholds: Thresholds, *, is_committed: bool) -> Account:
    """Returns the account after a run without a commit. If the measured code is committed, it counts as in a commit;
    if it is not, it can only end a lock, and makes no debt.
    """
    found = count_explore(account, measured)
    wins_back = standing_of(account, thresholds) is Standing.LOCKED and found.debt <= thresholds.lock
    return found if is_committed or wins_back else account


def describe_cost(account: Account, measured: Coverage, thresholds: Thresholds) -> tuple[str, str]:
    """Returns why a commit of explore mode costs too much coverage, and what the person can do to make it."""
    debt, needed = count_explore(account, measured).debt, _needed(account, thresholds)
    why = (
        f"coverage by {account.by} is {measured.points:.1f} %, the baseline {account.baseline:.1f} %: a debt of "
        f"{debt:.1f} points, and at most {thresholds.lock:g} are allowed"
    )
    return why, f"write tests that bring coverage to {needed:.1f} % or more, run all tests with `coverage`, then commit"


def _needed(account: Account, thresholds: Thresholds) -> float:
    return max(0.0, account.baseline - thresholds.lock)


def opening(account: Account, thresholds: Thresholds) -> str:
    """Returns a sentence that says what unlocks explore mode."""
    needed = _needed(account, thresholds)
    return (
        f"write tests in strict mode (`/strict`) that bring coverage from {account.now:.1f} % back to "
        f"{needed:.1f} % or more, and run all tests with `coverage`: the lock ends with that run"
    )


def describe_account(account: Account | None, thresholds: Thresholds) -> str:
    """Returns a sentence that says how the debt compares with the budget."""
    if account is None:
        return "there is no budget yet: the first commit of strict mode whose tests were run with `coverage` sets it"
    figures = f"coverage by {account.by} is {account.now:.1f} %, the baseline {account.baseline:.1f} %"
    match standing_of(account, thresholds):
        case Standing.LOCKED:
            return f"{figures}: explore mode is locked at a debt of {account.debt:.1f} points"
        case Standing.WARNING:
            left = thresholds.lock - account.debt
            return f"{figures}: a debt of {account.debt:.1f} points; explore mode is locked after {left:.1f} more"
        case Standing.WITHIN | Standing.NOT_MEASURED:
            return f"{figures}: a debt of {account.debt:.1f} points, within budget"


def tell_budget(account: Account | None, thresholds: Thresholds) -> tuple[str, ...]:
    """Returns a sentence about the budget and, if explore mode is locked, one that says what unlocks it."""
    told = describe_account(account, thresholds)
    if account is None or standing_of(account, thresholds) is not Standing.LOCKED:
        return (told,)
    return (told, f"to unlock it: {opening(account, thresholds)}")
