"""The nouns every rule speaks of: intents, effects, verdicts, actions and decisions (POL-01)."""

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
"""What policy is asked about, and what each is, in words."""

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
"""The tags of callers that there are, and what each says; the server gives them, by tables (POL-19)."""


class Effect(StrEnum):
    """An effect of a tool on the world; declared by the tool, used by the intent matrix."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    CONTROL = "control"


class Verdict(IntEnum):
    """Ordered so that `max` combines: a deny outranks a review, a review an allow (POL-01)."""

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
    """Why one rule spoke: which rule, of which layer, what it said, and where it is written."""

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
        """True where nothing more has to be asked."""
        return self.verdict is Verdict.ALLOW

    @property
    def deciding(self) -> Reason:
        """The first reason that carries the verdict."""
        return next(r for r in self.reasons if r.verdict is self.verdict)

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules whose word carried the verdict, in a stable order."""
        return tuple(r.rule for r in self.reasons if r.rule is not None and r.verdict is self.verdict)


def strictest(decisions: Iterable[Decision]) -> Decision:
    """Combine the decisions about the parts of one action: the strictest verdict, all reasons, each once.

    Raises ValueError on an empty iterable: an action without parts has not been judged.
    """
    parts = tuple(decisions)
    return Decision(max(p.verdict for p in parts), tuple(dict.fromkeys(r for p in parts for r in p.reasons)))


Risk = Literal["low", "medium", "high"]
SandboxName = Literal["code-executor", "integration-test"]
"""The templates of sandboxes that calls run in: without a network, and with one."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that is about to happen, as policy sees it (POL-01).

    `path` is relative to the workspace, with `/`, already resolved; `size` is bytes. `command` is a resolved argv,
    `cwd` where it would run, relative like `path`. `script` is a whole command line, which is judged part by part;
    where it is `held`, nothing that it writes takes effect before each file has been judged by itself. `risk` is set
    where the action is part of such a line, and was rated with it. `repository` is whether a write is one of git's own
    files in a folder that is, or thereby becomes, a repository. `history` is whether git's history, which a command can
    read, holds files that policy keeps unread. `work_item` is the one that the step named, whose scope holds.
    `sandbox` is the template of the sandbox in which it is carried out, None where the server does it itself; `permit`
    is whether it is carried out under a capability token minted for exactly it. `doubts` are what whoever made the
    action is not certain of: like a command's own, each means that a person has to look. `within` and `reaches` are
    what the caller was left of paths and hosts: a path matches the globs of each, and a host is one of these.
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
