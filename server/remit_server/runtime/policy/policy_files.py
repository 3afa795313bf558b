"""The texts of the policy files, and policies made of them before they are in force (POL-11)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from remit_governance.audit.log.unfinished_calls import ELSEWHERE
from remit_governance.audit.reading.query import AuditFilter, latest_audit
from remit_governance.audit.record import AuditKind
from remit_governance.errors import AuditError, PolicyError
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.load import (
    agent_tools_source,
    default_source,
    hook_default_source,
    is_given,
    read_source,
    workflow_source,
)
from remit_governance.policy.matching.paths import FOLDS_CASE
from remit_governance.policy.review.replay import PastCalls, past_calls
from remit_governance.policy.rules import Policy
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.runtime.settings import Settings

LOOKED_BACK = 20_000
"""Calls among which those are looked for that can be judged anew."""


def sources(settings: Settings, instead: Source | None = None, *, hooks: bool = False) -> tuple[Source, ...]:
    """The texts that make the policy: those of `own_sources`, and the rules of the workflow; with `hooks`, those for
    another agent's calls.

    Raises PolicyError.
    """
    more = (agent_tools_source(),) if hooks else ()
    return (*own_sources(settings, instead, hooks=hooks), workflow_source(), *more)


def own_sources(settings: Settings, instead: Source | None = None, *, hooks: bool = False) -> tuple[Source, ...]:
    """The texts that somebody wrote for this workspace: the person's own (or the packaged default), then the project's.

    `instead` takes the place of one of the two, as its `project` says. Raises PolicyError.
    """
    if instead is not None and not instead.project:
        person = instead
    elif is_given(settings.person_policy):
        person = read_source(settings.person_policy)
    else:
        person = hook_default_source() if hooks else default_source()
    if instead is not None and instead.project:
        return person, instead
    if is_given(settings.project_policy):
        return person, read_source(settings.project_policy, project=True)
    return (person,)


def compile_texts(settings: Settings, texts: Sequence[Source], beside: Policy) -> Policy:
    """The policy of these texts, with what `beside` has besides: extension rules, work items, rows of programs.

    Raises PolicyError.
    """
    policy = compile_policy(texts, FOLDS_CASE, settings.own_paths, beside.work_items, beside.programs)
    return replace(policy, extension=beside.extension)


def read_past_calls(database: Path, last: int) -> PastCalls:
    """The last calls of a log that can be judged anew; none where nothing was recorded. Raises SetupError."""
    if not database.exists():
        return PastCalls()
    try:
        with closing(latest_audit(database, AuditFilter(kind=AuditKind.TOOL_INTENT))) as newest_first:
            # Another agent's calls are judged by another default.
            own = (record for record in newest_first if ELSEWHERE not in record.event.metadata)
            return past_calls(islice(own, LOOKED_BACK), last)
    except AuditError as error:
        raise SetupError(error.what, error.why, error.fix, code=ErrorCode.AUDIT_BROKEN) from error


@contextmanager
def as_setup_error() -> Generator[None]:
    """A policy that cannot be used, as an error of a command."""
    try:
        yield
    except PolicyError as error:
        raise SetupError(error.what, error.why, error.fix, code=ErrorCode.POLICY_INVALID) from error
