"""A whole runtime over a temporary workspace, with a scripted model in place of the MLX process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remit_governance.audit.query import query_audit
from remit_governance.audit.record import AuditRecord
from remit_server.contract import ApprovalAnswer, ApprovalRequired, Event, RunRequest, RunResult
from remit_server.harness.ports import AskingStyle
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings

SHOP = "total = 0\nfor n in (1, 2):\n    total += n\n"


@dataclass
class Answering:
    """Answers every question the same way, after an optional act of sabotage."""

    decision: str = "allow"
    scope: str = "once"
    before: Callable[[], None] = lambda: None
    style: AskingStyle = "callback"
    asked: list[ApprovalRequired] = field(default_factory=list)

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        self.asked.append(question)
        self.before()
        return ApprovalAnswer(approval_id=question.approval_id, decision=self.decision, scope=self.scope)  # type: ignore[arg-type]


@dataclass
class Bench:
    """A runtime, and everything one wants to look at afterwards."""

    runtime: Runtime
    workspace: Path
    settings: Settings
    events: list[Event] = field(default_factory=list)
    turns: int = 0

    async def ask(self, *parts: Any, asker: Any = None, session: str = "s", **more: Any) -> RunResult:
        self.turns += 1
        request = RunRequest.model_validate(
            {
                "session_id": session,
                "turn_id": str(self.turns),
                "input": [{"type": "text", "text": p} if isinstance(p, str) else p for p in parts],
                **more,
            }
        )
        return await self.runtime.run(request, self.events.append, asker or Answering())

    def kinds(self) -> list[str]:
        return [e.kind for e in self.events]  # type: ignore[attr-defined]

    def of(self, kind: str) -> list[Any]:
        return [e for e in self.events if e.kind == kind]  # type: ignore[attr-defined]

    def audit(self) -> tuple[AuditRecord, ...]:
        return query_audit(self.settings.audit_database)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def intent(name: str) -> dict[str, Any]:
    return call("select_active_intent", intent=name)
