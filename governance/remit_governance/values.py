"""The values that rules are about: intents, effects, verdicts, actions and decisions (POL-01)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Literal


class Intent(StrEnum):
    """The declaration of a step: what it is about to do (INT-01)."""

    PLAN = "PLAN"
    CODE = "CODE"
    ANALYZE = "ANALYZE"
    DEBUG = "DEBUG"
    WRITE_FILE = "WRITE_FILE"
    READ_FILE = "READ_FILE"
    EXECUTE = "EXECUTE"


SYSCALLS: Mapping[str, str] = MappingProxyType(
    {
        "fs.read": "reading a file",
        "fs.list": "listing a folder",
        "fs.write": "creating, changing, moving or deleting a file",
        "process.exec": "running a command",
        "git.commit": "committing a file to git",
        "net.connect": "letting a command reach a network host",
        "process.read": "reading what a process in the background has printed",
        "process.end": "ending a process in the background",
        "process.publish": "having a port of this machine lead to a process in the background",
        "policy.update": "changing the policy",
        "workflow.plan": "saying that the plan is complete",
        "workflow.exempt": "asking that a file needs no test first",
        "workflow.revise": "taking code back so that a test can be changed",
        "workflow.review": "answering the review of work whose tests pass",
        "session.set_mode": "changing how much of the workflow a session is held to",
        "agent.tool": "a tool of another agent that nothing is known of here, such as one of an MCP server",
        "agent.note": "a tool of another agent that changes nothing beside it, such as its list of things to do",
    }
)
"""The syscalls, which are the kinds of actions that policy judges, each with its description."""

CALLER_TAGS: Mapping[str, str] = MappingProxyType(
    {
        "model": "a model called, Remit's or another agent's",
        "human": "a person called",
        "core_plugin": "a tool that comes with Remit carries it out",
        "trusted_write": "a tool of Remit's that writes exactly what was judged carries it out",
        "third_party": "another agent or a plugin from elsewhere called",
        "own_tool": "a program that the person made a tool of theirs carries it out",
        "sub_agent": "a sub-agent called, which was handed a piece of work",
    }
)
"""The caller tags, each with its meaning; the server assigns them from tables (POL-19)."""


class Effect(StrEnum):
    """An effect of a tool on the world; declared by the tool, used by the intent matrix."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    CONTROL = "control"


class Verdict(IntEnum):
    """A verdict, ordered so that `max` combines several: a deny outranks a review, and a review an allow (POL-01)."""

    PASS = 0
    ALLOW = 1
    REQUIRE_REVIEW = 2
    DENY = 3

    @property
    def word(self) -> str:
        """The verdict as policy files and the wire spell it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Reason:
    """The verdict of one rule on an action, with a code and a message, the rule's layer and name, and its place."""

    code: str
    message: str
    verdict: Verdict
    layer: str
    rule: str | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict with every reason that led to it. A refusal is a value, never an exception."""

    verdict: Verdict
    reasons: tuple[Reason, ...]

    @property
    def allowed(self) -> bool:
        """Whether the verdict is `allow`."""
        return self.verdict is Verdict.ALLOW

    @property
    def deciding(self) -> Reason:
        """The first reason whose verdict is the decision's verdict."""
        return next(r for r in self.reasons if r.verdict is self.verdict)

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules whose verdict is the decision's verdict, in a stable order."""
        return tuple(r.rule for r in self.reasons if r.rule is not None and r.verdict is self.verdict)


def strictest(decisions: Iterable[Decision]) -> Decision:
    """Combines the decisions on the parts of one action: the strictest verdict, with every reason once.

    Raises ValueError if the iterable is empty, because an action without parts has not been judged.
    """
    parts = tuple(decisions)
    return Decision(max(p.verdict for p in parts), tuple(dict.fromkeys(r for p in parts for r in p.reasons)))


Risk = Literal["low", "medium", "high"]
SandboxName = Literal["code-executor", "integration-test"]
"""The sandbox templates that calls run in: `code-executor` has no network, `integration-test` has one."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that is about to happen, as policy sees it (POL-01).

    `path` is relative to the workspace, with `/`, already resolved; `size` is in bytes. `command` is a resolved argv,
    and `cwd` the folder that it would run in, relative like `path`. `script` is a whole command line, which is judged
    part by part; if it is `held`, nothing that it writes takes effect before each file has been judged by itself.
    `risk` is set if the action is part of such a line and was rated with it. `repository` tells whether a write goes to
    one of git's own files in a folder that is a repository, or becomes one by this write. `history` tells whether git's
    history, which a command can read, holds files that policy does not let anybody read. `work_item` is the work item
    that the step named; its scope applies. `sandbox` is the template of the sandbox that the action runs in, or None if
    the server carries it out itself; `permit` tells whether it runs under a capability token minted for exactly this
    action. `doubts` say what the caller that made the action was not certain of; like a command's own doubts, each
    means that a person has to look. `within` and `reaches` limit the caller's paths and hosts: a path has to match
    every set of globs in `within`, and a host has to be in `reaches` unless that is None.
    """

    syscall: str
    path: str | None = None
    tool: str | None = None
    intent: Intent | None = None
    command: tuple[str, ...] | None = None
    host: str | None = None
    size: int | None = None
    caller_tags: frozenset[str] = field(default_factory=frozenset[str])
    state: str | None = None
    mode: str | None = None
    cwd: str | None = None
    script: str | None = None
    held: bool = False
    risk: Risk | None = None
    repository: bool = False
    history: bool = False
    also: tuple[tuple[str, ...], ...] = ()
    work_item: str | None = None
    sandbox: SandboxName | None = None
    permit: bool = True
    doubts: tuple[str, ...] = ()
    within: frozenset[tuple[str, ...]] = frozenset()
    reaches: frozenset[str] | None = None
