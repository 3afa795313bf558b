"""Whether a model goes round in circles: what it did last, over and over, with nothing coming of it (AGT-03).

A call that is made again and gives another result is a poll, and no circle.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from types import MappingProxyType
from typing import Literal

from remit_governance.canonical import digest
from remit_governance.intents import SELECT_INTENT, canonical_tool
from remit_server.harness.calls import CallResult, ToolCall

Kind = Literal["same_call", "alternating_calls", "repeated_failure", "repeated_text"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """At how many repetitions in all a model is warned, and at how many the turn ends. `what` it did, in words."""

    warn: int
    stop: int
    what: str


THRESHOLDS: Mapping[Kind, Threshold] = MappingProxyType(
    {
        "same_call": Threshold(3, 5, "made the same call with the same result"),
        "alternating_calls": Threshold(3, 5, "repeated the same few calls with the same results"),
        "repeated_failure": Threshold(3, 4, "made a call that failed each time"),
        "repeated_text": Threshold(4, 6, "said the same again and made no progress"),
    }
)

_CALLS: tuple[Kind, ...] = ("same_call", "alternating_calls", "repeated_failure")

MAX_PERIOD = 4
"""Calls that may alternate: pairs, and a few more."""

MIN_TEXT = 20
"""Characters of a text that can be a repetition: `Next.` is not."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One call that ended: which tool with which arguments, whether it was done, and the digest of its result."""

    call: Hashable
    ok: bool
    result: str


@dataclass(frozen=True, slots=True)
class Loop:
    """A circle: how often what was done; `ends` says that the model was warned before and the turn has to end."""

    kind: Kind
    times: int
    ends: bool

    @property
    def what(self) -> str:
        """In words, with the model for a subject."""
        return f"{THRESHOLDS[self.kind].what}, {self.times} times"


@dataclass(frozen=True, slots=True)
class History:
    """What a model did in one turn, oldest first, the last `last_step` calls in its last step.

    `texts` holds what it said last, once for every step in a row that said so and got nowhere.
    """

    calls: tuple[Seen, ...] = ()
    last_step: int = 0
    texts: tuple[str, ...] = ()
    warned: bool = False


def after_step(
    history: History, text: str, calls: Sequence[Seen], repeats: int | None = None
) -> tuple[History, Loop | None]:
    """Returns the history with one more step, and the circle it shows where the model has to be told of one.

    A model is warned once in a turn; from then on a circle ends it as soon as its own limit is reached. One that is not
    given that much has its turn ended after so many `repeats` of calls, without a warning.
    """
    known = {(seen.call, seen.result) for seen in history.calls}
    got_on = any(seen.ok and (seen.call, seen.result) not in known for seen in calls)
    said = " ".join(text.split())
    texts = (*history.texts, said) if not got_on and history.texts[-1:] == (said,) else (said,)
    grown = replace(history, calls=(*history.calls, *calls), last_step=len(calls), texts=texts)
    counts = count_repetitions(grown)
    worst = max(_CALLS, key=lambda kind: counts[kind])
    if repeats is not None and counts[worst] >= repeats:
        return grown, Loop(worst, counts[worst], ends=True)
    for kind, threshold in THRESHOLDS.items():
        if history.warned and counts[kind] >= threshold.stop:
            return grown, Loop(kind, counts[kind], ends=True)
        if not history.warned and counts[kind] >= threshold.warn:
            return replace(grown, warned=True), Loop(kind, counts[kind], ends=False)
    return grown, None


def count_repetitions(history: History) -> Mapping[Kind, int]:
    """For each kind of circle how often the history ends with it; 1 for what was done once."""
    said = history.texts[-1] if history.texts else ""
    return {
        "same_call": count_trailing(history.calls, 1),
        "alternating_calls": max(count_trailing(history.calls, period) for period in range(2, MAX_PERIOD + 1)),
        "repeated_failure": _count_failures(history),
        "repeated_text": len(history.texts) if len(said) >= MIN_TEXT else 0,
    }


def observed_calls(calls: Sequence[ToolCall], results: Sequence[CallResult | None]) -> tuple[Seen, ...]:
    """Returns what came of a step's calls. Intents count where nothing else was called: they stand before every first
    call."""
    ended = [
        (canonical_tool(call.name), result) for call, result in zip(calls, results, strict=False) if result is not None
    ]
    acted = [(name, result) for name, result in ended if name != SELECT_INTENT] or ended
    return tuple(Seen((name, result.args_digest), result.ok, digest(result.text)) for name, result in acted)


def loop_warning(loop: Loop) -> str:
    """Returns what a model is told with its last result."""
    return f"warning: you {loop.what}. Do something else now, or answer with what you know."


def count_trailing(items: Sequence[Hashable], period: int) -> int:
    """Counts how often the last `period` items stand at the end one after the other."""
    pieces = [tuple(items[end - period : end]) for end in range(len(items), period - 1, -period)]
    return sum(1 for _ in takewhile(lambda piece: piece == pieces[0], pieces))


def _count_failures(history: History) -> int:
    """Counts how often a call of the last step has failed since it was last done, whatever came between."""
    latest = history.calls[len(history.calls) - history.last_step :]
    return max((_count_failures_of(seen.call, history.calls) for seen in latest), default=0)


def _count_failures_of(call: Hashable, calls: Sequence[Seen]) -> int:
    same = [seen for seen in calls if seen.call == call]
    return sum(1 for _ in takewhile(lambda seen: not seen.ok, reversed(same)))
