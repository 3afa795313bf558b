"""Keeps how long each file of tests takes, so that the next run begins with the longest files (CONTRIBUTING.md).

The last runs of this checkout count, else `tests/durations.json`, which `make durations` writes from such runs, because
a fresh clone, as in CI, knows no run of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
OWN = ROOT / ".cache" / "durations.json"
SHIPPED = ROOT / "tests" / "durations.json"


def read_durations() -> dict[str, float]:
    """Returns seconds by the path of the file, relative to the root; empty if no run is known."""
    known: dict[str, float] = {}
    for file in (SHIPPED, OWN):
        if file.exists():
            known |= json.loads(file.read_text("utf-8"))
    return known


def note_durations(ran: Iterable[tuple[str, float]], own: Path = OWN) -> None:
    """Adds up what each file took in a run, and keeps it beside what is known of others."""
    took: dict[str, float] = {}
    for node, seconds in ran:
        file = node.partition("::")[0]
        took[file] = took.get(file, 0.0) + seconds
    known: Mapping[str, float] = json.loads(own.read_text("utf-8")) if own.exists() else {}
    # Keep the longest time, because a run may have run only a part of a file.
    longest = {file: max(seconds, known.get(file, 0.0)) for file, seconds in took.items()}
    _write(own, {**known, **longest})


def ship_durations() -> None:
    """Writes what the last runs took for everybody; leaves out files that are gone or that take less than a second."""
    there = {file: took for file, took in read_durations().items() if (ROOT / file).exists() and took >= 1}
    _write(SHIPPED, there)


def _write(file: Path, durations: Mapping[str, float]) -> None:
    file.parent.mkdir(exist_ok=True)
    whole = {name: round(seconds, 1) for name, seconds in sorted(durations.items())}
    made = file.with_suffix(f".{os.getpid()}")
    made.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    made.replace(file)


if __name__ == "__main__":
    ship_durations()
