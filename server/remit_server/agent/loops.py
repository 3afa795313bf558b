"""Notices when a model repeats the same calls or texts without progress: a loop (AGT-03).

A call that is repeated and gives another result is a poll, not a loop.
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
    """The number of repetitions at which a model is warned, and at which the turn ends. `what` says what it did."""

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
"""The longest sequence of calls whose repetition is noticed."""

MIN_TEXT = 20
"""Characters that a text must have to count as a repetition, so that `Next.` does not."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One call that ended: its tool and arguments, whether it succeeded, and the digest of its result."""

    call: Hashable
    ok: bool
    result: str


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: what was repeated, and how many times. `ends`: the turn has to end; else the model is warned."""

    kind: Kind
    times: int
    ends: bool

    @property
    def what(self) -> str:
        """What the model did, as the end of a sentence whose subject is the model."""
        return f"{THRESHOLDS[self.kind].what}, {self.times} times"


@dataclass(frozen=True, slots=True)
class History:
    """What a model did in one turn, oldest first. The last `last_step` calls are those of its last step.

    `texts` holds the last text once for each step in a row that said it and made no progress.
    """

    calls: tuple[Seen, ...] = ()
    last_step: int = 0
    texts: tuple[str, ...] = ()
    warned: bool = False


def after_step(
    history: History, text: str, calls: Sequence[Seen], repeats: int | None = None
) -> tuple[History, Loop | None]:
    """Returns the history with one more step, and the loop that the model has to be told of, or None.

    A model is warned once in a turn; after that, a loop ends the turn as soon as it reaches the `stop` of its kind. If
    `repeats` is given, that many repetitions of calls end the turn, even without a warning.
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
    """Returns for each kind of loop how often its piece is repeated at the history's end; 1 means done once."""
    said = history.texts[-1] if history.texts else ""
    return {
        "same_call": count_trailing(history.calls, 1),
        "alternating_calls": max(count_trailing(history.calls, period) for period in range(2, MAX_PERIOD + 1)),
        "repeated_failure": _count_failures(history),
        "repeated_text": len(history.texts) if len(said) >= MIN_TEXT else 0,
    }


def observed_calls(calls: Sequence[ToolCall], results: Sequence[CallResult | None]) -> tuple[Seen, ...]:
    """Returns the calls of a step that ended. Declarations of intents count only if the step called nothing else,
    because every step begins with one."""
    ended = [
        (canonical_tool(call.name), result) for call, result in zip(calls, results, strict=False) if result is not None
    ]
    acted = [(name, result) for name, result in ended if name != SELECT_INTENT] or ended
    return tuple(Seen((name, result.args_digest), result.ok, digest(result.text)) for name, result in acted)


def loop_warning(loop: Loop) -> str:
    """Returns the warning that is added to the step's last result."""
    return f"warning: you {loop.what}. Do something else now, or answer with what you know."


def repeats_warning(answer: str, result: str) -> bool:
    """Returns whether an answer is nothing but the warning at the end of a result."""
    warning = result.lower().rpartition("\nwarning: ")[2].partition("\n")[0]
    return answer.strip().lower().removeprefix("warning: ") == warning


def count_trailing(items: Sequence[Hashable], period: int) -> int:
    """Returns how many times in a row the last `period` items stand at the end."""
    pieces = [tuple(items[end - period : end]) for end in range(len(items), period - 1, -period)]
    return sum(1 for _ in takewhile(lambda piece: piece == pieces[0], pieces))


def _count_failures(history: History) -> int:
    """Returns how often a call of the last step has failed since it last succeeded, whatever other calls came
    between."""
    latest = history.calls[len(history.calls) - history.last_step :]
    return max((_count_failures_of(seen.call, history.calls) for seen in latest), default=0)


def _count_failures_of(call: Hashable, calls: Sequence[Seen]) -> int:
    same = [seen for seen in calls if seen.call == call]
    return sum(1 for _ in takewhile(lambda seen: not seen.ok, reversed(same)))
