"""A file of 300 lines is written again with ten lines changed: with guesses, compared with none, on the same model.

The prompt has the file with numbered lines, as `read_file` shows it. The model's answer is given, token for token: the
call of `write_file` with the changed file, under the grammar of a step. Both sides use the engine's own generations,
alternately, with a prompt that has been read; the seconds are those of the answer. Nothing is kept between runs.
"""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, SLF001

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from guided import LONGEST, Saying, offered

from remit_server.models.dialects.table import COMPACT, spell_call
from remit_server.models.local.host.caches import Prompt
from remit_server.models.local.host.generation import Generation
from remit_server.models.local.host.grammar.step_grammar import Grammars
from remit_server.models.local.host.mlx_backend import LanguageModel, prepare
from remit_server.models.local.host.output.output_reader import OutputReader, Verbatim
from remit_server.models.local.host.speculation import Drafter, find_files, make_source
from remit_server.models.local.wire import Generate

LINES, CHANGED = 300, 10
GOAL = 0.6
NAMES = ("total", "price", "order", "cart", "item", "count", "name", "line", "value", "rate", "part", "code")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="of the file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    prepare()
    from model import random_llama

    before, after = files(arguments.lines, random.Random(arguments.seed))
    with tempfile.TemporaryDirectory() as folder:
        large = random_llama(Path(folder) / "llama-60m")
        model = LanguageModel.load(large, lambda done, total: None)
        report = {"60 million": compare(model, before, after, arguments.rounds)}
    print(json.dumps(report) if arguments.json else table(report))


def files(lines: int, rng: random.Random) -> tuple[str, str]:
    """Returns a file of small functions, and the same with one word changed in some lines."""
    made = []
    while len(made) < lines:
        name, first, second = rng.sample(NAMES, 3)
        made += [
            f"def {name}_{len(made)}({first}, {second}={rng.randrange(100)}):",
            f'    """Return the {name} of a {first}."""',
            f"    if {first} > {rng.randrange(1000)}:",
            f"        return {second} * {rng.randrange(50)} + {first}",
            f"    return {name}_of({first}) - {second}",
            "",
        ]
    changed = made[:lines]
    for number in rng.sample([n for n, line in enumerate(changed) if line.strip()], min(CHANGED, lines)):
        words = changed[number].split(" ")
        words[-1] = f"{rng.choice(NAMES)}_{rng.randrange(1000)}"
        changed[number] = " ".join(words)
    return "\n".join(made[:lines]) + "\n", "\n".join(changed) + "\n"


def compare(model: LanguageModel, before: str, after: str, rounds: int) -> dict[str, float]:
    """Returns the seconds of both sides, measured alternately; their texts must be the same."""
    shown = "\n".join(f"{number}|{line}" for number, line in enumerate(before.splitlines(), 1))
    prompt = model.encode(f"shop.py (lines 1-{LINES} of {LINES})\n{shown}")
    call = spell_call(COMPACT, "write_file", {"path": "shop.py", "content": after})
    said = model.encode(spell_call(COMPACT, "select_active_intent", {"intent": "WRITE_FILE"}) + call)
    spelling = model.spelling(COMPACT)
    grammars = Grammars(model.grammar_tokenizer(spelling), spelling)
    sources = [make_source(model.encode(file)) for file in find_files([shown], COMPACT.encoding)]
    times: dict[bool, list[float]] = {True: [], False: []}
    texts = set()
    for number in range(rounds):
        for guesses in (True, False) if number % 2 else (False, True):
            _, matcher = grammars.step(offered(), 16 * LONGEST)
            guide = Saying(matcher, model.end_tokens, said)
            finished, text = answered(model, prompt, guide, len(said) + 1, Drafter(sources) if guesses else None)
            times[guesses].append(finished.decode_s)
            texts.add(text)
    assert len(texts) == 1, "the answers differ"
    assert guide._said >= len(said), "not all of it was said"
    with_s, without_s = median(times[True]), median(times[False])
    return {
        "tokens": len(said),
        "without_s": round(without_s, 2),
        "with_s": round(with_s, 2),
        "ratio": round(with_s / without_s, 3),
    }


def answered(model: LanguageModel, tokens: list[int], guide, most: int, drafter: Drafter | None):
    """Runs one generation from a prompt that has been read, and returns what it wrote."""
    request = Generate(id="1", session_id="s", messages=(), intents={}, max_tokens=most, temperature=0.0)
    said: list[str] = []

    def emit(frame) -> None:
        said.append(getattr(frame, "text", ""))

    prompt = Prompt(tuple(tokens), 0, 0, model.new_cache())
    output = OutputReader(request.id, Verbatim())
    one = Generation(
        model, request, prompt, (None, guide), output, text="", max_tokens=most, emit=emit, drafter=drafter
    )
    while one.reading:
        one.read()
    while not one.over:
        one.begin_token()
        one.take_token()
    return one.finished(), "".join(said)


def table(report: dict[str, dict[str, float]]) -> str:
    lines = ["| model | tokens | without, s | with, s | ratio | goal |", "|---|---|---|---|---|---|"]
    for name, figures in report.items():
        met = "met" if figures["ratio"] <= GOAL else "missed"
        lines.append(f"| {name} | {' | '.join(str(value) for value in figures.values())} | {GOAL}: {met} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
