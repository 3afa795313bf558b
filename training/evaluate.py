"""Measures the exported model on held-out tasks and writes its card: `python -m training.evaluate`.

Whole generations only.

Needs the `mlx` extra, and no torch. Decodes greedily and without a grammar.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from keyword import iskeyword
from pathlib import Path

from training import generator, identifiers, sources
from training.words import HELD_OUT

CASES = Path(__file__).parent / "held_out.json"
MAX_TOKENS = 256

CARD = """\
# The embedded model

Remit's default when nothing is configured: a decoder of 1.2 million parameters (5 layers, width 128, 4 heads,
a token shift over 8 positions, 1,024 BPE tokens), trained by this repository's own `training/` on generated
conversations. It runs on MLX, on a CPU too, and needs no network.

**What it can do:** rename one identifier in one file ("rename total to subtotal in src/cart.py"): it reads
the file, edits every whole-word occurrence, and says so; it stops and says why where the name does not occur,
the file is missing, or a call is refused.

**What it cannot do:** anything else. It says that it only renames. It sees about the first 2,400 characters
of a file. It is no judge of whether a rename makes sense. Long or odd names are where it fails: what it
proposes is a diff, shown before anything is written, and a failed copy shows there.

**Scores**, exact from end to end (each generation of a task compared character by character, greedy, without
the grammar that guides it in use), on identifiers, paths, phrasings and line templates that training never
saw; "real excerpts" are windows of Python's standard library, which is not among the training sources.

| set | task | exact | share |
|---|---|---|---|
{rows}

Written by `python -m training.evaluate`, which also writes `evaluation.json` with the scores of each step.
"""

Generate = Callable[[str], str]
"""Continues a rendered prompt up to the end marker, which is left out."""


@dataclass(slots=True)
class Score:
    """Exact generations by step number, and conversations exact from end to end, by kind."""

    exact: Counter[str] = field(default_factory=Counter)
    total: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)

    def as_json(self) -> dict[str, dict[str, float]]:
        """Return each count with its share."""
        return {
            name: {"exact": self.exact[name], "of": total, "share": round(self.exact[name] / total, 4)}
            for name, total in sorted(self.total.items())
        }


def load_generate() -> Generate:
    """Load the exported model; the returned function decodes greedily, without a grammar."""
    with suppress(OSError):  # optional, and 7 to 25 times faster where it is installed
        ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)
    import mlx.core as mx
    from mlx_lm.generate import generate_step

    from remit_server.models.embedded import load_embedded

    model, tokenizer = load_embedded()
    end = tokenizer.eos_token_id

    def generate(prompt: str) -> str:
        tokens: list[int] = []
        for token, _ in generate_step(mx.array(tokenizer.encode(prompt)), model, max_tokens=MAX_TOKENS):
            if token == end:
                break
            tokens.append(token)
        return tokenizer.decode(tokens)

    return generate


def measure(conversations: Iterator[generator.Conversation], generate: Generate) -> Score:
    """Run each conversation step by step, feeding the expected tool results, and compare every generation."""
    score = Score()
    for conversation in conversations:
        prompt = generator.segments(conversation)[0][0]
        whole = True
        for number, step in enumerate(conversation.steps, 1):
            produced = generate(f"{prompt}<|assistant|>")
            exact = produced == step.expected
            whole = whole and exact
            _count(score, f"{conversation.kind} step {number}", exact)
            if not exact:
                score.wrong.append((conversation.request, step.expected, produced))
            results = "".join(f"<|tool|>{generator.shown(result)}<|end|>" for result in step.results)
            prompt += f"<|assistant|>{step.expected}<|end|>{results}"
        _count(score, f"{conversation.kind} end to end", whole)
        _count(score, "all end to end", whole)
    return score


def synthetic(seed: int = 2026) -> Iterator[generator.Conversation]:
    """Generate conversations whose names, paths, phrasings and templates training never saw."""
    rng = random.Random(seed)
    while True:
        yield generator.conversation(rng, held_out=True)


def real(least: int, most: int, seed: int = 2026) -> Iterator[generator.Conversation]:
    """Generate renames over excerpts of the standard library, which is not among the training sources."""
    rng = random.Random(seed)
    while True:
        content = sources.excerpt(rng, sources.standard_library(), rng.randint(least, most))
        found = [name for name in identifiers.IDENTIFIER.findall(content) if len(name) > 2 and not iskeyword(name)]
        if not found:
            continue
        old = rng.choice(found)
        fresh = identifiers.identifier(rng, HELD_OUT)
        new = identifiers.derived(rng, old, HELD_OUT) if rng.random() < 0.5 else fresh
        task = generator.Task(old, new, identifiers.path(rng, HELD_OUT, "py"), content)
        yield generator.from_task(rng, "rename", task, HELD_OUT, held_out=True)


def write_cases(count: int) -> None:
    """Write held-out conversations that end in a rename, as data for the test suite."""
    renames = (conversation for conversation in synthetic(seed=77) if conversation.kind == "rename")
    cases = [
        {"request": case.request, "steps": [asdict(step) for step in case.steps]} for case in islice(renames, count)
    ]
    CASES.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n", "utf-8")


def card(report: dict[str, dict[str, dict[str, float]]]) -> str:
    """The model's card: what it is, what it can do, and the scores just measured."""
    rows = [
        f"| {kind} | {name} | {score['exact']} of {score['of']} | {100 * score['share']:.0f} % |"
        for kind, scores in report.items()
        for name, score in scores.items()
        if name.endswith("end to end")
    ]
    return CARD.format(rows="\n".join(rows))


def main() -> None:
    """Evaluate from the command line and write evaluation.json and CARD.md beside the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--dry", action="store_true", help="print only; write no file")
    parser.add_argument("--show", type=int, default=5, help="wrong generations to print for each set")
    options = parser.parse_args()
    generate = load_generate()
    sets = {
        "held-out synthetic tasks": (synthetic(), options.count),
        "real excerpts, 5 to 40 lines": (real(5, 40), options.count // 2),
        "real excerpts, 200 to 500 lines": (real(200, 500), options.count // 10),
    }
    report: dict[str, dict[str, dict[str, float]]] = {}
    for name, (conversations, count) in sets.items():
        started = time.monotonic()
        score = measure(islice(conversations, count), generate)
        report[name] = score.as_json()
        print(f"{name}: {json.dumps(score.as_json(), indent=1)} in {time.monotonic() - started:.0f} s", flush=True)
        for request, expected, produced in score.wrong[: options.show]:
            print(f"  {request}\n    expected {expected}\n    produced {produced}", flush=True)
    if not options.dry:
        from remit_server.models.embedded import MODEL_DIR

        (MODEL_DIR / "evaluation.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
        (MODEL_DIR / "CARD.md").write_text(card(report), "utf-8")
        write_cases(20)


def _count(score: Score, name: str, exact: bool) -> None:
    score.total[name] += 1
    score.exact[name] += exact


if __name__ == "__main__":
    main()
