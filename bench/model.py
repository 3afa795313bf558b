"""The model engine, compared with `mlx_lm.stream_generate`, alternately in one run.

Streaming: as many tokens of prompt and answer through a bare loop over `stream_generate` in a process of its own,
through the model process under the grammar of text, and through `remit serve` (`remit/generate`) as an editor does it.
Cache: a second turn after a history of 2,000 tokens, compared with the first, cold one. Sessions: eight one after the
other, and all at once. The model has 60 million random weights, made for each run.
"""
# mypy: ignore-errors

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from lsp_pipe import TOKEN, PipeClient
from tiny_model import MARKERS, TEMPLATE, tiny_model

from remit_server.models.local import wire
from remit_server.models.local.process import HostProcess

PEER = """
import json, sys, time
from pathlib import Path
from remit_server.models.local.host.mlx_backend import LanguageModel, prepare
prepare()
import mlx.core as mx
from mlx_lm import stream_generate
model = LanguageModel.load(Path(sys.argv[1]), lambda done, total: None)
model._tokenizer._eos_token_ids = set()
for line in sys.stdin:
    tokens, answer = json.loads(line)
    prompt = mx.array([10 + number * 7 % 900 for number in range(tokens)])
    begun = time.perf_counter()
    for number, _ in enumerate(stream_generate(model._model, model._tokenizer, prompt, max_tokens=answer)):
        if number == 0:
            first = time.perf_counter()
    print(json.dumps([first - begun, (answer - 1) / (time.perf_counter() - first)]), flush=True)
"""
GOALS = {
    "later turn ÷ cold, first token": "≤ 0.15",
    "host ÷ bare, tokens/s": "≥ 0.97",
    "server ÷ bare, tokens/s": "≥ 0.97",
    "host − bare, first token, ms": "≤ 10",
    "server − bare, first token, ms": "≤ 10",
}
QUESTION = "explain the parts of a compiler " * 12
PHRASE = "what a parser does and why "
HISTORY = 2000
SESSIONS = 8
PAUSE_S = 0.5
Report = dict[str, str]


@dataclass(frozen=True, slots=True)
class Stream:
    """One answer: seconds to its first piece, tokens per second after that, and the number of tokens of prompt and
    answer.

    `engine_rate` is the model process's own figure, if that process was asked directly.
    """

    first_s: float
    rate: float
    prompt: int = 0
    tokens: int = 0
    engine_rate: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="answers of each kind")
    parser.add_argument("--tokens", type=int, default=16, help="tokens of each answer")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    report = {}
    with tempfile.TemporaryDirectory() as folder:
        large = random_llama(Path(folder) / "llama-60m")
        peer, editor = bare(str(large)), served(Path(folder) / "served", str(large))
        try:
            report["60 million"] = asyncio.run(measured(str(large), peer, editor, arguments.rounds, arguments.tokens))
        finally:
            editor.kill()
            peer.kill()
            peer.communicate()
    print(json.dumps(report) if arguments.json else table(report))


async def measured(reference: str, peer: subprocess.Popen, editor: PipeClient, rounds: int, tokens: int) -> Report:
    """Returns all figures, from one process without caches and one with them."""
    forgets = await HostProcess.start(wire.Load(folder=reference, cache_bytes=0))
    try:
        figures = await streamed(forgets, peer, editor, rounds, tokens) | await eight(forgets, tokens)
    finally:
        await forgets.close()
    keeps = await HostProcess.start(wire.Load(folder=reference))
    try:
        return figures | await second_turn(keeps, history(Path(reference)))
    finally:
        await keeps.close()


async def streamed(host: HostProcess, peer: subprocess.Popen, editor: PipeClient, rounds: int, tokens: int) -> Report:
    """Measures each way and the bare loop in turn, each answer with as many tokens."""
    taken: dict[str, list[Stream]] = {"host": [], "server": [], "bare": []}
    for number in range(rounds + 1):
        # The number comes first, so that no cache has the beginning of the prompt.
        question = f"{number} {QUESTION}"
        # Find out the length of the prompt and of the answer, which is only words and has no end.
        through = await asked(host, f"p{number}", question, tokens)
        # Rotate the order, and give the threads of the previous run time to stop spinning.
        for name in rotated(("host", "bare", "server"), number):
            await asyncio.sleep(PAUSE_S)
            match name:
                case "host":
                    stream = await asked(host, f"s{number}", question, tokens)
                case "bare":
                    stream = peer_asked(peer, through.prompt, through.tokens)
                case "server":
                    stream = by_editor(editor, question, tokens)
            if name != "bare":
                assert (stream.prompt, stream.tokens) == (through.prompt, through.tokens), (name, stream, through)
            if number:
                taken[name].append(stream)
    found = {f"bare, tokens/s, best of {rounds}": f"{best(taken['bare']):.1f}"}
    found["engine's own count ÷ bare, tokens/s"] = ratio([each.engine_rate for each in taken["host"]], taken["bare"])
    for door in ("host", "server"):
        found[f"{door} ÷ bare, tokens/s"] = ratio([each.rate for each in taken[door]], taken["bare"])
        found[f"{door} − bare, first token, ms"] = later(taken[door], taken["bare"])
    return found


def rotated(names: tuple[str, ...], by: int) -> tuple[str, ...]:
    return names[by % len(names) :] + names[: by % len(names)]


def best(streams: Sequence[Stream]) -> float:
    return max(stream.rate for stream in streams)


def ratio(rates: Sequence[float], bare: Sequence[Stream]) -> str:
    """Returns the ratio of the best rates, and that of the medians."""
    return f"{max(rates) / best(bare):.3f} ({median(rates) / median(each.rate for each in bare):.3f})"


def later(door: Sequence[Stream], bare: Sequence[Stream]) -> str:
    """Returns the milliseconds by which the first token comes later, for the minima and for the medians."""
    late = [(of([each.first_s for each in door]) - of([each.first_s for each in bare])) * 1000 for of in (min, median)]
    return f"{late[0]:.1f} ({late[1]:.1f})"


async def asked(
    host: HostProcess, session: str, text: str, tokens: int, before: tuple[wire.ChatMessage, ...] = ()
) -> Stream:
    """Runs one generation of text."""
    messages = (*before, wire.ChatMessage(role="user", content=text))
    name = f"{session}-{len(messages)}"
    request = wire.Generate(id=name, session_id=session, messages=messages, intents={}, max_tokens=tokens)
    begun, first, last = time.perf_counter(), 0.0, None
    async with aclosing(host.generate(request)) as events:
        async for event in events:
            if isinstance(event, wire.Delta) and not first:
                first = time.perf_counter()
            if isinstance(event, wire.FinishedFrame):
                last = event
    ended, more = time.perf_counter(), last.completion_tokens - 1
    return Stream(
        first - begun, more / (ended - first), last.prompt_tokens, last.completion_tokens, more / last.decode_s
    )


def by_editor(editor: PipeClient, question: str, tokens: int) -> Stream:
    """Does the same through `remit/generate`: from the request to its first piece, and from there to its answer."""
    begun, first = time.perf_counter(), 0.0
    params = {"prompt": question, "max_tokens": tokens, "partialResultToken": TOKEN}
    number = editor.request("remit/generate", params)
    for message in editor.messages():
        if message.get("method") == "$/progress" and not first:
            first = time.perf_counter()
        if message.get("id") == number:
            usage = message["result"]["usage"]
            break
    ended = time.perf_counter()
    more = usage["completion_tokens"] - 1
    return Stream(first - begun, more / (ended - first), usage["prompt_tokens"], usage["completion_tokens"])


def peer_asked(peer: subprocess.Popen, prompt: int, tokens: int) -> Stream:
    """Does the same in the bare loop."""
    peer.stdin.write(json.dumps([prompt, tokens]).encode() + b"\n")
    peer.stdin.flush()
    first, rate = json.loads(peer.stdout.readline())
    return Stream(first, rate)


async def second_turn(host: HostProcess, text: str, turns: int = 3) -> Report:
    """Returns the seconds to the first piece of text: for a cold prompt of 2,000 tokens, and for the turns after it."""
    said = [wire.ChatMessage(role="user", content=text)]
    cold = await asked(host, "long", "go on", 2, tuple(said))
    warm = []
    for number in range(turns):
        said.append(wire.ChatMessage(role="user", content="go on" if number == 0 else f"and {number} more?"))
        said.append(wire.ChatMessage(role="assistant", content="yes"))
        warm.append((await asked(host, "long", f"and {number + 1} more?", 2, tuple(said))).first_s)
    return {
        "tokens of history": str(cold.prompt),
        "cold, first token, s": f"{cold.first_s:.3f}",
        "later turn ÷ cold, first token": f"{min(warm) / cold.first_s:.3f} ({median(warm) / cold.first_s:.3f})",
    }


async def eight(host: HostProcess, tokens: int) -> Report:
    """Runs eight sessions one by one and then at once: tokens per second of all, and when each had its whole answer."""

    async def one(session: str) -> tuple[int, float]:
        stream = await asked(host, session, f"{session}: explain a compiler", tokens)
        return stream.tokens, time.perf_counter()

    begun = time.perf_counter()
    alone = [await one(f"alone{number}") for number in range(SESSIONS)]
    between = time.perf_counter()
    together = await asyncio.gather(*(one(f"together{number}") for number in range(SESSIONS)))
    ends = sorted(ended - between for _, ended in together)
    rates = [sum(count for count, _ in said) / took for said, took in ((together, ends[-1]), (alone, between - begun))]
    return {
        "eight at once ÷ in a row, tokens/s": f"{rates[0] / rates[1]:.2f}",
        "eight at once, last ÷ first to finish": f"{ends[-1] / ends[0]:.2f}",
        "eight in a row, last ÷ first to finish": f"{(between - begun) / (alone[0][1] - begun):.2f}",
    }


def bare(reference: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", PEER, reference], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def served(folder: Path, model: str) -> PipeClient:
    """Starts `remit serve` on an empty workspace."""
    workspace = folder / "workspace"
    workspace.mkdir(parents=True)
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
    own = {name: str(folder / name.lower()) for name in ("REMIT_STATE_DIR", "REMIT_DATA_DIR", "REMIT_CONFIG_DIR")}
    command = [str(Path(sys.executable).with_name("remit")), "serve"]
    client = PipeClient.spawn(command, kept | own | {"REMIT_MODEL": model})
    client.initialize(workspace)
    return client


def history(model: Path) -> str:
    """Returns a text with as many tokens as the history should have."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    return PHRASE * (HISTORY * 10 // len(tokenizer.encode(PHRASE * 10).ids))


def random_llama(folder: Path) -> Path:
    """Makes a Llama with 60 million random weights and a small tokenizer, which writes only plain words, without
    end."""
    import numpy as np
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer

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
        return (rng.standard_normal(shape, np.float32) * 0.05).astype(np.float32)

    weights = {name: random(vocabulary, width) for name in ("model.embed_tokens.weight", "lm_head.weight")}
    spelled = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    words = {token for text, token in spelled.items() if text.isascii() and text.isalnum()}
    weights["lm_head.weight"][[token for token in range(vocabulary) if token not in words]] = 0
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


def table(report: dict[str, Report]) -> str:
    lines = ["| best (median) | " + " | ".join(report) + " | goal |", "|---|" + "---|" * (len(report) + 1)]
    every = list(dict.fromkeys(name for figures in report.values() for name in figures))
    for name in every:
        cells = " | ".join(figures.get(name, "") for figures in report.values())
        lines.append(f"| {name} | {cells} | {GOALS.get(name, '')} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
