"""`delegate`: hands a piece of work to a sub-agent, with at most the authority that the arguments leave it (AGT-16).

The call itself touches nothing, and is judged as listing the workspace's folder; each call of the sub-agent is judged
separately.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from remit_governance.authority import Wanted, roots_of
from remit_governance.hosts import parse_endpoint
from remit_governance.policy.matching.paths import glob_fault
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Effect, Intent
from remit_server.tools.spec import Arguments, DelegatePlan, Plan, Target, Tool, ToolContext

MOST_GLOBS, MOST_HOSTS = 50, 50
MOST_CHARS = 8_000
"""Limit for a result, in characters."""

_LOOKING = frozenset({Intent.ANALYZE, Intent.DEBUG, Intent.READ_FILE})
"""Intents that change nothing, so that sub-agents with only these can run at the same time."""


def _glob(glob: str) -> str:
    if (fault := glob_fault(glob)) is not None:
        raise ValueError(f"`{shorten(glob, 100)}` matches no path: {fault}")
    return glob


def _intent(name: str) -> str:
    if name not in Intent.__members__:
        raise ValueError(f"`{shorten(name, 100)}` is not an intent: use {', '.join(Intent)}")
    return name


def _host(host: str) -> str:
    return str(parse_endpoint(host))


class DelegateArguments(Arguments):
    """Arguments of `delegate`. Intents are plain texts, for a list of them all would cost every prompt."""

    work: str = Field(min_length=1, max_length=8_000)
    intents: tuple[Annotated[str, AfterValidator(_intent)], ...] | None = Field(
        default=None, strict=False, min_length=1, max_length=len(Intent)
    )
    paths: tuple[Annotated[str, AfterValidator(_glob)], ...] | None = Field(
        default=None, strict=False, min_length=1, max_length=MOST_GLOBS, description="globs"
    )
    hosts: tuple[Annotated[str, AfterValidator(_host)], ...] | None = Field(
        default=None, strict=False, max_length=MOST_HOSTS
    )
    max_steps: int | None = Field(default=None, ge=1, le=1_000)
    max_tokens: int | None = Field(default=None, ge=1, le=100_000_000)

    @property
    def wanted(self) -> Wanted:
        """The part of the caller's authority that the sub-agent gets."""
        return Wanted(
            intents=None if self.intents is None else frozenset(map(Intent, self.intents)),
            paths=self.paths,
            hosts=None if self.hosts is None else frozenset(self.hosts),
            steps=self.max_steps,
            tokens=self.max_tokens,
        )


def _targets(arguments: DelegateArguments, ctx: ToolContext) -> tuple[Target, ...]:
    del arguments
    return (Target("fs.list", path=ctx.resolve(".")),)  # each call needs something to judge


def _may_touch(arguments: DelegateArguments, ctx: ToolContext) -> tuple[Target, ...]:
    syscall = "fs.read" if arguments.intents and _LOOKING.issuperset(arguments.intents) else "fs.write"
    return tuple(Target(syscall, ctx.resolve(root)) for root in roots_of(arguments.paths or (".",)))


async def _prepare(arguments: DelegateArguments, ctx: ToolContext) -> Plan:
    del ctx
    return DelegatePlan(arguments.work, arguments.wanted)


DELEGATE = Tool(
    name="delegate",
    summary="Hand a self-contained piece of work to a sub-agent, which is told `work` alone and answers you. The other "
    "arguments leave it less than you have; with `paths` it runs no command.",
    effect=Effect.CONTROL,
    arguments=DelegateArguments,
    targets=_targets,
    prepare=_prepare,
    most_chars=MOST_CHARS,
    only_resolves=True,
    drop_rank=-1,
    may_touch=_may_touch,
    delegates=True,
)
