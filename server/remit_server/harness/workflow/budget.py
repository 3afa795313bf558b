"""Holds explore mode to the coverage budget, and counts what each commit does to the budget (FLW-08).

Also reads and writes the workspace's coverage account, a file in the person's state that no tool can write (FLW-08).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from pydantic import Field, ValidationError

from remit_governance.audit.record import AuditKind
from remit_governance.values import Effect
from remit_governance.workflow.debt import (
    Account,
    Coverage,
    Standing,
    count_explore,
    count_measurement,
    count_strict,
    describe_account,
    describe_cost,
    is_comparable,
    opening,
    standing_of,
)
from remit_governance.workflow.states import Mode
from remit_governance.workflow.test_files import CATEGORIES, Category, unfit_paths
from remit_server.contract import ErrorCode, Wire
from remit_server.errors import ToolError
from remit_server.harness.context import CallContext
from remit_server.harness.record.audit_events import append, placed_event
from remit_server.harness.stages.resolve import ResolvedCall
from remit_server.machine.descriptors import closing_fd
from remit_server.tools.spec import Follows

_HELD_EFFECTS = frozenset({Effect.WRITE, Effect.EXECUTE})


def refuse_locked(resolved: ResolvedCall, ctx: CallContext) -> None:
    """Raises ToolError if explore mode is locked and the call would change something. Runs of tests stay possible, so
    do edits of files that need no test first, and a commit is held only for its own cost, in `hold_commit`.
    """
    tool = resolved.tool
    if tool.effect in _HELD_EFFECTS and tool.workflow.follows not in {Follows.TESTS, Follows.COMMIT} and _is_held(ctx):
        refusal = _refusal_if_locked(tool.name, ctx)
        if refusal is None:
            return
        written = [action.path for action in resolved.actions if action.syscall in {"fs.write", "fs.delete"}]
        paths = [path for path in written if path is not None]
        if tool.effect is not Effect.WRITE or not paths or _needs_tests(paths, ctx):
            raise refusal


def refuse_mode(mode: Mode, ctx: CallContext) -> None:
    """Raises ToolError if the session would switch to explore or debug mode while explore mode is locked."""
    if mode is not Mode.STRICT and (refusal := _refusal_if_locked(f"{mode} mode", ctx)):
        raise refusal


def hold_commit(paths: Iterable[str], ctx: CallContext) -> None:
    """Raises ToolError if a commit in explore mode would exceed the budget, before anybody is asked about it.

    A commit that is held adds no debt, because nothing is committed. Files that need no test first cost nothing.
    """
    account = _read(ctx) if _is_held(ctx) else None
    if account is None or not _needs_tests(paths, ctx):
        return
    measured = ctx.turn.memory.measured
    if measured is None or not is_comparable(account, measured):
        raise _not_measured(account, measured)
    thresholds = ctx.parts.workflow().thresholds
    if standing_of(count_explore(account, measured), thresholds) is Standing.LOCKED:
        raise ToolError("`git_commit` was held", *describe_cost(account, measured, thresholds), code=ErrorCode.DENIED)


def count_run(measured: Coverage, ctx: CallContext, *, is_committed: bool) -> None:
    """Counts the coverage that a run of all tests measured, in any mode and for any caller. Raises ToolError."""
    if ctx.parts.coverage_file is None:
        return
    thresholds = ctx.parts.workflow().thresholds

    def change(before: Account | None) -> Account | None:
        return before and count_measurement(before, measured, thresholds, is_committed=is_committed)

    _update(change, ctx)


def count_commit(paths: Iterable[str], ctx: CallContext) -> str:
    """Counts a commit that was made; returns a note about the budget, or an empty text. Raises ToolError."""
    position, measured = ctx.turn.memory.position, ctx.turn.memory.measured
    if ctx.parts.coverage_file is None or ctx.turn.caller == "human" or position.is_exempt:
        return ""
    strict = position.mode is Mode.STRICT
    if measured is None:
        why = "coverage was not measured since the last change, so the budget stays as it is"
        return "" if _read(ctx) is None else why
    if not strict and not (is_comparable(_read(ctx), measured) and _needs_tests(paths, ctx)):
        return ""
    account = _count(measured, ctx)
    return f"budget: {describe_account(account, ctx.parts.workflow().thresholds)}"


def _count(measured: Coverage, ctx: CallContext) -> Account | None:
    """Counts the coverage of a commit by the rules of the session's mode; returns the account."""
    strict = ctx.turn.memory.position.mode is Mode.STRICT

    def change(before: Account | None) -> Account | None:
        return count_strict(before, measured) if strict else before and count_explore(before, measured)

    return _update(change, ctx)


def _update(change: Callable[[Account | None], Account | None], ctx: CallContext) -> Account | None:
    """Changes the account and returns it; the change is audited before the file is written. Raises ToolError."""
    assert ctx.parts.coverage_file is not None

    def recorded(before: Account | None) -> Account | None:
        after = change(before)
        if after is not None and after != before:
            _record(before, after, ctx)
        return after

    return update_account(ctx.parts.coverage_file, recorded)


def _record(before: Account | None, after: Account, ctx: CallContext) -> None:
    turn, thresholds = ctx.turn, ctx.parts.workflow().thresholds
    metadata = {
        "by": after.by,
        "baseline": f"{after.baseline:g}",
        "now": f"{after.now:g}",
        "debt": f"{after.debt:g}",
        "from": standing_of(before, thresholds).value,
        "to": standing_of(after, thresholds).value,
    }
    append(ctx.parts.audit, placed_event(AuditKind.BUDGET_UPDATE, turn, turn.memory.position, metadata))


def _is_held(ctx: CallContext) -> bool:
    """Returns whether the budget applies to this call: not a person's, in explore or debug mode, without an
    exemption."""
    position = ctx.turn.memory.position
    return ctx.turn.caller != "human" and position.mode is not Mode.STRICT and not position.is_exempt


def _needs_tests(paths: Iterable[str], ctx: CallContext) -> bool:
    """Returns whether one of the files needs a test first, because it fits no category of files that need none."""
    globs = ctx.parts.rulebook.policy.exemptions
    costless: list[Category] = [category for category in CATEGORIES if category != "type_refactor"]
    return any(all(unfit_paths(category, (path,), globs) for category in costless) for path in paths)


def _read(ctx: CallContext) -> Account | None:
    return None if ctx.parts.coverage_file is None else read_account(ctx.parts.coverage_file)


def _refusal_if_locked(what: str, ctx: CallContext) -> ToolError | None:
    """Returns the refusal of `what` if explore mode is locked, else None."""
    account = _read(ctx)
    if account is None:
        return None
    thresholds = ctx.parts.workflow().thresholds
    if standing_of(account, thresholds) is not Standing.LOCKED:
        return None
    why, fix = describe_account(account, thresholds), opening(account, thresholds)
    return ToolError(f"`{what}` was held", why, fix, code=ErrorCode.DENIED)


def _not_measured(account: Account, measured: Coverage | None) -> ToolError:
    why = (
        "coverage was not measured since the last change"
        if measured is None
        else f"coverage was measured by {measured.by}, and the baseline by {account.by}: the two cannot be compared"
    )
    fix = f"run all tests with {account.by} and `coverage`, then commit; a commit in strict mode needs no comparison"
    return ToolError("`git_commit` was held", why, fix, code=ErrorCode.DENIED)


MAX_BYTES = 4096


class AccountForm(Wire):
    """The contents of the account's file, as JSON."""

    by: str = Field(min_length=1, max_length=100)
    baseline: float = Field(ge=0, le=100)
    now: float = Field(ge=0, le=100)


def read_account(file: Path) -> Account | None:
    """Returns the account, or None if no commit in strict mode has measured coverage yet. Raises ToolError."""
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(file, (error.strerror or type(error).__name__).lower()) from error
    try:
        form = AccountForm.model_validate_json(data)
    except ValidationError as error:
        raise _unusable(file, f"it is not an account of coverage: {error.errors()[0]['msg'].lower()}") from error
    return Account(form.by, form.baseline, form.now)


def update_account(file: Path, change: Callable[[Account | None], Account | None]) -> Account | None:
    """Replaces the account by the result of `change`, under a lock against other processes; returns the new account.

    Raises ToolError."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with closing_fd(os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as folder:
            fcntl.flock(folder, fcntl.LOCK_EX)
            before = read_account(file)
            after = change(before)
            if after is not None and after != before:
                temporary = file.with_name(f".{file.name}.new")
                temporary.write_text(AccountForm(**asdict(after)).model_dump_json(), encoding="utf-8")
                temporary.replace(file)
            return after
    except OSError as error:
        raise _unusable(file, (error.strerror or type(error).__name__).lower()) from error


def _unusable(file: Path, why: str) -> ToolError:
    fix = f"the person can fix or delete `{file}`; without it a new baseline is set"
    return ToolError("the coverage budget cannot be used", why, fix, code=ErrorCode.DENIED)
