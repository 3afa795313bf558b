"""kill -9 of the model process in the middle of a turn: a clear end, and the next turn works
(architecture.md, invariant 8; agent.md §Loop)."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from bench_runtime import SHOP, Answering, Bench

from remit_server.contract import Event, RunRequest, RunResult, TextInput
from remit_server.models.mlx import MlxProvider
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.ports import NoDocuments

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
    pytest.mark.model,
    pytest.mark.slow,
]

QUESTION = "explain total in a.py"
TRIES = 10


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """A runtime on the embedded model, which has answered once and so is loaded."""
    workspace = tmp_path / "shop"
    workspace.mkdir()
    (workspace / "a.py").write_text(SHOP)
    settings = Settings(workspace, tmp_path / "state", tmp_path / "policy.yaml")
    runtime = await open_runtime(settings, NoDocuments())
    bench = Bench(runtime, workspace, settings)
    assert (await bench.ask(QUESTION)).status == "completed"
    bench.events.clear()
    yield bench
    await runtime.close()


def signalled(bench: Bench, number: signal.Signals) -> int:
    """Send the model process a signal; returns its id."""
    provider = bench.runtime._agent.provider
    assert isinstance(provider, MlxProvider)
    assert provider.pid is not None
    os.kill(provider.pid, number)
    return provider.pid


async def killed_at_first_token(bench: Bench) -> RunResult:
    """A turn whose model is killed when it has said its first word; once more where the rest was on its way already."""
    for number in range(TRIES):
        bench.events.clear()

        def emit(event: Event) -> None:
            bench.events.append(event)
            if len(bench.of("token_delta")) == 1 and bench.kinds()[-1] == "token_delta":
                signalled(bench, signal.SIGKILL)

        request = RunRequest(session_id="s", turn_id=f"killed-{number}", input=TextInput(text=QUESTION))
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
    again = await bench.ask(QUESTION)
    assert again.status == "completed"
    assert again.final_output
    assert bench.runtime.status().model_state == "ready"


async def test_kill_model_before_its_first_token_is_asked_again_in_the_same_turn(bench: Bench) -> None:
    stopped = signalled(bench, signal.SIGSTOP)
    turn = asyncio.create_task(bench.ask(QUESTION))
    while bench.runtime.status().model_state != "busy":
        await asyncio.sleep(0.01)
    assert signalled(bench, signal.SIGKILL) == stopped
    result = await turn
    assert result.status == "completed"
    assert next(event for event in bench.kinds() if event in {"warning", "token_delta"}) == "warning"
    assert "asking again" in bench.of("warning")[0].message
    assert result.final_output == "".join(event.text for event in bench.of("token_delta"))
