"""kill -9 of the model process in the middle of a turn: the turn ends with a clear error, and the next one works
(FILE-04)."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from bench_runtime import SHOP, Answering, Bench, project
from random_model import random_model

from remit_server.contract import Event, ExecutionPolicy, RunRequest, RunResult, TextInput

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
    pytest.mark.model,
    pytest.mark.slow,
]

QUESTION = "explain total in a.py"
TRIES = 10
NO_TOOLS = {"allow_tools": []}
JUST_TEXT = ExecutionPolicy(allow_tools=())


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """A runtime with a model that streams its text, which is loaded because it has answered once."""
    model = str(random_model(tmp_path / "model", 32_768))
    async with project(tmp_path, {"a.py": SHOP}, name=model, max_tokens=200) as bench:
        assert (await bench.ask(QUESTION, policy=NO_TOOLS)).status == "completed"
        bench.events.clear()
        yield bench


def signalled(number: signal.Signals) -> int:
    """Sends the model process a signal, and returns its id."""
    (pid,) = model_processes()
    os.kill(pid, number)
    return pid


def model_processes() -> list[int]:
    """Returns the ids of this process's model processes that have not ended."""
    listed = (path.read_text() for path in Path("/proc/self/task").glob("*/children"))
    lines = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for text in listed for pid in text.split()}
    return [pid for pid, line in lines.items() if b"remit_server.models.local.host" in line]


async def killed_at_first_token(bench: Bench) -> RunResult:
    """Kills the model at the first token of a turn; tries again if the rest of the answer was already on its way."""
    for number in range(TRIES):
        bench.events.clear()

        def emit(event: Event) -> None:
            bench.events.append(event)
            if len(bench.of("token_delta")) == 1 and bench.kinds()[-1] == "token_delta":
                signalled(signal.SIGKILL)

        request = RunRequest(
            session_id="s", turn_id=f"killed-{number}", input=TextInput(text=QUESTION), policy=JUST_TEXT
        )
        result = await bench.runtime.run(request, emit, Answering())
        if result.status != "completed":
            return result
    raise AssertionError("every kill came too late")


async def test_kill_model_in_mid_generation_ends_the_turn_and_the_next_one_works(bench: Bench) -> None:
    result = await killed_at_first_token(bench)
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "model_unavailable"
    assert "SIGKILL" in result.error.why
    assert result.error.retryable
    assert bench.kinds()[-2:] == ["error", "run_completed"]
    assert bench.of("error")[0].error == result.error
    assert [event.seq for event in bench.events] == list(range(1, len(bench.events) + 1))
    assert bench.runtime.status().model_state == "failed"
    again = await bench.ask(QUESTION, policy=NO_TOOLS)
    assert again.status == "completed"
    assert again.final_output
    assert bench.runtime.status().model_state == "ready"


async def test_kill_model_before_its_first_token_is_asked_again_in_the_same_turn(bench: Bench) -> None:
    stopped = signalled(signal.SIGSTOP)
    turn = asyncio.create_task(bench.ask(QUESTION, policy=NO_TOOLS))
    while bench.runtime.status().model_state != "busy":
        await asyncio.sleep(0.01)
    assert signalled(signal.SIGKILL) == stopped
    result = await turn
    assert result.status == "completed"
    assert next(event for event in bench.kinds() if event in {"warning", "token_delta"}) == "warning"
    assert "asking again" in bench.of("warning")[0].message
    assert result.final_output == "".join(event.text for event in bench.of("token_delta"))
