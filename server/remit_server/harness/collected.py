"""The edits that a turn has collected for its review. They are in no file yet, and only the turn's own calls see them
(APP-10; APP-11).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from remit_governance.values import Action
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import FileImage
from remit_server.workspace.paths.workspace_path import WorkspacePath
from remit_server.workspace.ports import Documents, OpenDocument

REVIEW = "review_edits"
"""The name under which the review of collected edits is shown and recorded as a call."""
MOST_FILES = 100
MOST_BYTES = 32 << 20
"""The most files, and bytes of them before and after, that one review is about. Before more is collected, a review is
held."""


@dataclass(frozen=True, slots=True)
class CollectedFile:
    """A file with collected edits. `before` is its content when a call first changed it in this turn, or None if it did
    not exist; `after` is the content that it is to get."""

    path: WorkspacePath
    before: FileImage | None
    after: bytes

    @property
    def size(self) -> int:
        """The number of bytes that are kept for the file."""
        return len(self.after) + (self.before.size if self.before else 0)

    @property
    def changes(self) -> bool:
        """Whether anything is left to write; a later edit may have undone the earlier ones."""
        return self.before is None or self.before.data != self.after


@dataclass(frozen=True, slots=True)
class CollectedCall:
    """A call whose edits are collected, with its actions as they were judged for its own tool and intent."""

    call_id: str
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """The edits that one review is about, in the order in which they were collected. `review` is the id of the review's
    call."""

    review: str
    calls: tuple[CollectedCall, ...]
    files: Mapping[str, CollectedFile]


@dataclass(slots=True)
class Collected:
    """The edits of one turn that wait for their review. `wants` says whether the person wants edits collected.

    `files` is always replaced and never changed in place, because other threads read it. `untold` are results of
    reviews that the model has not been told yet.
    """

    wants: bool = False
    review: str = ""
    calls: tuple[CollectedCall, ...] = ()
    files: Mapping[str, CollectedFile] = field(default_factory=dict[str, CollectedFile])
    under_review: Mapping[str, CollectedFile] = field(default_factory=dict[str, CollectedFile])
    untold: list[str] = field(default_factory=list[str])
    one_review: asyncio.Lock = field(default_factory=asyncio.Lock)

    def take(self, call: CollectedCall, changes: Sequence[FileChange]) -> None:
        """Collects the changes of a call. A file that is collected already keeps its first `before`."""
        files = dict(self.files)
        for change in changes:
            assert change.after is not None, f"only texts are collected: {change.path.relative}"
            known = files.get(change.path.relative)
            before = known.before if known is not None else change.before
            files[change.path.relative] = CollectedFile(change.path, before, change.after)
        self.calls, self.files = (*self.calls, call), files

    def begin_review(self) -> Batch:
        """Returns the collected edits as a batch and empties the collection. Calls still see the edits until
        `end_review`."""
        batch = Batch(self.review, self.calls, self.files)
        self.under_review, self.review, self.calls, self.files = self.files, "", (), {}
        return batch

    def end_review(self) -> None:
        """Forgets the edits under review, so that calls see the files themselves again."""
        self.under_review = {}

    def get(self, relative: str) -> CollectedFile | None:
        """Returns the collected state of a file, or None if nothing is collected for it."""
        return self.files.get(relative) or self.under_review.get(relative)

    def paths(self) -> tuple[str, ...]:
        """Returns the paths of the files with collected edits."""
        return tuple({**self.under_review, **self.files})

    def made(self) -> frozenset[str]:
        """Returns the paths of the collected files that do not exist yet."""
        every = {**self.under_review, **self.files}
        return frozenset(path for path, file in every.items() if file.before is None)

    def has_room(self, changes: Sequence[FileChange]) -> bool:
        """Returns whether the next review can include these changes as well."""
        sizes = {path: file.size for path, file in self.files.items()}
        sizes |= {each.path.relative: each.size + (each.before.size if each.before else 0) for each in changes}
        return not self.files or (len(sizes) <= MOST_FILES and sum(sizes.values()) <= MOST_BYTES)

    def take_untold(self) -> str:
        """Returns the results of reviews that the model has not been told yet, and forgets them."""
        told, self.untold = "\n".join(self.untold), []
        return told

    def over(self, documents: Documents) -> Documents:
        """Returns the documents as a call of this turn sees them: collected texts first."""
        return CollectedDocuments(self, documents) if self.paths() else documents


@dataclass(frozen=True, slots=True)
class CollectedDocuments:
    """The collected texts, and for other files the editor's open documents; read-only."""

    collected: Collected
    beneath: Documents

    def get(self, relative: str) -> OpenDocument | None:
        """Returns the collected text of a file, else the editor's buffer, or None if there is neither."""
        file = self.collected.get(relative)
        return self.beneath.get(relative) if file is None else OpenDocument(None, file.after.decode())

    def paths(self) -> tuple[str, ...]:
        """Returns the paths of all open documents and collected files."""
        return tuple(dict.fromkeys((*self.beneath.paths(), *self.collected.paths())))

    async def look(self, relatives: Sequence[str]) -> None:
        """Passes the request on to the editor's documents."""
        await self.beneath.look(relatives)

    async def replace(self, relative: str, before: OpenDocument, after: str, label: str) -> None:
        """Raises AssertionError: writes go to the editor's documents, never through here."""
        raise AssertionError(f"only to be read: {relative}")
