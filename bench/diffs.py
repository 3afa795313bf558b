"""The diff of an edited file that a person is shown, compared with difflib's and GNU diff's, alternately.

Remit: `unified`, which decodes the texts, makes the diff, and makes hidden characters visible. difflib: `unified_diff`
of the split texts. GNU diff: `diff -u` of two files, with the start of its process. No result is reused, because each
round has texts of its own. Processor time counts.
"""

from __future__ import annotations

import argparse
import difflib
import json
import random
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from remit_server.harness.approval.review import unified
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import image_of
from remit_server.workspace.paths.workspace_path import WorkspacePath

SIZES = ((10_000, 1), (10_000, 100), (100_000, 1_000))
"""The number of lines of a file, and how many of them are edited."""
GOAL = 2.0
Texts = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    rows = [measure(lines, edits, arguments.rounds) for lines, edits in SIZES]
    print(json.dumps(rows) if arguments.json else table(rows))


def measure(lines: int, edits: int, rounds: int) -> dict[str, float]:
    """Returns the median milliseconds of each, and Remit's time divided by GNU diff's."""
    times: dict[str, list[float]] = {"remit": [], "difflib": [], "gnu": []}
    for texts in make_texts(lines, edits, rounds):
        times["remit"].append(time_of(lambda texts=texts: show(texts)))
        times["difflib"].append(time_of(lambda texts=texts: compare(texts)))
        times["gnu"].append(time_of_gnu(texts))
    found = {name: round(median(taken), 2) for name, taken in times.items()}
    return {"lines": lines, "edits": edits, **found, "ratio": round(found["remit"] / found["gnu"], 2)}


def make_texts(lines: int, edits: int, rounds: int) -> Iterator[Texts]:
    """Yields texts in which a third of the lines repeat, as in code; edits replace, remove and add lines."""
    for seed in range(rounds):
        choose = random.Random(seed)
        repeated = ["", "    }", "    return result", "else:"]
        old = [choose.choice(repeated) if n % 3 == 0 else f"    value_{n} = {choose.random()}" for n in range(lines)]
        new = list(old)
        for at in sorted(choose.sample(range(lines), edits), reverse=True):
            new[at : at + choose.choice((0, 1, 1, 2))] = [f"an edit of {at}"] * choose.choice((0, 1, 1, 3))
        yield "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)


def show(texts: Texts) -> str:
    old, new = texts
    return unified(FileChange(WorkspacePath("x.py", Path()), image_of(old.encode()), new.encode()))


def compare(texts: Texts) -> str:
    old, new = (text.splitlines(keepends=True) for text in texts)
    return "".join(difflib.unified_diff(old, new, "a/x.py", "b/x.py"))


def time_of(work: Callable[[], object]) -> float:
    """Returns the milliseconds of processor time."""
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1e3


def time_of_gnu(texts: Texts) -> float:
    """Returns the milliseconds of processor time of `diff -u`, with its start."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in zip(("old", "new"), texts, strict=True):
            (Path(folder) / name).write_text(text)
        begun = used_by_children()
        subprocess.run(["diff", "-u", "old", "new"], cwd=folder, check=False, stdout=subprocess.DEVNULL)
        return (used_by_children() - begun) * 1e3


def used_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(rows: list[dict[str, float]]) -> str:
    head = f"{'lines':>8}{'edits':>7}{'remit ms':>10}{'difflib ms':>12}{'GNU diff ms':>13}{'remit / GNU':>13}"
    texts = [
        f"{row['lines']:8}{row['edits']:7}{row['remit']:10}{row['difflib']:12}{row['gnu']:13}{row['ratio']:13}"
        f"  goal at most {GOAL}: {'met' if row['ratio'] <= GOAL else 'missed'}"
        for row in rows
    ]
    return "\n".join([head, *texts])


if __name__ == "__main__":
    main()
