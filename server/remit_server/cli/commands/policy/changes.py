"""Draws changed verdicts, for `remit policy replay`, `remit policy update` and `remit audit why`."""

from __future__ import annotations

from collections.abc import Iterator

from remit_governance.policy.review.replay import Change, Replay
from remit_server.cli.console import style_text
from remit_server.runtime.policy.replayed import about, deciding_rules


def change_lines(replay: Replay) -> Iterator[str]:
    """Yields a line for every changed verdict, then the numbers of changed and skipped ones."""
    for change in replay.changes:
        yield _line(change)
    yield _count_words(replay)


def _line(change: Change) -> str:
    record = change.call.record
    what = f"{record.event.tool_name or change.call.actions[0].syscall} {about(change.call.actions[0])}".rstrip()
    mark = f"{style_text('[BREAKING]', 'red')} " if change.breaking else ""
    verdicts = f"{change.call.was.word} → {change.now.verdict.word}"
    return f"{mark}record {record.number}: {what}: {verdicts} by {deciding_rules(change.now)}"


def _count_words(replay: Replay) -> str:
    calls = f"{replay.judged} call{'' if replay.judged == 1 else 's'} judged again"
    changed = f"{len(replay.changes) or 'none'} would be decided differently"
    breaking = f", {len(replay.breaking)} of them [BREAKING]" if replay.breaking else ""
    skipped = "".join(f"; {count} skipped: {why}" for why, count in sorted(replay.skipped.items()))
    return f"{calls}: {changed}{breaking}{skipped}"
