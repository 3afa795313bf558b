"""The model engine beside `mlx_lm.stream_generate`, by turns in one run, on two models.

Streaming: the same numbers of prompt and answer tokens, through a bare loop over `stream_generate` in a process of its
own, through the model process, and through `remit serve` as an editor would. Cache: a second turn after a history of
2,000 tokens beside the first, cold one. Sessions: eight one after the other and all at once. The models: the embedded
one and one of 60 million random weights, made on the fly; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from lsp_pipe import TOKEN, PipeClient
from tiny_model import MARKERS, TEMPLATE, tiny_model

from remit_server.models import wire
from remit_server.models.process import HostProcess

PEER = """
import json, sys, time
from remit_server.models.host.edge import LanguageModel, prepare
prepare()
import mlx.core as mx
from mlx_lm import stream_generate
model = LanguageModel.load(sys.argv[1], lambda done, total: None)
model._tokenizer._eos_token_ids = set()
for line in sys.stdin:
    tokens, answer = json.loads(line)
    prompt = mx.array([10 + number * 7 % 900 for number in range(tokens)])
    begun = time.perf_counter()
    stream = stream_generate(model._model, model._tokenizer, prompt, max_tokens=answer, prefill_step_size=256)
    for number, _ in enumerate(stream):
        if number == 0:
            first = time.perf_counter()
    print(json.dumps([first - begun, (answer - 1) / (time.perf_counter() - first)]), flush=True)
"""
GOALS = {
    "second_turn": "≤ 0.15",
    "host_rate": "≥ 0.97",
    "lsp_rate": "≥ 0.97",
    "host_first_ms": "≤ 10",
    "lsp_first_ms": "≤ 10",
}
QUESTION = "explain the parts of a compiler " * 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    report = {}
    with tempfile.TemporaryDirectory() as folder:
        large = random_llama(Path(folder) / "llama-60m")
        for name, reference in (("embedded", "embedded"), ("60 million", str(large))):
            report[name] = measured(reference, Path(folder) / name, arguments.rounds)
    print(json.dumps(report) if arguments.json else table(report))


def measured(reference: str, folder: Path, rounds: int) -> dict[str, float]:
    folder.mkdir()
    peer = subprocess.Popen([sys.executable, "-c", PEER, reference], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    editor = served(folder, reference)
    try:
        return asyncio.run(through_hosts(reference, peer, editor, rounds))
    finally:
        editor.kill()
        peer.kill()
        peer.wait()
        peer.stdin.close()
        peer.stdout.close()


async def through_hosts(reference: str, peer: subprocess.Popen, editor: PipeClient, rounds: int) -> dict[str, float]:
    """All figures, on one process that keeps no caches and one that does."""
    forgets = await HostProcess.start(wire.Load(reference=reference, cache_bytes=0))
    keeps = await HostProcess.start(wire.Load(reference=reference))
    try:
        streams = await streamed(forgets, peer, editor, rounds)
        return streams | await second_turn(keeps, rounds) | await eight(forgets)
    finally:
        await forgets.close()
        await keeps.close()


async def streamed(host: HostProcess, peer: subprocess.Popen, editor: PipeClient, rounds: int) -> dict[str, float]:
    """Differences and ratios of pairs that ran one after the other: first tokens in seconds, and tokens per second."""
    first = {"host": [], "lsp": []}
    rate = {"host": [], "lsp": []}
    for number in range(rounds + 1):
        for door in ("host", "lsp"):
            if door == "host":
                took, tokens, prompt = await asked(host, f"s{number}", QUESTION)
            else:
                took, tokens, prompt = by_editor(editor, number)
            bare = peer_asked(peer, prompt, tokens)
            if number:  # the first round warms up
                first[door].append(took[0] - bare[0])
                rate[door].append(took[1] / bare[1])
    return {f"{door}_first_ms": median(first[door]) * 1000 for door in first} | {
        f"{door}_rate": median(rate[door]) for door in rate
    }


async def asked(
    host: HostProcess, session: str, text: str, tokens: int = 96, before: tuple[wire.ChatMessage, ...] = ()
) -> tuple[tuple[float, float], int, int]:
    """One generation of text: seconds to its first piece, tokens per second after that; answer and prompt tokens."""
    messages = (*before, wire.ChatMessage(role="user", content=text))
    request = wire.Generate(
        id=f"{session}-{len(text)}", session_id=session, messages=messages, intents={}, max_tokens=tokens
    )
    begun, first, last = time.perf_counter(), 0.0, None
    async with aclosing(host.generate(request)) as events:
        async for event in events:
            if isinstance(event, wire.Delta) and not first:
                first = time.perf_counter()
            if isinstance(event, wire.Finished):
                last = event
    assert last is not None
    ended = time.perf_counter()
    return (first - begun, (last.completion_tokens - 1) / (ended - first)), last.completion_tokens, last.prompt_tokens


def by_editor(editor: PipeClient, number: int) -> tuple[tuple[float, float], int, int]:
    """The same through `remit/run`: from the request to its first `token_delta`, and from there to the step's usage."""
    part = {"kind": "text", "text": QUESTION}
    params = {"session_id": f"s{number}", "turn_id": "1", "input": part, "partialResultToken": TOKEN}
    begun = time.perf_counter()
    editor.request("remit/run", params)
    editor.event("token_delta")
    first = time.perf_counter()
    usage = editor.event("usage")["usage"]
    ended = time.perf_counter()
    editor.event("run_completed")
    tokens, prompt = usage["completion_tokens"], usage["prompt_tokens"] - usage["cached_tokens"]
    return (first - begun, (tokens - 1) / (ended - first)), tokens, prompt


def peer_asked(peer: subprocess.Popen, prompt: int, tokens: int) -> tuple[float, float]:
    """Seconds to the first token and tokens per second of the bare loop."""
    peer.stdin.write(json.dumps([prompt, tokens]).encode() + b"\n")
    peer.stdin.flush()
    first, rate = json.loads(peer.stdout.readline())
    return first, rate


async def second_turn(host: HostProcess, rounds: int) -> dict[str, float]:
    """Seconds to the first piece of text: a cold prompt of 2,000 tokens, and the turn that follows it."""
    cold, warm = [], []
    for number in range(rounds):
        session = f"second{number}"
        # A beginning of its own, so that no other session lends it anything.
        history = wire.ChatMessage(role="user", content=f"{number} " + "what a parser does and why " * 220)
        took, _, prompt = await asked(host, session, "go on", 2, (history,))
        cold.append(took[0])
        answer = wire.ChatMessage(role="assistant", content="yes")
        again = (history, wire.ChatMessage(role="user", content="go on"), answer)
        warm.append((await asked(host, session, "and what follows it?", 2, again))[0][0])
    return {
        "history_tokens": prompt,
        "cold_s": median(cold),
        "second_s": median(warm),
        "second_turn": median(warm) / median(cold),
    }


async def eight(host: HostProcess) -> dict[str, float]:
    """Tokens per second of eight sessions in a row and all at once, and the longest wait for a first piece."""

    async def one(session: str) -> tuple[float, int]:
        took, tokens, _ = await asked(host, session, QUESTION)
        return took[0], tokens

    begun = time.perf_counter()
    alone = [await one(f"alone{number}") for number in range(8)]
    between = time.perf_counter()
    together = await asyncio.gather(*(one(f"together{number}") for number in range(8)))
    ended = time.perf_counter()
    return {
        "alone_tokens_per_s": sum(tokens for _, tokens in alone) / (between - begun),
        "together_tokens_per_s": sum(tokens for _, tokens in together) / (ended - between),
        "together_longest_first_s": max(first for first, _ in together),
        "alone_longest_first_s": between - begun,
    }


def served(folder: Path, model: str) -> PipeClient:
    """`remit serve` on an empty workspace; what a session read is not kept for others."""
    workspace = folder / "workspace"
    workspace.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
    own = {name: str(folder / name.lower()) for name in ("REMIT_STATE_DIR", "REMIT_DATA_DIR", "REMIT_CONFIG_DIR")}
    limits = {"REMIT_MODEL": model, "REMIT_MODEL_CACHE_MIB": "1", "REMIT_MAX_STEPS": "1"}
    client = PipeClient.spawn([str(Path(sys.executable).with_name("remit")), "serve"], kept | own | limits)
    client.initialize(workspace)
    return client


def random_llama(folder: Path) -> Path:
    """A Llama with 60 million random weights, and a small tokenizer."""
    import numpy as np
    from safetensors.numpy import save_file

    folder.mkdir()
    tiny = tiny_model("markers", MARKERS, TEMPLATE)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((tiny / name).read_bytes())
    config = json.loads((tiny / "config.json").read_text())
    width, inner, layers, vocabulary = 768, 2048, 8, config["vocab_size"]
    config |= {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": width, "intermediate_size": inner,
        "num_hidden_layers": layers, "num_attention_heads": 12, "num_key_value_heads": 12, "head_dim": 64,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    rng = np.random.default_rng(0)

    def random(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.05).astype(np.float32)

    weights = {name: random(vocabulary, width) for name in ("model.embed_tokens.weight", "lm_head.weight")}
    weights["lm_head.weight"][config["eos_token_id"]] = 0  # so that answers are as long as they may be
    weights["model.norm.weight"] = np.ones(width, np.float32)
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        weights |= {f"{prefix}self_attn.{part}_proj.weight": random(width, width) for part in "qkvo"}
        weights |= {f"{prefix}mlp.{part}_proj.weight": random(inner, width) for part in ("gate", "up")}
        weights[f"{prefix}mlp.down_proj.weight"] = random(width, inner)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{prefix}{norm}.weight"] = np.ones(width, np.float32)
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "mlx"})
    return folder


def table(report: dict[str, dict[str, float]]) -> str:
    lines = ["| | " + " | ".join(report) + " | goal |", "|---|" + "---|" * (len(report) + 1)]
    for name in next(iter(report.values())):
        figures = " | ".join(f"{each[name]:.3g}" for each in report.values())
        lines.append(f"| {name.replace('_', ' ')} | {figures} | {GOALS.get(name, '')} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
