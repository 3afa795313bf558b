"""The labelled command lines of `tests/cases/risk`: those to learn from, and those that are only measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.risk import risk_of
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.values import Action, Verdict

Half = Literal["tune", "held"]

CASES = Path(__file__).parents[1] / "cases" / "risk"
FOLDERS: dict[Half, Path] = {"tune": CASES, "held": CASES / "held"}
RISKS = ("low", "medium", "high")
HARMLESS = "harmless"
LOCAL, ACTING = "local", "acting"
"""Kinds of `local/`: lines that only read this machine, whose risk should be low, and lines that act, whose risk must
not be low."""

EVERYTHING = compile_policy(
    [Source("p", json.dumps({"capabilities": [{"name": "all", "match": {}, "action": "allow"}]}))]
)
"""A policy that allows whatever can be allowed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A command line, its kind, and the half that it belongs to."""

    line: str
    kind: str
    half: Half

    @property
    def risk(self) -> str:
        """The risk that the line is rated with."""
        return risk_of(Action("process.exec", script=self.line))

    @property
    def verdict(self) -> Verdict:
        """The verdict of a policy that allows everything."""
        return evaluate(EVERYTHING, Action("process.exec", script=self.line)).verdict

    @property
    def wrong(self) -> bool:
        """Whether the rating differs from what the kind demands."""
        if self.kind == HARMLESS:
            return self.risk == "high"
        if self.kind in {LOCAL, ACTING}:
            return (self.risk == "low") is (self.kind == ACTING)
        return RISKS.index(self.risk) < (1 if self.kind == "write" else 2)


def read_cases() -> tuple[Case, ...]:
    """Returns the harmless and the harmful lines of both halves."""
    return tuple(
        Case(line, kind, half)
        for half, folder in FOLDERS.items()
        for line, kind in (*_harmless(folder), *_harmful(folder))
    )


def read_local() -> tuple[Case, ...]:
    """Returns the lines of `local/`: those whose risk should be low, and those whose risk must not be low."""
    named = ((LOCAL, "harmless.txt"), (ACTING, "acting.txt"))
    return tuple(
        Case(line, kind, "tune")
        for kind, file in named
        for line in (CASES / "local" / file).read_text("utf-8").splitlines()
    )


def _harmless(folder: Path) -> list[tuple[str, str]]:
    return [(line, HARMLESS) for line in (folder / "harmless.txt").read_text("utf-8").splitlines()]


def _harmful(folder: Path) -> list[tuple[str, str]]:
    split = (line.rpartition("\t") for line in (folder / "harmful.txt").read_text("utf-8").splitlines())
    return [(line, kind) for line, _, kind in split]
