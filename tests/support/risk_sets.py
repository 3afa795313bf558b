"""The labelled command lines of `tests/cases/risk`, split into a half to learn from and one that is only measured."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from remit_governance.policy.compile import Source, compile_policy
from remit_governance.policy.evaluate import evaluate
from remit_governance.policy.risk import risk_of
from remit_governance.values import Action, Verdict

Half = Literal["tune", "held"]

CASES = Path(__file__).parents[1] / "cases" / "risk"
SEED = 20261123
RISKS = ("low", "medium", "high")
HARMLESS = "harmless"

EVERYTHING = compile_policy(
    [Source("p", json.dumps({"capabilities": [{"name": "all", "match": {}, "action": "allow"}]}))]
)
"""A policy that allows whatever can be allowed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A command line, its kind, and the half that it fell into."""

    line: str
    kind: str
    half: Half

    @property
    def risk(self) -> str:
        """How it is rated."""
        return risk_of(Action("process.exec", script=self.line))

    @property
    def verdict(self) -> Verdict:
        """What a policy says that allows everything."""
        return evaluate(EVERYTHING, Action("process.exec", script=self.line)).verdict

    @property
    def wrong(self) -> bool:
        """Whether it is rated otherwise than its kind demands."""
        if self.kind == HARMLESS:
            return self.risk == "high"
        return RISKS.index(self.risk) < (1 if self.kind == "write" else 2)


def read_cases() -> tuple[Case, ...]:
    """Both sets. Each is split by its lines in alphabetical order, with a fixed seed."""
    harmless = (CASES / "harmless.txt").read_text("utf-8").splitlines()
    harmful = (CASES / "harmful.txt").read_text("utf-8").splitlines()
    labelled = [(line, HARMLESS) for line in harmless], [_labelled(line) for line in harmful]
    return tuple(case for cases in labelled for case in _split(cases))


def _labelled(line: str) -> tuple[str, str]:
    command, _, kind = line.rpartition("\t")
    return command, kind


def _split(cases: list[tuple[str, str]]) -> list[Case]:
    ordered = sorted(cases)
    held = set(random.Random(SEED).sample(range(len(ordered)), len(ordered) // 2))
    return [Case(line, kind, "held" if at in held else "tune") for at, (line, kind) in enumerate(ordered)]
