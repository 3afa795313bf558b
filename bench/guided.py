"""What guided decoding costs: beside mlx-lm unguided, on the same model, by turns in one run.

Speed: tokens a second of guided text and of a guided list, beside `mlx_lm.stream_generate` on the same prompt. Switch:
microseconds to a fresh matcher of a grammar that is cached. Two stages: the embedded model declares an intent and makes
a call; beside it, the same prompt and the call alone, unguided. Model time only: prompt and tokens. `forwarded` feeds
tokens that the grammar forces to the model all at once; `one by one` asks for each.
"""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN204, SLF001

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from remit_governance.intents import INTENT_TOOLS, allowed_tools
from remit_governance.values import Intent
from remit_server.models.host.calls import spell_call
from remit_server.models.host.edge import LanguageModel, prepare
from remit_server.models.host.grammar import Grammars
from remit_server.models.host.guide import Guide
from remit_server.models.host.prompts import renderer
from remit_server.models.wire import ChatMessage, ToolSchema
from remit_server.tools.table import TOOLS

LONGEST = 16_384
PROMPT = 800
"""Tokens of the prompt that stand before the two stages."""
GOALS = {"speed": 0.9, "switch_us": 1000.0, "stages": 1.1}
LIST = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    prepare()
    from tiny_models import tiny_model

    with tempfile.TemporaryDirectory() as folder:
        random = tiny_model("large", Path(folder) / "model", layers=4, width=256)
        models = {"embedded": _loaded("embedded"), "random": _loaded(str(random))}
    report = {
        f"speed_{name}_{what}": speed(model, what, arguments.tokens, arguments.rounds)
        for name, model in models.items()
        for what in ("text", "list")
    }
    report["switch_us"] = switch_us(models["embedded"])
    for name, model in models.items():
        report |= {f"stages_{name}_{how}": ratio for how, ratio in stages(model, arguments.rounds).items()}
    print(json.dumps(report) if arguments.json else table(report))


def _loaded(reference: str) -> LanguageModel:
    return LanguageModel.load(reference)


def offered() -> dict[str, tuple[ToolSchema, ...]]:
    """Every intent with its tools, as an ordinary step offers them."""
    specs = {n: ToolSchema(name=n, description=t.summary, parameters=t.schema) for n, t in TOOLS.items()}
    opened = {i.value: tuple(specs[n] for n in allowed_tools(i, INTENT_TOOLS) if n in specs) for i in Intent}
    return {intent: tools for intent, tools in opened.items() if tools}


def speed(model: LanguageModel, what: str, tokens: int, rounds: int) -> float:
    """Guided tokens a second ÷ unguided ones, by the median."""
    grammars = Grammars(model.grammar_tokenizer(), model.markers)
    prompt = model.encode("rename total to subtotal in src/cart.py")
    guided: list[float] = []
    free: list[float] = []
    for _ in range(rounds):
        if what == "text":
            _, matcher = grammars.step({}, LONGEST)
        else:
            _, matcher, _ = grammars.answer(LIST, LONGEST, 40)
        guided.append(_rate(model, prompt, tokens, Guide(matcher, model.end_tokens)))
        free.append(_rate(model, prompt, tokens, None))
    return round(median(guided) / median(free), 3)


def _rate(model: LanguageModel, prompt: list[int], tokens: int, guide: Guide | None) -> float:
    """Tokens a second after the first, through mlx-lm's own loop. An end token does not end it: so all run as far."""
    import mlx.core as mx
    from mlx_lm.generate import generate_step

    processors = [_Mask(guide, model.end_tokens)] if guide else None
    stream = generate_step(mx.array(prompt), model._model, max_tokens=tokens, logits_processors=processors)
    next(stream)
    begun = time.perf_counter()
    count = sum(1 for _ in stream)
    return count / (time.perf_counter() - begun)


class _Mask:
    """The masking of the model process, with the ends barred while there is anything else."""

    def __init__(self, guide: Guide, ends: frozenset[int]) -> None:
        self._guide, self._ends, self._seen = guide, ends, None

    def __call__(self, tokens, logits):
        import mlx.core as mx
        import numpy as np

        new = [] if self._seen is None else tokens[self._seen :].tolist()
        self._seen = int(tokens.size)
        for token in new:
            self._guide.took(token)
        allowed = self._guide.allowed()
        if allowed is None:
            return logits
        bits = np.zeros(int(logits.shape[-1]), bool)
        known = np.unpackbits(np.frombuffer(allowed, np.uint8), bitorder="little")[: bits.size]
        bits[: known.size] = known
        bits[sorted(self._ends)] = False
        return mx.where(mx.array(bits)[None], logits, mx.array(-float("inf"), logits.dtype))


def switch_us(model: LanguageModel) -> float:
    """The slower of two grammars that take turns, each offered anew as a request brings it."""
    grammars = Grammars(model.grammar_tokenizer(), model.markers)
    whole = offered()
    texts = [json.dumps({i: [t.model_dump() for t in ts] for i, ts in whole.items() if i in keep}) for keep in _PARTS]
    times: list[list[float]] = [[], []]
    for _ in range(50):
        for number, text in enumerate(texts):
            intents = {i: tuple(ToolSchema(**t) for t in ts) for i, ts in json.loads(text).items()}
            begun = time.perf_counter()
            grammars.step(intents, LONGEST)
            times[number].append(time.perf_counter() - begun)
    return round(max(median(each[1:]) for each in times) * 1e6, 1)


_PARTS = (frozenset(Intent), frozenset({Intent.READ_FILE, Intent.CODE}))


def stages(model: LanguageModel, rounds: int) -> dict[str, float]:
    """Intent and call, guided, ÷ the call alone, unguided; after the same prompt, and with the prompt cached."""
    intents = offered()
    shown = renderer(model.template(thinking=False), model.control_tokens, model.begin, model.end)
    prompt = model.encode(shown.render([ChatMessage(role="user", content="read src/cart.py")], intents))
    prompt = prompt[-PROMPT:]
    call = spell_call("read_file", {"path": "src/cart.py"})
    declared = spell_call("select_active_intent", {"intent": "READ_FILE"})
    grammars = Grammars(model.grammar_tokenizer(), model.markers)
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for cold in (True, False):
            for how in ("alone", "one_by_one", "forwarded"):
                text = call if how == "alone" else declared + call
                guide = None if how == "alone" else Guide(grammars.step(intents, LONGEST)[1], model.end_tokens)
                taken = _spoken(model, prompt, model.encode(text), guide, forward=how == "forwarded", cold=cold)
                times.setdefault(f"{how}_{'cold' if cold else 'cached'}", []).append(taken)
    return {
        f"{how}_{when}": round(median(times[f"{how}_{when}"]) / median(times[f"alone_{when}"]), 3)
        for how in ("one_by_one", "forwarded")
        for when in ("cold", "cached")
    }


def _spoken(model, prompt, tokens, guide, *, forward: bool, cold: bool) -> float:
    """Seconds to say exactly these tokens after the prompt, which with `cold` is read within that time."""
    import mlx.core as mx

    cache = model.new_cache()
    begun = time.perf_counter()
    mx.eval(model._model(mx.array(prompt[:-1])[None], cache=cache.layers))
    if not cold:
        begun = time.perf_counter()
    fed, said = [prompt[-1]], 0
    if guide is not None:
        guide.allowed()
    while said < len(tokens):
        logits = model._model(mx.array(fed)[None], cache=cache.layers)[:, -1, :]
        mx.argmax(logits, axis=-1).item()
        fed = [tokens[said]]
        said += 1
        if guide is not None:
            guide.took(fed[0])
            ahead = guide.forced(len(tokens) - said) if forward else []
            # A canonical spelling may differ from the tokens here in nothing: they are the tokenizer's own.
            fed += ahead
            said += len(ahead)
            if said < len(tokens):
                guide.allowed()
    return time.perf_counter() - begun


def table(report: dict[str, float]) -> str:
    met = {True: "met", False: "missed"}
    lines = []
    for name, value in report.items():
        goal = GOALS[next(key for key in GOALS if name.startswith(key.split("_")[0]))]
        judged = value >= goal if name.startswith("speed") else value <= goal
        lines.append(f"{name:34}{value:10}   goal {goal}: {met[judged]}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
