"""Stage 5a: what a commit has to meet before anybody is asked about it: the coverage budget (FLW-08), and the review of
work in strict mode.

A person has to review, for example, files that others changed too, and files that were changed before the test failed:
in another mode, or under an exemption that is not for them (FLW-10).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from remit_governance.permissions.permissions import Answer
from remit_governance.policy.language.load import default_source
from remit_governance.values import Decision, Verdict
from remit_governance.workflow.position import Position
from remit_governance.workflow.proof.alone import proven_as_committed
from remit_governance.workflow.proof.runs import name_some
from remit_governance.workflow.review import (
    CommitFacts,
    is_approved,
    is_review,
    reasons_of_difference,
    reasons_to_look,
)
from remit_governance.workflow.states import Mode, State
from remit_governance.workflow.test_files import locked_files
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.approval.review import unified
from remit_server.harness.context import CallContext
from remit_server.harness.judgement import action_for, decide_actions
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.prepare import Prepared
from remit_server.harness.workflow.budget import hold_commit
from remit_server.harness.workflow.moves import propose_commit
from remit_server.harness.workflow.tested_files import paths_left_out, plan_of_all, texts_before, untested_paths
from remit_server.tools.edit.write_file import WRITE_FILE
from remit_server.tools.spec import CommitPlan, FileChange
from remit_server.workspace.content.files import digest_of
from remit_server.workspace.history import PastChange, PastTurn

PACKAGED_RULE = "commit"
"""The packaged rule that requires a review of commits."""
UNTESTED = "no test was run since the last change"
OTHER_FILES = "it is not exactly what you reviewed"


async def review_commit(prepared: Prepared, ctx: CallContext, record: CallRecord) -> Prepared:
    """Returns a commit with the reasons why the person has to look at it, or as allowed without a question; any other
    call as it is.

    The criteria, or an approved review of exactly these files, replace only the question of the packaged rule.
    Questions of the person's own rules are still asked. Raises ToolError (`denied`) if the coverage budget forbids the
    commit.
    """
    plan, position = prepared.proposal.plan, ctx.turn.memory.position
    if not isinstance(plan, CommitPlan):
        return prepared
    hold_commit([change.path.relative for change in plan.changes], ctx)
    if ctx.turn.caller == "human":
        return prepared
    _hold_to_tests(plan, position, ctx)
    strict = position.mode is Mode.STRICT
    facts = await asyncio.to_thread(_look_at, plan, ctx)
    if is_approved(position, plan.tree) and not (strict and reasons_of_difference(facts)):
        return _without_question(prepared, "the review of exactly these files was approved", record)
    if not strict:
        proposed = not ctx.turn.dry_run and propose_commit(ctx.turn, ctx.parts.audit)
        untested = proposed or (position.state is State.REVIEWING and bool(facts.untested))
        return replace(prepared, remarks=(UNTESTED,)) if untested else prepared
    return _review_strict(prepared, facts, position, ctx, record)


def _hold_to_tests(plan: CommitPlan, position: Position, ctx: CallContext) -> None:
    """Raises ToolError if only tests are under review and the commit has more than new test files (FLW-16)."""
    if not position.is_tests_alone or position.before is None:
        return
    is_test, there = locked_files(ctx.parts.rulebook.policy.test_globs), position.before.texts
    other = [
        change.path.relative
        for change in plan.changes
        if change.before is not None or change.after is None or change.path.relative in there
        or not is_test(change.path.relative)
    ]  # fmt: skip
    if other:
        why = f"no test has failed, so it may hold only new test files, and these are not: {name_some(other)}"
        fix = "name the new files of tests in `paths`; the person can commit the rest"
        raise ToolError("`git_commit` was held", why, fix, code=ErrorCode.DENIED)


def _review_strict(
    prepared: Prepared, facts: CommitFacts, position: Position, ctx: CallContext, record: CallRecord
) -> Prepared:
    if not is_review(position):
        # The approved review was of other files, or its commit could not be made.
        return replace(prepared, review=(OTHER_FILES, *reasons_of_difference(facts)))
    reasons = reasons_to_look(facts, ctx.parts.workflow())
    if reasons:
        return replace(prepared, review=reasons)
    return _without_question(prepared, "the commit meets every criterion of `git.auto_commit`", record)


def _without_question(prepared: Prepared, why: str, record: CallRecord) -> Prepared:
    judgement = prepared.judgement
    if not judgement.asks or not all(map(_is_allowed_or_packaged, judgement.decisions)):
        return prepared
    judgement = replace(judgement, answer=Answer("allow", why, "workflow"))
    record.note_judgement(judgement)
    return replace(prepared, judgement=judgement)


def _is_allowed_or_packaged(decision: Decision) -> bool:
    asking = [reason for reason in decision.reasons if reason.verdict is not Verdict.ALLOW]
    return all(reason.file == _packaged() and reason.rule == PACKAGED_RULE for reason in asking)


@cache
def _packaged() -> str:
    return default_source().file


def _look_at(plan: CommitPlan, ctx: CallContext) -> CommitFacts:
    counted = {change.path.relative: _count_lines(change) for change in plan.changes}
    position = ctx.turn.memory.position
    strict = position.mode is Mode.STRICT  # other modes do not need `left_out`, which takes a look at every file
    everything = plan_of_all(ctx) if strict else None
    left_out = tuple(paths_left_out(plan, everything, position.passed_with)) if strict else ()
    # Under an exemption no test has failed first, and a file that configures tests may leave out those that would fail.
    decides_runs = locked_files(ctx.parts.rulebook.policy.test_globs) if position.is_exempt else _never
    foreign = foreign_paths(plan.changes, ctx.turn.history.turns())
    own = [change for change in plan.changes if change.path.relative not in foreign]
    return CommitFacts(
        lines=sum(lines or 0 for lines in counted.values()),
        sensitive=tuple(path for path in counted if decides_runs(path) or _is_sensitive(path, ctx)),
        unreadable=tuple(path for path, lines in counted.items() if lines is None),
        untested=untested_paths(plan.changes, position.passed_with),
        left_out=left_out,
        foreign=foreign,
        unproven=unproven_paths(own, position, ctx) if strict else (),
        is_tested=not left_out and plan.tree == position.tree,
        failing=position.failing,
        is_alone=position.is_tests_alone,
        old=_old_tests(everything, position),
    )


def _old_tests(everything: CommitPlan | None, position: Position) -> tuple[str, ...]:
    """Returns the tests that failed before the code was written, if the last commit has all of them, else none."""
    red = position.red
    return () if red is None or everything is None else proven_as_committed(red, texts_before(everything, red.locked))


def _never(path: str) -> bool:
    del path
    return False


def _count_lines(change: FileChange) -> int | None:
    """Returns how many lines are removed and added, or None if a diff cannot show that."""
    lines = unified(change).splitlines()
    if not any(line.startswith("@@") for line in lines):
        return None if change.before is None or change.before.data != change.after else 0
    return sum(line[:1] in {"+", "-"} for line in lines[2:])


def _is_sensitive(path: str, ctx: CallContext) -> bool:
    """Returns whether any rule denies reading or writing the file, or a rule that is not packaged wants it reviewed."""
    actions = [
        replace(
            action_for(ctx.turn, WRITE_FILE.name, syscall, path), mode=Mode.EXPLORE.value, state=State.EXPLORING.value
        )
        for syscall in ("fs.read", "fs.write")
    ]
    decisions = decide_actions(ctx.parts.rulebook.policy, actions)
    reasons = (reason for decision in decisions for reason in decision.reasons)
    return any(
        reason.verdict is Verdict.DENY or (reason.verdict is Verdict.REQUIRE_REVIEW and reason.file != _packaged())
        for reason in reasons
    )


_Step = tuple[str | None, str | None]
"""The digests of a file before and after a change of the session; None means that there was no file."""


def foreign_paths(changes: Iterable[FileChange], turns: Sequence[PastTurn]) -> tuple[str, ...]:
    """Returns the files of a commit that the session did not change alone: somebody else changed them at any time since
    the last commit, or the session never changed them.
    """
    steps: dict[str, list[_Step]] = {}
    for path, step in _steps(turns):
        steps.setdefault(path, []).append(step)
    return tuple(change.path.relative for change in changes if not _is_own(change, steps))


def _steps(turns: Sequence[PastTurn]) -> Iterator[tuple[str, _Step]]:
    for change in (change for turn in turns for change in turn.changes):
        if change.moved_from is None:
            yield change.path, (change.before, change.after)
        else:
            yield change.moved_from, (change.before, None)
            yield change.path, (None, change.after)


def _is_own(change: FileChange, steps: dict[str, list[_Step]]) -> bool:
    """Returns whether an unbroken chain of the session's changes leads from the last commit's bytes to these bytes."""
    committed = None if change.before is None else change.before.digest
    wanted = None if change.after is None else digest_of(change.after)
    for before, after in reversed(steps.get(change.path.relative, [])):
        if after != wanted:
            return False
        if before == committed:
            return True
        wanted = before
    return False


def unproven_paths(changes: Iterable[FileChange], position: Position, ctx: CallContext) -> tuple[str, ...]:
    """Returns the files of a commit, except test files, that already differed from the last commit when the tests
    failed; files of which that is not known count too. Under an exemption, returns all files that it is not for.
    """
    if position.exemption is not None:
        return tuple(path for path in map(_path, changes) if path not in position.exemption.paths)
    if position.red is None:
        return ()
    is_test = locked_files(ctx.parts.rulebook.policy.test_globs)
    since = ctx.turn.history.changes_since(position.red.since)
    return tuple(_path(each) for each in changes if not is_test(_path(each)) and not _is_proven(each, since))


def _path(change: FileChange) -> str:
    return change.path.relative


def _is_proven(change: FileChange, since: Sequence[PastChange] | None) -> bool:
    """Returns whether a file was the same as in the last commit when the tests failed, so that every difference was
    made after that."""
    committed = None if change.before is None else change.before.digest
    path = _path(change)
    first = next((each for each in since or () if path in {each.path, each.moved_from}), None)
    if first is None:
        return False
    moved_here = first.moved_from is not None and first.moved_from != path
    return committed == (None if moved_here else first.before)
