"""A whole runtime over a temporary workspace: real files, real audit, real sandbox; only the model is a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from configured import configured, is_setting

from remit_governance.audit.reading.query import query_audit
from remit_governance.audit.record import OPERATIONAL, AuditKind, AuditRecord
from remit_server.contract import ApprovalAnswer, ApprovalRequired, Event, RunRequest, RunResult
from remit_server.harness.ports import AskingStyle
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.code import CodeIntelligence
from remit_server.workspace.ports import NoDocuments

WORK = (OPERATIONAL | {AuditKind.CAPABILITY_ISSUED}) - {AuditKind.INTENT_SELECTED}
SHOP = "total = 0\nfor n in (1, 2):\n    total += n\n"


@dataclass
class Answering:
    """Answers every question the same way, after an optional act of sabotage; `later` answers all but the first."""

    decision: str = "allow"
    scope: str = "once"
    before: Callable[[], None] = lambda: None
    style: AskingStyle = "callback"
    later: str | None = None
    asked: list[ApprovalRequired] = field(default_factory=list)

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        self.asked.append(question)
        self.before()
        decision = self.decision if self.later is None or len(self.asked) == 1 else self.later
        return ApprovalAnswer(approval_id=question.approval_id, decision=decision, scope=self.scope)  # type: ignore[arg-type]


@dataclass
class Bench:
    """A runtime, and everything that a test looks at afterwards."""

    runtime: Runtime
    workspace: Path
    settings: Settings
    events: list[Event] = field(default_factory=list)
    turns: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

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
        return await self.runtime.run(request, self._emit, asker or Answering())

    def kinds(self) -> list[str]:
        return [e.kind for e in self.events]  # type: ignore[attr-defined]

    def of(self, kind: str) -> list[Any]:
        return [e for e in self.events if e.kind == kind]  # type: ignore[attr-defined]

    async def until(self, kind: str, number: int = 1) -> list[Any]:
        """Waits for `number` events of the kind, and returns all of them. It has no time-out."""
        while len(found := self.of(kind)) < number:
            self._news.clear()
            await self._news.wait()
        return found

    def _emit(self, event: Event) -> None:
        self.events.append(event)
        self._news.set()

    def audit(self) -> tuple[AuditRecord, ...]:
        """Returns the records of the calls: without checkpoints, which the maintenance thread adds at any time, and
        without operational records (see `all_audit`)."""
        return tuple(record for record in self.all_audit() if record.event.kind not in WORK)

    def all_audit(self) -> tuple[AuditRecord, ...]:
        """Returns all records but checkpoints."""
        records = query_audit(self.settings.audit_database)
        return tuple(record for record in records if record.event.kind is not AuditKind.CHECKPOINT)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def intent(name: str) -> dict[str, Any]:
    return call("select_active_intent", intent=name)


def write_files(workspace: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)


@asynccontextmanager
async def project(folder: Path, files: Mapping[str, str], **config: Any) -> AsyncIterator[Bench]:
    """A bench over a workspace with these files, whose model is the built-in one unless `config` names another."""
    workspace = folder / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    write_files(workspace, files)
    made = Settings(workspace, folder / "state", folder / "config" / "policy.yaml", configured(**config))
    runtime = await open_runtime(made, NoDocuments())
    try:
        yield Bench(runtime, workspace, made)
    finally:
        await runtime.close()


@asynccontextmanager
async def benches(folder: Path) -> AsyncIterator[Callable[..., Any]]:
    """Yields a function that opens benches below `folder`; closes all of them at the end. The model plays `steps`,
    which the file `script` holds; `policy` is the person's, `name` the workspace's folder, and `settings` are settings
    by their names."""
    opened: list[Runtime] = []

    async def make(
        *steps: dict[str, Any],
        policy: str | None = None,
        code: CodeIntelligence | None = None,
        name: str = "shop",
        script: str = "script.json",
        **settings: Any,
    ) -> Bench:
        workspace = folder / name
        workspace.mkdir(exist_ok=True)
        (workspace / "a.py").write_text(SHOP)
        played = folder / script
        played.write_text(json.dumps(steps))
        person = folder / "config" / "policy.yaml"
        if policy is not None:
            person.parent.mkdir(exist_ok=True)
            person.write_text(policy)
        state = folder / ("state" if name == "shop" else f"state-{name}")
        config = {key: value for key, value in settings.items() if is_setting(key)}
        more = {key: value for key, value in settings.items() if key not in config}
        made = Settings(workspace, state, person, configured(name=f"script:{played}", **config), **more)
        runtime = await open_runtime(made, NoDocuments(), code)
        opened.append(runtime)
        return Bench(runtime, workspace, made)

    try:
        yield make
    finally:
        for runtime in opened:
            await runtime.close()
