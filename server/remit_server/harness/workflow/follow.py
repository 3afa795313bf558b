"""Moves the workflow on around a call that may run: before the call, and by its outcome (FLW-06)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import assert_never

from remit_governance.workflow.debt import Coverage
from remit_governance.workflow.position import Position, describe
from remit_governance.workflow.proof.alone import (
    describe_written,
    failing_as_committed,
    prove_alone,
    proven_as_committed,
    tests_written,
)
from remit_governance.workflow.proof.runs import (
    NotProven,
    Red,
    TestFiles,
    TestRun,
    failing_again,
    name_some,
    prove_green,
    prove_passing,
    prove_red,
)
from remit_governance.workflow.states import Held, Mode, State, Trigger
from remit_governance.workflow.test_files import Exemption, data_of_tests, locked_files, unfit_paths
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.approval.proposal import Proposal
from remit_server.harness.context import CallContext
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.merge import Merged
from remit_server.harness.stages.resolve import make_tool_context
from remit_server.harness.turn import Turn
from remit_server.harness.workflow.budget import count_commit, count_run, refuse_mode
from remit_server.harness.workflow.moves import move, set_mode
from remit_server.harness.workflow.run_report import read_coverage, read_run
from remit_server.harness.workflow.tested_files import Tested, digest_tested, is_committed, snapshot_tests
from remit_server.harness.workflow.unsaved import name_unsaved
from remit_server.tools.code.types_only.compare import cannot_compare
from remit_server.tools.run.run_tests import RunTestsArguments
from remit_server.tools.spec import AnyTool, CommitPlan, Follows, Reviewed, ToExempt
from remit_server.tools.workflow.review_work import ReviewWorkArguments
from remit_server.tools.workflow.revise_tests import REVISE_TESTS, take_back_code
from remit_server.tools.workflow.set_mode import SetModeArguments
from remit_server.tools.workflow.workflow_request_exemption import ExemptionArguments
from remit_server.workspace.trees.ignore_layers import find_ignored

UNPROVEN = "this proves nothing yet"
_WRITING = frozenset({State.CODE_WRITING, State.EXPLORING, State.RETROACTIVE_TESTING})


@dataclass(frozen=True, slots=True)
class Begun:
    """What was known when a call began: for a run of tests, the test files (in strict mode) and the tested files; for a
    commit, the paths that it changes.
    """

    tests: TestFiles | None = None
    tested: Tested | None = None
    committed: tuple[str, ...] = ()


@asynccontextmanager
async def following(proposal: Proposal, ctx: CallContext) -> AsyncGenerator[Begun]:
    """Moves the workflow on before the call runs. If a run of tests is cut short, leaves `validating` again. Raises
    ToolError."""
    audit, turn = ctx.parts.audit, ctx.turn
    match proposal.tool.workflow.follows:
        case Follows.TESTS:
            begun = Begun(await _snapshot(ctx), await _digest_first(ctx))
            _leave_review_if_changed(begun.tested, ctx)
            move(Trigger.TESTS_STARTED, turn, audit)
        case Follows.COMMIT:
            assert isinstance(proposal.plan, CommitPlan)
            begun = Begun(committed=tuple(change.path.relative for change in proposal.plan.changes))
            move(Trigger.APPROVED, turn, audit)
        case _:
            begun = Begun()
    try:
        yield begun
    except BaseException:
        if turn.memory.position.state is State.VALIDATING:
            move(Trigger.TESTS_ENDED, turn, audit)
        raise


async def follow_outcome(
    merged: Merged, begun: Begun, proposal: Proposal, ctx: CallContext, record: CallRecord
) -> Merged:
    """Moves the workflow on by the call's outcome, and adds notes to its result. Raises ToolError if a control tool is
    held."""
    before, follows = ctx.turn.memory.position.state, proposal.tool.workflow.follows
    said = await _move_on(merged, begun, proposal, ctx)
    unsaved = await name_unsaved(ctx) if follows is Follows.TESTS else ""
    if record.changed:
        note_changes(ctx, by_run=follows is Follows.TESTS)
    if follows is Follows.TESTS:
        # Set `measured` only now, because `note_changes` clears it, and the run's own files are no later change.
        measured = ctx.turn.memory.measured = _measured(merged, proposal, ctx)
        if measured is not None:
            count_run(measured, ctx, is_committed=await asyncio.to_thread(is_committed, ctx))
    said = "; ".join(filter(None, [said, unsaved]))
    moved = ctx.turn.memory.position.state is not before
    notes = [note for note in (said, describe(ctx.turn.memory.position) if moved or said else "") if note]
    tells = ctx.turn.memory.position.mode is Mode.STRICT or follows is Follows.COMMIT or bool(unsaved)
    if not notes or not tells:
        return merged
    summary = "; ".join([merged.outcome.summary, *([said] if said else [])])
    return replace(
        merged, outcome=replace(merged.outcome, text="\n".join([merged.outcome.text, *notes]), summary=summary)
    )


async def _move_on(merged: Merged, begun: Begun, proposal: Proposal, ctx: CallContext) -> str:
    """Moves the workflow on by the call's outcome; returns a note about it, or an empty text. Raises ToolError if the
    move is held."""
    follows = proposal.tool.workflow.follows
    match follows:
        case Follows.TESTS:
            return await _follow_tests(merged, begun, proposal, ctx)
        case Follows.COMMIT:
            said = count_commit(begun.committed, ctx)
            move(Trigger.COMMITTED, ctx.turn, ctx.parts.audit)
            return said
        case Follows.REVISION:
            _go_on(ctx)
            return await _revise_tests(ctx)
        case Follows.PLAN:
            await _complete_plan(ctx)
        case Follows.EXEMPTION:
            await _exempt(merged, proposal, ctx)
        case Follows.REVIEW:
            _review(merged, proposal, ctx)
        case Follows.MODE:
            assert isinstance(proposal.arguments, SetModeArguments)
            refuse_mode(Mode(proposal.arguments.mode), ctx)
            set_mode(Mode(proposal.arguments.mode), ctx.turn, ctx.parts.audit)
        case None:
            pass
        case _:
            assert_never(follows)
    return ""


async def _snapshot(ctx: CallContext) -> TestFiles | None:
    position = ctx.turn.memory.position
    follows = position.mode is Mode.STRICT and not position.is_exempt
    return await _read_tests(ctx) if follows else None


async def _read_tests(ctx: CallContext) -> TestFiles:
    return await snapshot_tests(ctx.parts.workspace, ctx.parts.rulebook.policy.test_globs)


async def _digest_first(ctx: CallContext) -> Tested | None:
    """Returns the files that are about to be tested. Taken before the run, because what changes during the run was not
    tested."""
    tested_in = {*_WRITING, State.REVIEWING, State.TEST_WRITING}
    return await digest_tested(ctx) if ctx.turn.memory.position.state in tested_in else None


def _leave_review_if_changed(now: Tested | None, ctx: CallContext) -> None:
    """Leaves the review if a file differs from when the tests passed, so that the tests have to pass again."""
    position = ctx.turn.memory.position
    if position.state is State.REVIEWING and now != Tested(position.passed_with, position.tree):
        move(Trigger.REJECTED, ctx.turn, ctx.parts.audit)


async def _follow_tests(merged: Merged, begun: Begun, proposal: Proposal, ctx: CallContext) -> str:
    """Judges a run of tests by what the present state needs proven; returns a note, such as why it proves nothing."""
    assert isinstance(proposal.arguments, RunTestsArguments)
    turn, audit, position = ctx.turn, ctx.parts.audit, ctx.turn.memory.position
    run = read_run(merged.outcome, proposal.arguments, position.mode)
    now = await _snapshot(ctx)
    if begun.tests is not None and now is not None and (moved := await _written(merged, begun.tests, now, ctx)):
        run = replace(run, doubt=moved)
    proof: NotProven | None
    if position.state is State.TEST_WRITING and position.before is not None and now is not None:
        return await _follow_written_tests(run, begun, position.before, now, ctx)
    if position.state is State.REVIEWING and (again := failing_again(run, position.red)):
        move(Trigger.REJECTED, turn, audit)
        return f"with the same files, these tests passed before and fail now: {name_some(again)}"
    if position.state is not State.VALIDATING:
        return ""
    if position.red and now is not None:
        proof = prove_green(run, position.red, now)
    else:
        proof = prove_passing(run, of_all=position.mode is Mode.STRICT)
    tested = begun.tested if proof is None and begun.tested is not None else Tested()
    failing = tuple(sorted({case.id for case in run.cases if case.ending in {"failed", "error"}}))
    move(
        Trigger.TESTS_ENDED,
        turn,
        audit,
        green=proof is None,
        gaining=lambda at: replace(
            at, passed_with=tested.digests, tree=tested.tree, failing=failing if proof is None else ()
        ),
    )
    return "" if proof is None else f"{UNPROVEN}: {proof.why}"


async def _written(merged: Merged, before: TestFiles, now: TestFiles, ctx: CallContext) -> str:
    """Returns a note on test files that differ after a run, or that the run itself wrote; empty if there are none."""
    if differing := before.differing(now):
        return f"test files changed while it ran: {name_some(differing)}"
    is_locked = locked_files(ctx.parts.rulebook.policy.test_globs)
    ignored = await asyncio.to_thread(find_ignored, ctx.parts.workspace, merged.written)
    written = tests_written(merged.written, before, is_locked, ignored)
    return describe_written(written, before) if written else ""


async def _follow_written_tests(run: TestRun, begun: Begun, before: TestFiles, now: TestFiles, ctx: CallContext) -> str:
    """Judges a run in `test_writing`. A failing test opens the code for writing. If all tests pass and only new tests
    of existing code were written, these go to review (FLW-16). A test that already fails as committed opens the code
    too, unless such new tests were written.
    """
    turn, audit = ctx.turn, ctx.parts.audit
    committed = None if begun.tested is None else begun.tested.committed_texts(now)
    proof = prove_red(run, before, now, await turn.history.agent_work(now), committed)
    failing = failing_as_committed(run, now, committed)
    unproven = prove_alone(run, before, now, failing)
    is_handed_over = isinstance(proof, Red) and proof.proven.isdisjoint(failing)
    if begun.tested is not None and unproven is None and not is_handed_over:
        _go_alone(begun.tested, failing, ctx)
        most = f"all tests pass but {name_some(failing)}, as committed" if failing else "all tests pass"
        also = "; to make those pass, delete the new files and run all tests again" if failing else ""
        return f"{most}, and only new test files were written: if that is what is wanted, commit them{also}"
    if isinstance(proof, Red):
        red = replace(proof, since=turn.history.mark())
        await turn.history.keep_tests(now)
        move(Trigger.TESTS_ENDED, turn, audit, red=True, gaining=lambda at: replace(at, red=red))
        return _describe_red(proof, committed)
    is_alone_else = bool(failing) or not run.has_failed
    alone = f"; and for a review of tests alone: {unproven.why}" if unproven and is_alone_else else ""
    return f"{UNPROVEN}: {proof.why}{alone}"


def _describe_red(red: Red, committed: Mapping[str, str] | None) -> str:
    """Returns a note that names the tests that opened the code. If all of them are old, the note says what to do if
    they are not meant."""
    if old := proven_as_committed(red, committed):
        other = "if this is not what has to pass, call revise_tests and write a test that fails"
        return f"red, as committed: {name_some(old)}; {other}"
    return f"red, as it has to be: {name_some(sorted(red.proven))}"


def _go_alone(tested: Tested, failing: tuple[str, ...], ctx: CallContext) -> None:
    move(
        Trigger.TESTS_ENDED,
        ctx.turn,
        ctx.parts.audit,
        tests_alone=True,
        gaining=lambda at: replace(at, passed_with=tested.digests, tree=tested.tree, failing=failing),
    )


def _measured(merged: Merged, proposal: Proposal, ctx: CallContext) -> Coverage | None:
    assert isinstance(proposal.arguments, RunTestsArguments)
    run = read_run(merged.outcome, proposal.arguments, ctx.turn.memory.position.mode)
    return read_coverage(merged.outcome, run)


async def _complete_plan(ctx: CallContext) -> None:
    strict = ctx.turn.memory.position.mode is Mode.STRICT
    before = await _read_tests(ctx) if strict else None
    if before is not None:
        await ctx.turn.history.keep_tests(before)
    _require(Trigger.PLAN_COMPLETED, ctx, lambda at: replace(at, before=before, exemption=None))


async def _exempt(merged: Merged, proposal: Proposal, ctx: CallContext) -> None:
    """Grants an exemption if all its paths fit the category. Raises ToolError if one does not."""
    assert isinstance(proposal.arguments, ExemptionArguments)
    category = proposal.arguments.category
    assert isinstance(merged.outcome.facts, ToExempt)
    paths = merged.outcome.facts.paths
    unfit = unfit_paths(category, paths, ctx.parts.rulebook.policy.exemptions)
    if unfit:
        raise ToolError(
            "the exemption was not granted",
            f"no glob of `{category}` fits {', '.join(f'`{path}`' for path in unfit[:5])}",
            "write a failing test first, or name only files of the category",
            code=ErrorCode.DENIED,
        )
    if data := data_of_tests(category, paths, ctx.parts.rulebook.policy.test_globs):
        raise ToolError(
            "the exemption was not granted",
            f"{name_some([f'`{path}`' for path in data])} belongs to the tests: code is held to what they compare with",
            "change it together with a test that fails, after plan_complete",
            code=ErrorCode.DENIED,
        )
    for path in paths if category == "type_refactor" else ():
        if (why := cannot_compare(path)) is not None:
            fix = "write a failing test first, or name only files whose types can be told apart from what runs"
            raise ToolError("the exemption was not granted", f"`{path}`: {why}", fix, code=ErrorCode.DENIED)
    exemption = Exemption(category, frozenset(paths))
    untouched = await _has_tests_of_plan(ctx)
    _require(Trigger.EXEMPTION_GRANTED, ctx, lambda at: replace(at, exemption=exemption), untouched=untouched)


async def _has_tests_of_plan(ctx: CallContext) -> bool:
    """Returns whether the test files are the same as when the plan was completed."""
    before = ctx.turn.memory.position.before
    return before is not None and not before.differing(await _read_tests(ctx))


async def _revise_tests(ctx: CallContext) -> str:
    """Returns to `test_writing` if all code was taken back. If the person kept some of it, returns a note on what is
    left."""
    looks = make_tool_context(REVISE_TESTS.name, ctx.turn, ctx.parts)
    todo, left = await asyncio.to_thread(take_back_code, looks)
    said = move(
        Trigger.TESTS_REVISED,
        ctx.turn,
        ctx.parts.audit,
        restored=not todo and not left,
        gaining=lambda at: replace(at, red=None, changed=False),
    )
    if not isinstance(said, Held):
        return ""
    stays = ", ".join(change.path.relative for change in todo)
    return f"the tests stay locked: {said.needs}, and this is not yet: {stays or '; '.join(left)}"


def _review(merged: Merged, proposal: Proposal, ctx: CallContext) -> None:
    """Takes the person's answer to the review. Raises ToolError if nothing is under review."""
    assert isinstance(proposal.arguments, ReviewWorkArguments)
    if proposal.arguments.answer == "approve":
        assert isinstance(merged.outcome.facts, Reviewed)
        trees = merged.outcome.facts.trees
        _require(Trigger.APPROVED, ctx, lambda at: replace(at, approved=trees))
        return
    if proposal.arguments.answer == "tests":
        _require(Trigger.TESTS_WANTED, ctx)
        return
    reviewing = ctx.turn.memory.position.state is State.REVIEWING
    _require(Trigger.REJECTED if reviewing else Trigger.RESET, ctx)


def _require(
    trigger: Trigger,
    ctx: CallContext,
    gaining: Callable[[Position], Position] = lambda position: position,
    *,
    untouched: bool = False,
) -> None:
    """Takes a trigger. Raises ToolError if it leads nowhere from the present state, because another call moved
    first."""
    said = move(trigger, ctx.turn, ctx.parts.audit, untouched=untouched, gaining=gaining)
    if isinstance(said, Held):
        why = said.needs or f"the state `{said.state}` has no such step"
        fix = describe(ctx.turn.memory.position)
        raise ToolError("the workflow stays where it is", why, fix, code=ErrorCode.TOOL_UNAVAILABLE)


def _go_on(ctx: CallContext) -> None:
    """Leaves the review to continue the work, if the turn `reopens` it."""
    if ctx.turn.reopens and ctx.turn.memory.position.state is State.REVIEWING:
        move(Trigger.REJECTED, ctx.turn, ctx.parts.audit)
    ctx.turn.reopens = False


def say_what_stays(refusal: ToolError, tool: AnyTool | None, turn: Turn) -> None:
    """Adds to a refusal of `revise_tests` that the tests stay locked (FLW-13)."""
    if (
        tool is not None
        and tool.workflow.follows is Follows.REVISION
        and turn.memory.position.state is State.CODE_WRITING
    ):
        refusal.fix = f"{refusal.fix}; until then the tests stay locked"


def note_changes(ctx: CallContext, *, by_run: bool = False) -> None:
    """Notes that something was written. Outside strict mode, the first change completes the plan, and a change during a
    review or before a commit continues the work. In strict mode, a change during a review continues the work only if
    the person has said more, or if only tests are under review and no run of tests wrote the change.
    """
    turn, audit = ctx.turn, ctx.parts.audit
    turn.memory.measured = None
    if turn.memory.position.mode is not Mode.STRICT:
        if turn.memory.position.state is State.COMMITTING:
            move(Trigger.RESET, turn, audit)
        for trigger in (Trigger.REJECTED, Trigger.MESSAGE, Trigger.PLAN_COMPLETED):
            move(trigger, turn, audit)
    else:
        turn.reopens = turn.reopens or (turn.memory.position.is_tests_alone and not by_run)
        _go_on(ctx)
    if turn.memory.position.state in _WRITING and not turn.memory.position.changed:
        turn.memory.position = replace(turn.memory.position, changed=True)
        turn.history.keep_position(turn.memory.position)
