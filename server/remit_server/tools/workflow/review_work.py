"""`review_work`: the person's answer to work that is under review: it may be committed, or goes back (FLW-10), or
tests come first (FLW-14)."""

from __future__ import annotations

import asyncio
from typing import Literal

from pydantic import JsonValue

from remit_governance.values import Effect
from remit_server.errors import ToolError
from remit_server.tools.git.git_commit import GitCommitArguments, commit_plan
from remit_server.tools.spec import Arguments, Outcome, Plan, ReadPlan, Target, Tool, ToolContext


class ReviewWorkArguments(Arguments):
    """Arguments of `review_work`."""

    answer: Literal["approve", "reject", "tests"]


def _targets(arguments: ReviewWorkArguments, ctx: ToolContext) -> tuple[Target, ...]:
    del arguments, ctx
    return (Target("workflow.review"),)


async def _prepare(arguments: ReviewWorkArguments, ctx: ToolContext) -> Plan:
    async def run() -> Outcome:
        said = {"approve": "approved", "reject": "rejected", "tests": "put off: tests come first"}[arguments.answer]
        trees = await asyncio.to_thread(_trees, ctx) if arguments.answer == "approve" else []
        return Outcome(f"the review is {said}", f"review {said}", data={"trees": trees})

    return ReadPlan(run)


def _trees(ctx: ToolContext) -> list[JsonValue]:
    """The trees that a commit of these files would have, with and without new files; none where none can be made."""
    found: list[JsonValue] = []
    for everything in (False, True):
        try:
            found.append(commit_plan(GitCommitArguments(message="review", all=everything), ctx).tree)
        except ToolError:  # then the commit itself says why, and asks
            continue
    return found


REVIEW_WORK = Tool(
    name="review_work",
    summary="Approve work under review, so that it may be committed, send it back, or ask for tests first.",
    effect=Effect.CONTROL,
    arguments=ReviewWorkArguments,
    targets=_targets,
    prepare=_prepare,
    only_resolves=True,
    person_only=True,
)
