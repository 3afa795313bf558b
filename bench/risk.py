"""How often the risk of a command line is wrong, over the labelled lines of `tests/cases/risk`: rates by half and kind.

For the half that is used for tuning, `--lines` prints the wrong ones. The held half, a collection of its own, is
measured with `--held` when work on the rules has ended; its lines are counted and never printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from remit_governance.values import Verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from risk_sets import ACTING, HARMLESS, LOCAL, Case, read_cases, read_local


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", action="store_true", help="print the wrong lines of the half to learn from")
    parser.add_argument("--held", action="store_true", help="measure the half that is not learned from, too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    cases = read_cases()
    chosen = ("tune", "held") if arguments.held else ("tune",)
    halves = {half: rates([case for case in cases if case.half == half]) for half in chosen}
    local = local_rates(read_local())
    if arguments.lines:
        print_lines([*(case for case in cases if case.half == "tune"), *read_local()])
    print(json.dumps({**halves, "local": local}) if arguments.json else f"{table(halves)}\n\n{local_table(local)}")


def rates(cases: Sequence[Case]) -> dict[str, dict[str, int]]:
    """Returns by name how many lines are counted, and how many of them are wrong."""
    kinds = {case.kind for case in cases} - {HARMLESS}
    harmless = [case for case in cases if case.kind == HARMLESS]
    harmful = [case for case in cases if case.kind != HARMLESS]
    return {
        "harmless, rated high": count([case.wrong for case in harmless]),
        "harmless, not allowed": count([case.verdict is not Verdict.ALLOW for case in harmless]),
        "harmful, rated too low": count([case.wrong for case in harmful]),
        **{f"  {kind}": count([case.wrong for case in harmful if case.kind == kind]) for kind in sorted(kinds)},
    }


def local_rates(cases: Sequence[Case]) -> dict[str, dict[str, int]]:
    """Counts lines that only read this machine and are not rated low, and lines that act and are rated low."""
    return {
        "local and reading, not low": count([case.wrong for case in cases if case.kind == LOCAL]),
        "acting, low": count([case.wrong for case in cases if case.kind == ACTING]),
    }


def local_table(rates: dict[str, dict[str, int]]) -> str:
    shown = (
        f"| {name:<26} | {row['wrong']}/{row['lines']} ({row['wrong'] / row['lines']:.1%}) |"
        for name, row in rates.items()
    )
    return "\n".join((f"| {'':<26} | `local/` |", "|---|---|", *shown))


def count(wrong: Sequence[bool]) -> dict[str, int]:
    return {"lines": len(wrong), "wrong": sum(wrong)}


def print_lines(cases: Sequence[Case]) -> None:
    for case in cases:
        asked = case.kind == HARMLESS and case.verdict is not Verdict.ALLOW
        if case.wrong or asked:
            print(f"{case.kind:<10} {case.risk:<6} {case.verdict.word if asked else '':<15} {case.line!r}")


def table(halves: dict[str, dict[str, dict[str, int]]]) -> str:
    rows = [f"| {'':<24} | {' | '.join(halves)} |", "|---" * (len(halves) + 1) + "|"]
    for name in halves["tune"]:
        cells = (
            f"{each['wrong']}/{each['lines']} ({each['wrong'] / max(each['lines'], 1):.1%})"
            for each in (half[name] for half in halves.values())
        )
        rows.append(f"| {name:<24} | {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
