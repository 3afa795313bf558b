"""A language server with a stand-in runtime: the real protocol, with answers that a test can predict.

The text of a request says what happens: `say X`, `decline X`, `where`, `wait`, `ask [COMMAND]`, `edit PATH`, `flood N`,
`fail`. `STAND_IN_ABILITIES` lists the model's abilities, separated by commas; if it is not set, the model has all.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from remit_server.contract import (
    Ability,
    ApprovalAnswer,
    ApprovalReceipt,
    ApprovalRequired,
    ApprovalResolved,
    Event,
    FileDiff,
    GenerationRequest,
    GenerationResult,
    IntentSelected,
    ModelStats,
    ReasonPayload,
    RunCompleted,
    RunRequest,
    RunResult,
    RunStarted,
    Scope,
    StatusResult,
    TextInput,
    TokenDelta,
    TokenUsage,
    ToolCallEvent,
)
from remit_server.errors import ModelFailed, RemitError, SetupError
from remit_server.harness.ports import Asker, CannotAsk, Emit
from remit_server.models.answers import OnText
from remit_server.runtime.notice import Notice
from remit_server.streams import standard_streams
from remit_server.transports.lsp.main import serve
from remit_server.workspace.code import CodeIntelligence
from remit_server.workspace.ports import Documents

TARGET = "target.txt"


class Turn:
    """Emits the numbered events of one turn."""

    def __init__(self, request: RunRequest, emit: Emit) -> None:
        self._request, self._emit, self._seq = request, emit, count(1)

    def emit(self, kind: type[Event], /, **fields: Any) -> Event:
        event = kind(
            seq=next(self._seq),
            session_id=self._request.session_id,
            turn_id=self._request.turn_id,
            time=datetime.now(UTC).isoformat(),
            **fields,
        )
        self._emit(event)
        return event

    def end(self, status: str, output: str | None = None, reason: str | None = None) -> RunResult:
        result = RunResult(
            session_id=self._request.session_id,
            turn_id=self._request.turn_id,
            status=status,
            final_output=output,
            reason=reason,
        )
        self.emit(RunCompleted, result=result)
        return result


class StandInRuntime:
    """Stands in for `Runtime`."""

    def __init__(self, workspace: Path, documents: Documents) -> None:
        self._workspace, self._documents = workspace, documents
        self._running: dict[tuple[str, str], asyncio.Task[Any]] = {}
        self._questions: dict[str, asyncio.Future[ApprovalAnswer | None]] = {}
        self._log("opened")

    def _log(self, line: str) -> None:
        if path := os.environ.get("STAND_IN_LOG"):
            with Path(path).open("a") as log:
                log.write(line + "\n")

    async def run(self, request: RunRequest, emit: Emit, asker: Asker, taken_up: object = None) -> RunResult:
        turn = Turn(request, emit)
        work = asyncio.ensure_future(self._work(request, turn, asker))
        self._running[request.session_id, request.turn_id] = work
        try:
            return await work
        except asyncio.CancelledError:
            self._log("cancelled")
            mine = asyncio.current_task()
            work.cancel()
            ended = work.done() and not work.cancelled()
            result = work.result() if ended else turn.end("cancelled")
            if mine is not None and mine.cancelling():
                raise
            return result
        finally:
            del self._running[request.session_id, request.turn_id]

    async def _work(self, request: RunRequest, turn: Turn, asker: Asker) -> RunResult:
        turn.emit(RunStarted, model="stand-in", workspace=str(self._workspace))
        part = request.parts[0]
        assert isinstance(part, TextInput)
        verb, _, rest = part.text.partition(" ")
        match verb:
            case "say":
                turn.emit(TokenDelta, text=rest)
                return turn.end("completed", rest)
            case "where":
                return turn.end("completed", str(self._workspace))
            case "decline":
                return turn.end("declined", rest, "the model could not do this")
            case "context":
                return turn.end("completed", str(request.context and request.context.open_document))
            case "wait":
                await asyncio.Event().wait()
            case "flood":
                for _ in range(int(rest)):
                    turn.emit(TokenDelta, text="x" * 100_000)
                    await asyncio.sleep(0)
                return turn.end("completed")
            case "fail":
                raise RuntimeError("a secret of the server")
            case "edit":
                return await self._edit(turn, rest)
            case "ask":
                return await self._ask(turn, asker, rest or None)
        return turn.end("completed", part.text)

    async def _edit(self, turn: Turn, path: str) -> RunResult:
        turn.emit(IntentSelected, intent="CODE")
        turn.emit(ToolCallEvent, tool_call_id="c1", tool="edit_file", arguments={"path": path})
        before = self._documents.get(path)
        if before is None:
            return turn.end("failed", "not open")
        try:
            after = before.text.replace("total", "subtotal")
            await self._documents.replace(path, before, after, "Remit: edit")
        except RemitError as error:
            return turn.end("failed", f"{error.code}: {error.why}")
        return turn.end("completed", "edited")

    async def _ask(self, turn: Turn, asker: Asker, command: str | None) -> RunResult:
        question = ApprovalRequired(
            seq=1,
            session_id="",
            turn_id="",
            time="",
            approval_id="a1",
            tool_call_id="c1",
            tool="write_file",
            effect="write",
            digest="sha256:0",
            title=f"write {TARGET}",
            reasons=(ReasonPayload(rule="ask-writes", layer="default", action="require_review", reason="writes"),),
            diffs=(FileDiff(path=TARGET, diff="-old\n+new \u202e\u200b"),),
            command=command,
            scopes=(Scope.ONCE, Scope.SESSION, Scope.ALWAYS, Scope.EVERYWHERE),
            always_rule="{tool: write_file, path: target.txt, workspace: /shop}",
            everywhere_rule="{tool: write_file, path: target.txt}",
            deadline=(datetime.now(UTC) + timedelta(seconds=30)).isoformat(),
        )
        fields = {name: getattr(question, name) for name in ApprovalRequired.model_fields}
        for name in ("seq", "session_id", "turn_id", "time"):
            del fields[name]
        future = asyncio.get_running_loop().create_future()
        self._questions["a1"] = future
        turn.emit(ApprovalRequired, **fields)
        self._log(f"asked {asker.style}")
        match asker.style:
            case "stream":
                answer = await future
            case "callback":
                try:
                    answer = await asker.ask(question)
                except CannotAsk as error:
                    self._log(error.why)
                    answer = None
            case "never":
                answer = None
        allowed = answer is not None and answer.decision == "allow"
        turn.emit(ApprovalResolved, approval_id="a1", decision="allow" if allowed else "deny", by="person")
        if allowed:
            (self._workspace / TARGET).write_text("new\n")
        self._log("allowed" if allowed else "denied")
        scope = answer.scope if answer else None
        return turn.end("completed", scope) if allowed else turn.end("denied", scope, "the person said no")

    def cancel(self, session_id: str | None = None, turn_id: str | None = None) -> int:
        found = [
            task
            for (session, turn), task in self._running.items()
            if session_id in {None, session} and turn_id in {None, turn}
        ]
        for task in found:
            task.cancel()
        return len(found)

    def answer(self, answer: ApprovalAnswer) -> ApprovalReceipt:
        future = self._questions.pop(answer.approval_id, None)
        if future is None or future.done():
            return ApprovalReceipt(accepted=False, reason="there is no such question")
        future.set_result(answer)
        return ApprovalReceipt(accepted=True)

    def asked(self, approval_id: str) -> bool:
        return approval_id in self._questions

    def status(self, session_id: str | None = None, model: str | None = None) -> StatusResult:
        return StatusResult(
            version="0",
            protocol=1,
            workspace=str(self._workspace),
            model="stand-in",
            model_state="ready",
            abilities=os.environ.get("STAND_IN_ABILITIES", ",".join(Ability)).split(","),
            running_turns=len(self._running),
            pending_approvals=len(self._questions),
            policy="default",
            sandbox="none",
        )

    async def complete(self, path: str, text: str, offset: int) -> str | None:
        return None

    async def generate(self, request: GenerationRequest, on_text: OnText | None) -> GenerationResult:
        if request.prompt == "fail":
            raise ModelFailed("no answer", "the stand-in says so", "ask again")
        if on_text is not None:
            await on_text("one ")
        if request.prompt == "wait":
            try:
                await asyncio.Event().wait()
            finally:
                self._log("stopped")
        return GenerationResult(result=request.output_format, usage=TokenUsage(completion_tokens=1))

    async def model_stats(self) -> ModelStats | None:
        return None

    async def reload(self) -> tuple[Notice, ...]:
        return ()

    async def verify_audit(self) -> tuple[bool, str]:
        return True, "2 records verified"

    async def close(self) -> None:
        print("a stray print must not reach the protocol")
        self.cancel()
        self._log("closed")


_attempts = count(1)


async def open_stand_in(
    workspace: Path, documents: Documents, code: CodeIntelligence, editor: Any, named: Path
) -> StandInRuntime:
    del code, editor, named
    if next(_attempts) <= int(os.environ.get("STAND_IN_FAILURES", "0")):
        raise SetupError("cannot open the workspace", "the policy is broken", "mend the policy")
    return StandInRuntime(workspace, documents)


if __name__ == "__main__":
    standard_streams.leave(serve(sys.argv[1] if len(sys.argv) > 1 else None, open_stand_in))
