"""What guided decoding costs: compared with unguided mlx-lm, with the same model, alternately in one run.

Speed: tokens per second of guided text and of a guided list through the engine's own generations, compared with
mlx-lm's loop without a grammar, for as many tokens of the same prompt. Switch: microseconds to a fresh matcher of a
cached grammar. Two stages: an intent and a call under the grammar, through the same generations, compared with as many
unguided tokens as the call alone has. Only the model's time counts: prompt and tokens.
"""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, SLF001

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
from remit_server.models.dialects.table import COMPACT, spell_call
from remit_server.models.local.host.caches import Prompt
from remit_server.models.local.host.generation import Generation
from remit_server.models.local.host.grammar.guide import Guide
from remit_server.models.local.host.grammar.step_grammar import Grammars
from remit_server.models.local.host.mlx_backend import LanguageModel, prepare
from remit_server.models.local.host.output.output_reader import OutputReader, Verbatim
from remit_server.models.local.host.prompts import renderer
from remit_server.models.local.wire import ChatMessage, Generate
from remit_server.models.ports import ToolSpec
from remit_server.tools.table import TOOLS

LONGEST = 16_384
PROMPT = 800
"""The number of prompt tokens before the two stages."""
GOALS = {"speed": 0.9, "switch_us": 1000.0, "stages": 1.1}
LIST = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    prepare()
    from model import random_llama
    from tiny_models import tiny_model

    with tempfile.TemporaryDirectory() as folder:
        random = tiny_model("large", Path(folder) / "model", layers=4, width=256)
        large = random_llama(Path(folder) / "llama-60m")
        models = {"random": _loaded(random), "60m": _loaded(large)}
    report = {
        f"speed_random_{what}": speed(models["random"], what, arguments.tokens, arguments.rounds)
        for what in ("text", "list")
    }
    report["switch_us"] = switch_us(models["random"])
    for name, rounds in (("random", arguments.rounds), ("60m", 3)):
        report |= {f"stages_{name}_{how}": ratio for how, ratio in stages(models[name], rounds).items()}
    print(json.dumps(report) if arguments.json else table(report))


def _loaded(folder: Path) -> LanguageModel:
    return LanguageModel.load(folder, lambda done, total: None)


def offered() -> dict[str, tuple[ToolSpec, ...]]:
    """Returns every intent with its tools, as an ordinary step offers them."""
    specs = {n: ToolSpec(name=n, description=t.summary, parameters=t.schema) for n, t in TOOLS.items()}
    opened = {i.value: tuple(specs[n] for n in allowed_tools(i, INTENT_TOOLS) if n in specs) for i in Intent}
    return {intent: tools for intent, tools in opened.items() if tools}


def speed(model: LanguageModel, what: str, tokens: int, rounds: int) -> float:
    """Returns guided tokens per second divided by unguided ones, over all rounds together.

    On two cores a token of the small model takes either 2.1 or 3.3 ms, depending on how the threads are placed, so a
    median would be one of these two values.
    """
    grammars = Grammars(model.grammar_tokenizer(model.spelling(COMPACT)), model.spelling(COMPACT))
    prompt = model.encode("rename total to subtotal in src/cart.py")
    guided: list[float] = []
    free: list[float] = []

    def with_grammar() -> None:
        if what == "text":
            closer, (_, matcher) = None, grammars.step({}, LONGEST)
        else:
            _, matcher, closer = grammars.answer(LIST, LONGEST, 40)
            closer.set_limit(LONGEST)
        guide = Endless(matcher, model.end_tokens, closer)
        finished = generated(model, Prompt(tuple(prompt), 0, 0, model.new_cache()), guide, tokens)
        guided.append(finished.decode_s / (finished.completion_tokens - 1))

    def without() -> None:
        _, decode_s = unguided(model, prompt, tokens, model.new_cache())
        free.append(decode_s / (tokens - 1))

    for number in range(4 * rounds):
        # Alternate the order, because the second run finds the processor warm.
        for run in (with_grammar, without) if number % 2 else (without, with_grammar):
            run()
    return round(sum(free) / sum(guided), 3)


class Endless(Guide):
    """Forbids the end while another token is possible, so that all generations have the same length."""

    def allowed(self):
        mask = super().allowed()
        return mask if mask is None else only(mask, but=self._end_tokens)


class Saying(Guide):
    """Makes the model write the tokens of one text and then the end; the grammar is still consulted."""

    def __init__(self, matcher, end_tokens, tokens) -> None:
        super().__init__(matcher, end_tokens)
        self._tokens, self._said = tokens, 0

    def allowed(self):
        mask = super().allowed()
        wanted = self._tokens[self._said : self._said + 1] or sorted(self._end_tokens)[:1]
        return mask if mask is None else only(mask, wanted)

    def accept(self, token) -> None:
        super().accept(token)
        self._said += 1


def only(mask: bytes, wanted=(), but=()) -> bytes:
    """Returns the mask with only the wanted bits, or without the bits in `but`."""
    bits = int.from_bytes(mask, "little")
    bits &= sum(1 << token for token in wanted) if wanted else ~sum(1 << token for token in but)
    return bits.to_bytes(len(mask), "little")


def generated(model: LanguageModel, prompt: Prompt, guide: Guide, tokens: int):
    """Runs one generation as the engine does, and returns its own final report."""
    request = Generate(id="1", session_id="s", messages=(), intents={}, max_tokens=tokens)
    output = OutputReader(request.id, Verbatim())
    one = Generation(model, request, prompt, (None, guide), output, text="", max_tokens=tokens, emit=lambda frame: None)
    while one.reading:
        one.read()
    while not one.over:
        one.begin_token()
        one.take_token()
    return one.finished()


def unguided(model: LanguageModel, prompt: list[int], tokens: int, cache) -> tuple[float, float]:
    """Returns the seconds to the first token in mlx-lm's own loop, and from there to the last; the text is made too."""
    import mlx.core as mx
    from mlx_lm.generate import generate_step

    begun = time.perf_counter()
    stream = generate_step(mx.array(prompt), model._model, max_tokens=tokens, prompt_cache=cache.layers)
    spelled = model._tokenizer.detokenizer
    first = 0.0
    for token, _ in stream:
        spelled.add_token(token)
        first = first or time.perf_counter()
        spelled.last_segment  # noqa: B018 - the text is made when it is asked for
    return first - begun, time.perf_counter() - first


def switch_us(model: LanguageModel) -> float:
    """Returns the microseconds of the slower of two grammars that alternate; each is parsed anew, as with a request."""
    grammars = Grammars(model.grammar_tokenizer(model.spelling(COMPACT)), model.spelling(COMPACT))
    whole = offered()
    texts = [json.dumps({i: [t.model_dump() for t in ts] for i, ts in whole.items() if i in keep}) for keep in _PARTS]
    times: list[list[float]] = [[], []]
    for _ in range(50):
        for number, text in enumerate(texts):
            intents = {i: tuple(ToolSpec(**t) for t in ts) for i, ts in json.loads(text).items()}
            begun = time.perf_counter()
            grammars.step(intents, LONGEST)
            times[number].append(time.perf_counter() - begun)
    return round(max(median(each[1:]) for each in times) * 1e6, 1)


_PARTS = (frozenset(Intent), frozenset({Intent.READ_FILE, Intent.CODE}))


def stages(model: LanguageModel, rounds: int) -> dict[str, float]:
    """Returns the time of a guided intent and call divided by that of the unguided call alone, with the prompt read
    first or cached."""
    intents = offered()
    shown = renderer(model.template(thinking=False), model.control_tokens, model.begin, model.end)
    prompt = model.encode(shown.render([ChatMessage(role="user", content="read src/cart.py")], intents))[-PROMPT:]
    call = spell_call(COMPACT, "read_file", {"path": "src/cart.py"})
    both = model.encode(spell_call(COMPACT, "select_active_intent", {"intent": "READ_FILE"}) + call)
    alone = len(model.encode(call)) + 1  # and the end token
    grammars = Grammars(model.grammar_tokenizer(model.spelling(COMPACT)), model.spelling(COMPACT))
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for when in ("cold", "cached"):
            held = len(prompt) - 1 if when == "cached" else 0
            guide = Saying(grammars.step(intents, LONGEST)[1], model.end_tokens, both)
            start = Prompt(tuple(prompt), held, 0, cache_of(model, prompt[:held]))
            finished = generated(model, start, guide, len(both) + 1)
            times.setdefault(f"governed_{when}", []).append(finished.prompt_s + finished.decode_s)
            took = unguided(model, prompt[held:], alone, cache_of(model, prompt[:held]))
            times.setdefault(f"alone_{when}", []).append(sum(took))
    return {
        when: round(median(times[f"governed_{when}"]) / median(times[f"alone_{when}"]), 3)
        for when in ("cold", "cached")
    }


def cache_of(model: LanguageModel, tokens: list[int]):
    """Returns a cache with these tokens."""
    cache = model.new_cache()
    if tokens:
        model.read(tokens, cache)
    return cache


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
