"""The client for Python programs, against a real `remit stdio` (TRN-05)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal

import pytest

from remit_client import ApprovalRequired, Remit, RemitProcessEnded, RemitRefused, RunRequest, connect
from remit_server.contract import TextInput

pytestmark = pytest.mark.slow

WRITES = {
    "calls": [
        {"name": "select_active_intent", "arguments": {"intent": "CODE"}},
        {"name": "write_file", "arguments": {"path": "b.py", "content": "x = 1\n"}},
    ]
}
Opens = Callable[..., AbstractAsyncContextManager[Remit]]


@pytest.fixture
def opens(tmp_path: Path) -> Opens:
    def opened(*steps: Any, **options: Any) -> AbstractAsyncContextManager[Remit]:
        (tmp_path / "shop").mkdir()
        (tmp_path / "script.json").write_text(json.dumps(steps))
        environment = {f"REMIT_{name}_DIR": str(tmp_path / name) for name in ("STATE", "CONFIG", "DATA")}
        environment["HOME"] = str(tmp_path)
        model = f"script:{tmp_path / 'script.json'}"
        return connect(tmp_path / "shop", model=model, environment=environment, **options)

    return opened


async def test_TRN_05_a_turn_is_followed_answered_and_ended(opens: Opens, tmp_path: Path) -> None:
    async with opens(WRITES, {"text": "done"}) as remit:
        turn = await remit.run("go")
        seen = []
        async for event in turn:
            seen.append(event.seq)
            if isinstance(event, ApprovalRequired):
                assert (await remit.approve(event)).accepted
        assert seen == list(range(1, len(seen) + 1))
        assert (await turn.result()).status == "completed"
        assert (tmp_path / "shop" / "b.py").exists()
        again = await remit.resume(turn, after=3)
        assert [event.seq async for event in again] == seen[3:]
        assert await again.result() == await turn.result()


@pytest.mark.parametrize(("answer", "status"), [("allow", "completed"), ("deny", "denied")])
async def test_TRN_05_questions_are_decided_by_a_function(
    opens: Opens, answer: Literal["allow", "deny"], status: str
) -> None:
    asked: list[str] = []

    async def decide(question: ApprovalRequired) -> Literal["allow", "deny"]:
        asked.append(question.tool)
        return answer

    async with opens(WRITES, {"text": "done"}) as remit:
        assert (await (await remit.run("go", decide=decide)).result()).status == status
    assert asked == ["write_file"]


async def test_TRN_05_what_the_server_cannot_use_is_an_error_of_the_turn(opens: Opens) -> None:
    async with opens({"text": "one"}, {"text": "two"}) as remit:
        first = RunRequest(session_id="s", turn_id="t", input=TextInput(text="go"))
        await (await remit.run(first)).result()
        other = await remit.run(first.model_copy(update={"input": TextInput(text="another")}))
        with pytest.raises(RemitRefused) as refused:
            await other.result()
        assert refused.value.payload.fix
        with pytest.raises(RemitRefused):
            [event async for event in other]
        assert (await remit.status()).running_turns == 0


async def test_TRN_05_a_turn_is_cancelled(opens: Opens) -> None:
    async with opens({"text": "one two three", "pace_s": 10.0}) as remit:
        turn = await remit.run("go")
        async for event in turn:
            if event.kind == "token_delta":  # type: ignore[attr-defined]
                assert await remit.cancel(turn) == 1
        assert (await turn.result()).status == "cancelled"


async def test_TRN_05_a_process_that_is_killed_ends_what_waits_for_it(opens: Opens) -> None:
    async with opens(WRITES, {"text": "done"}) as remit:
        turn = await remit.run("go")

        async def until_asked() -> AsyncIterator[None]:
            async for event in turn:
                if isinstance(event, ApprovalRequired):
                    return
                yield

        async for _ in until_asked():
            pass
        remit._process.kill()
        with pytest.raises(RemitProcessEnded):
            await asyncio.wait_for(turn.result(), 20)
        with pytest.raises(RemitProcessEnded):
            await remit.status()
