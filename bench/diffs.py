"""The diff that a person is shown of one edit in 10,000 lines, beside difflib's of the same texts, by turns in one run.

Remit: `unified`, so decoding, the diff, and hidden characters made visible; difflib: `unified_diff` of the split texts.
"""

from __future__ import annotations

import argparse
import difflib
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from remit_server.harness.approval.diffs import unified
from remit_server.tools.spec import FileChange
from remit_server.workspace.files import image_of
from remit_server.workspace.paths import WorkspacePath

LINES = 10_000
GOAL = 1 / 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    report = measured(arguments.rounds)
    print(json.dumps(report) if arguments.json else table(report))


def measured(rounds: int) -> dict[str, float]:
    seeded = random.Random(1)
    words = [f"word{number}" for number in range(500)]
    before = [f"{' '.join(seeded.choices(words, k=6))}\n" for _ in range(LINES)]
    after = [*before[: LINES // 2], "a line that was changed\n", *before[LINES // 2 + 1 :]]
    old, new = "".join(before), "".join(after)
    change = FileChange(WorkspacePath("x.py", Path()), image_of(old.encode()), new.encode())

    def theirs() -> str:
        return "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/x.py", "b/x.py"))

    assert unified(change) == theirs()
    times: dict[str, list[float]] = {"remit": [], "difflib": []}
    for _ in range(rounds):
        times["remit"].append(timed(lambda: unified(change)))
        times["difflib"].append(timed(theirs))
    figures = {
        f"{name}_{key}_ms": round(of(taken), 2)
        for name, taken in times.items()
        for key, of in (("median", median), ("min", min))
    }
    return {**figures, "ratio": round(min(times["remit"]) / min(times["difflib"]), 3)}


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of processor time."""
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1e3


def table(report: dict[str, float]) -> str:
    return "\n".join(
        [
            f"one edit in {LINES} lines, processor time in ms{'median':>10}{'min':>10}",
            *(
                f"{name:43}{report[f'{name}_median_ms']:10}{report[f'{name}_min_ms']:10}"
                for name in ("difflib", "remit")
            ),
            f"ratio {report['ratio']}, goal at most {GOAL}: {'met' if report['ratio'] <= GOAL else 'missed'}",
        ]
    )


if __name__ == "__main__":
    main()
