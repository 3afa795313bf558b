"""The waiting questions about changes, each with the parts that the person leaves out so far (LSP-09)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from remit_server.harness.approval.shown_parts import Part, parts_of

if TYPE_CHECKING:  # slow to import
    from remit_server.contract import ApprovalRequired


@dataclass(frozen=True, slots=True)
class Review:
    """A question about changes in the workspace folder `root`; `left_out` has the parts left out, each with a comment.

    `opened` holds the files that show the question, and removes them at its end; `drawn` says that the client draws the
    question itself.
    """

    question: ApprovalRequired
    root: Path
    opened: ExitStack
    drawn: bool = False
    left_out: Mapping[Part, str | None] = field(default_factory=dict[Part, "str | None"])

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that can be taken one by one; none if the question can only be answered as a whole."""
        return parts_of(self.question)

    @property
    def taken(self) -> int:
        """The number of parts that are not left out."""
        return len(self.parts) - len(self.left_out)


def toggled(review: Review, part: Part, comment: str | None) -> Review:
    """Returns the review with a part left out, or taken again. With a comment, the part is left out in any case."""
    left = dict(review.left_out)
    if part in left and comment is None:
        del left[part]
    else:
        left[part] = comment
    return replace(review, left_out=left)
