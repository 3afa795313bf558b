"""`review_work`: the person's answer to work under review: it may be committed, goes back (FLW-10), or needs tests
first (FLW-14)."""

from __future__ import annotations

import asyncio
from typing import Literal

from remit_governance.values import Effect
from remit_governance.workflow.states import State
from remit_server.counted import list_some
from remit_server.errors import ToolError
from remit_server.tools.git.git_commit import commit_of_all
from remit_server.tools.git.git_repository import quote_path
from remit_server.tools.spec import (
    Arguments,
    CommitPlan,
    Follows,
    InWorkflow,
    Outcome,
    Plan,
    ReadPlan,
    Reviewed,
    Tool,
    ToolContext,
)
from remit_server.tools.targets import session_targets

MOST_NAMED = 10


class ReviewWorkArguments(Arguments):
    """Arguments of `review_work`."""

    answer: Literal["approve", "reject", "tests"]


async def _prepare(arguments: ReviewWorkArguments, ctx: ToolContext) -> Plan:
    async def run() -> Outcome:
        said = {"approve": "approved", "reject": "rejected", "tests": "put off: tests come first"}[arguments.answer]
        commit = await asyncio.to_thread(_whole_commit, ctx) if arguments.answer == "approve" else None
        trees = frozenset[str]() if commit is None else frozenset({commit.tree})
        of = "" if commit is None else f", for a commit of all of {_names(commit)}"
        told = f"review {said}{of}"
        return Outcome(f"the review is {said}{of}", told, data={"trees": [*trees]}, facts=Reviewed(trees))

    return ReadPlan(run)


def _whole_commit(ctx: ToolContext) -> CommitPlan | None:
    """Returns the commit of all files as they are now, which is what the person reviewed; None if there can be none."""
    try:
        return commit_of_all(ctx)
    except ToolError:  # the commit itself will say why, and ask
        return None


def _names(commit: CommitPlan) -> str:
    return list_some([quote_path(change.path.relative) for change in commit.changes], MOST_NAMED)


REVIEW_WORK = Tool(
    name="review_work",
    summary="Approve work under review, so that it may be committed, send it back, or ask for tests first.",
    effect=Effect.CONTROL,
    arguments=ReviewWorkArguments,
    targets=session_targets("workflow.review"),
    prepare=_prepare,
    only_resolves=True,
    person_only=True,
    workflow=InWorkflow(Follows.REVIEW, frozenset({State.REVIEWING, State.COMMITTING, State.RETROACTIVE_TESTING})),
)
