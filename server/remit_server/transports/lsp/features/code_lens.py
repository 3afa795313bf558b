"""`textDocument/codeLens`: shows a waiting change at the lines where it would be written (LSP-09).

A client that draws the questions itself draws these lines too; the server has lenses for other questions only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from remit_server.harness.approval.shown_parts import HunkText, Part, hunk_texts
from remit_server.transports.lsp.connection.reviews import Review

if TYPE_CHECKING:
    from remit_server.contract import FileDiff
    from remit_server.transports.lsp.connection.connection import Snapshot

OPTIONS = lsp.CodeLensOptions(resolve_provider=False)


def lenses(snapshot: Snapshot, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """Returns the lenses of a document, or none if no change of it waits."""
    del params
    document = snapshot.document
    if document is None:
        return []
    return [
        lens
        for review in snapshot.reviews
        if not review.drawn and review.root == document.folder.root
        for diff in review.question.diffs
        if diff.path == document.path
        for lens in (*_of_file(review), *_of_hunks(review, diff))
    ]


def _of_file(review: Review) -> Iterator[lsp.CodeLens]:
    asked = {"approval_id": review.question.approval_id}
    shown = len(review.parts)
    if not review.left_out:
        yield _lens(0, "Remit asks: allow once", "remit.review.accept", asked)
    elif review.taken:
        yield _lens(0, f"Remit asks: allow {review.taken} of {shown} once", "remit.review.accept", asked)
    yield _lens(0, "Deny", "remit.review.reject", asked)
    yield _lens(0, "Show", "remit.review.show", asked)


def _of_hunks(review: Review, diff: FileDiff) -> Iterator[lsp.CodeLens]:
    hunks = hunk_texts(diff.diff)
    if len(hunks) != diff.hunks or Part(diff.path, 0) not in review.parts:
        return
    for number, hunk in enumerate(hunks):
        part = Part(diff.path, number)
        does = "take it" if part in review.left_out else "leave out"
        title = f"{_describe(hunk)} ({number + 1} of {len(hunks)}): {does}"
        asked = {"approval_id": review.question.approval_id, "path": part.path, "hunk": number}
        yield _lens(hunk.line, title, "remit.review.toggle", asked)


def _describe(hunk: HunkText) -> str:
    signs = [line[:1] for line in hunk.text.splitlines()]
    return f"+{signs.count('+')} −{signs.count('-')}"


def _lens(line: int, title: str, command: str, asked: Mapping[str, object]) -> lsp.CodeLens:
    here = lsp.Position(line, 0)
    return lsp.CodeLens(lsp.Range(here, here), lsp.Command(title, command, arguments=[asked]))
