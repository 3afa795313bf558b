"""Stage 7: mints a permit for exactly what was judged, and audits that the call is about to run. Nothing runs
before."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from remit_governance.capabilities import DEFAULT_TTL_S
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.harness.approval.proposal import Proposal
from remit_server.harness.context import CallContext
from remit_server.harness.judgement import Judgement, actions_now, decide_actions
from remit_server.harness.permit import LONGEST_TURN_S, Permit, permitted
from remit_server.harness.record.call_record import CallRecord
from remit_server.harness.stages.approve import Approved
from remit_server.tools.spec import CommandPlan, DelegatePlan, StartPlan


@dataclass(frozen=True, slots=True)
class Authorised:
    """A plan with its permit, which is in force until the call has ended."""

    proposal: Proposal
    judgement: Judgement
    permit: Permit


def moved_on(name: str) -> ToolError:
    """Returns the refusal of a call that was judged in another state of the workflow."""
    why = "the workflow has moved on since it was judged"
    return ToolError(f"`{name}` was not done", why, "make the call again", code=ErrorCode.STALE, retryable=True)


@contextmanager
def authorise(approved: Approved, ctx: CallContext, record: CallRecord) -> Generator[Authorised]:
    """Mints the call's permit, audits that the call is going to run, and spends the permit; revokes it at the end.

    Raises ToolError: `stale` if the policy in force is no longer the one that judged, or if the workflow has moved to a
    state in which the call is judged differently; `audit_broken`.
    """
    judgement = approved.judgement
    if judgement.actions != (now := actions_now(judgement.actions, ctx.turn)):
        decisions = decide_actions(ctx.parts.rulebook.policy, now)
        if [each.verdict for each in decisions] != [each.verdict for each in judgement.decisions]:
            raise moved_on(approved.proposal.name)
    rulebook = ctx.parts.rulebook
    plan = approved.proposal.plan
    with permitted(
        rulebook,
        judgement.pairs,
        judgement.policy_version,
        record,
        approved=approved.reviewed,
        ttl_s=LONGEST_TURN_S if isinstance(plan, CommandPlan | StartPlan | DelegatePlan) else DEFAULT_TTL_S,
        begin=record.record_start,
    ) as permit:
        yield Authorised(approved.proposal, judgement, permit)
