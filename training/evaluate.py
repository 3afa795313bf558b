"""Measures the exported model on held-out tasks and writes its card: `python -m training.evaluate`.

Needs the `mlx` extra, and no torch. Decodes greedily, under the grammar that guides the model in use and without it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from remit_server.models.embedded import MODEL_DIR
from training import cases, generator
from training.forced import Judge
from training.shipped import attempts

HELD_OUT = Path(__file__).parent / "held_out.json"
NAMES = {
    "rename": "rename a name in a file", "replace": "replace line N", "delete": "delete line N",
    "after": "insert a line after line N", "before": "insert a line before line N", "import": "add an import",
    "constant": "change the value of a name", "docstring": "add a docstring (Python)",
    "which": "say which file defines a name", "run": "run a command", "refused": "stop and say so when refused",
    "other": "decline what it cannot do",
}  # fmt: skip
ENOUGH = 0.95
"""The share from which on a skill counts as one."""

CARD = """\
# The embedded model

Remit's default when nothing is configured: a decoder of 1.2 million parameters (5 layers, width 128, 4 heads,
a token shift over 8 positions, 1,024 BPE tokens), trained by this repository's own `training/` on generated
conversations. It runs on MLX, on a CPU too, and needs no network.

**What it can do**, asked in one sentence of English:

{able}

**What it is not good enough for**, though it may try (fewer than {enough} % right): {unable}.

**What it cannot do:** anything else; it says so. It is no judge of whether a change makes sense. What it proposes
is a diff, shown before anything is written.

**How it is guided.** It is offered one step of a skill at a time, and what it writes into a call is a piece of
the request or of the last result, whole (`copies.py`); so it chooses the skill and the pieces, and spells neither
names nor lines by itself. Words of the request narrow what is offered: a line named by its number is read, "after
line", "delete", "rename", "docstring" or an import statement open the calls that fit them, and a text after a colon
is taken whole (`requests.py`). The sentence that ends a turn follows from its last call and result (`endings.py`).
The column "alone" says what the network can do without any of this.

**Scores:** tasks whose every generation is exact, greedy, guided as in use; "alone" is without any grammar. The
interval is Wilson's, 95 %. The rules of the guide were written while looking at errors on other held-out tasks;
the seed of those measured here came after them, and so did most of the phrasings. Identifiers, paths, phrasings,
commands and line templates are ones that training never saw, and so are the file types (Java, C, Lua, Ruby, Kotlin,
ini, sql, rst, tex), Python for docstrings aside. Refusals are counted with the skill and once more by themselves.

| task | exact | share | interval | alone |
|---|---|---|---|---|
{rows}

Through the model process, the dispatcher and policy, in real files, compared byte for byte: {whole} of {of} tasks of
`training/held_out.json`, which are the skills above, some forbidden or impossible, and some to decline.

Written by `python -m training.evaluate`, which also writes `evaluation.json`.
"""

Scores = dict[str, dict[str, int]]


def scores(count: int, show: int) -> Scores:
    """Judge `count` held-out conversations of each skill; prints the first `show` wrong ones of each."""
    judge = Judge()
    found: dict[str, Counter[str]] = {name: Counter() for name in NAMES}
    for skill in generator.MIX:
        rng = random.Random(27182)
        wrong = 0
        for _ in range(count):
            task = generator.conversation(rng, held_out=True, skill=skill)
            verdict = judge.judge(task)
            for name in {skill, task.kind}:
                found[name].update(of=1, guided=verdict.guided, alone=verdict.unguided)
            wrong += not verdict.guided
            if not verdict.guided and wrong <= show:
                print(f"{skill}: {task.request}\n    {verdict.wrong}", flush=True)
        print(skill, dict(found[skill]), flush=True)
    return {name: dict(counter) for name, counter in found.items()}


def able(score: dict[str, int]) -> bool:
    """Whether a skill is good enough to be called one."""
    return score["guided"] >= ENOUGH * score["of"]


def interval(right: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, share = 1.96, right / of
    centre = share + z * z / (2 * of)
    spread = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (centre - spread) / (1 + z * z / of), (centre + spread) / (1 + z * z / of)


def card(found: Scores, whole: int, of: int) -> str:
    """The model's card: what it can do, and the scores just measured."""
    rows = []
    for name, score in found.items():
        low, high = interval(score["guided"], score["of"])
        share, alone = score["guided"] / score["of"], score["alone"] / score["of"]
        line = f"{score['guided']} of {score['of']} | {share:.1%} | {low:.0%} to {high:.0%} | {alone:.0%}"
        rows.append(f"| {NAMES[name]} | {line} |")
    return CARD.format(
        able="\n".join(f"- {NAMES[name]}" for name, score in found.items() if able(score)),
        unable=", ".join(NAMES[name] for name, score in found.items() if not able(score)) or "nothing of the above",
        enough=round(100 * ENOUGH), rows="\n".join(rows), whole=whole, of=of,
    )  # fmt: skip


def write_cases(found: Scores, each: int) -> None:
    """Write held-out cases of the skills that are good enough, and of stopping and declining, for the test suite."""
    rng = random.Random(4711)
    wanted = [name for name in cases.CASES if name not in found or able(found[name])]
    made = [asdict(cases.CASES[name](rng)) for name in wanted for _ in range(each)]
    HELD_OUT.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")


async def end_to_end() -> tuple[int, int]:
    """Run the written cases as people meet the model: how many are right, of how many."""
    held_out = [cases.Case(**case) for case in json.loads(HELD_OUT.read_text("utf-8"))]
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        async for outcome in attempts(Path(folder), held_out):
            right += outcome.right
            if not outcome.right:
                print(
                    outcome.case.request, outcome.case.answer, outcome.answer, *outcome.calls, sep="\n    ", flush=True
                )
    return right, len(held_out)


def main() -> None:
    """Evaluate from the command line and write evaluation.json and CARD.md beside the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--each", type=int, default=4, help="cases of each skill for the test suite")
    parser.add_argument("--dry", action="store_true", help="print only; write no file")
    parser.add_argument("--show", type=int, default=5, help="wrong generations to print for each skill")
    options = parser.parse_args()
    found = scores(options.count, options.show)
    if options.dry:
        return
    write_cases(found, options.each)
    whole, of = asyncio.run(end_to_end())
    report = {"skills": found, "end to end": {"right": whole, "of": of}}
    (MODEL_DIR / "evaluation.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    (MODEL_DIR / "CARD.md").write_text(card(found, whole, of), "utf-8")


if __name__ == "__main__":
    main()
