"""What a turn has collected for its review: texts that are in no file yet, which only the turn's own calls see (APP-10;
APP-11).
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
"""What the review of collected edits is called where calls are shown and recorded."""
MOST_FILES = 100
MOST_BYTES = 32 << 20
"""What one question is about at most, with what the files held; what comes after it is collected for the next one."""


@dataclass(frozen=True, slots=True)
class CollectedFile:
    """A file from `before`, which it held when a call first changed it in this turn (None: it was not there), to the
    text that it becomes."""

    path: WorkspacePath
    before: FileImage | None
    after: bytes

    @property
    def size(self) -> int:
        """Bytes that are kept of it."""
        return len(self.after) + (self.before.size if self.before else 0)

    @property
    def changes(self) -> bool:
        """Whether anything is left to write: a later edit may have taken the earlier ones back."""
        return self.before is None or self.before.data != self.after


@dataclass(frozen=True, slots=True)
class CollectedCall:
    """A call whose edits wait, with the actions as they were judged: by its own tool, in its own intent."""

    call_id: str
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """What one review is about, in the order in which it was collected; `review` is the id of the review's call."""

    review: str
    calls: tuple[CollectedCall, ...]
    files: Mapping[str, CollectedFile]


@dataclass(slots=True)
class Collected:
    """The edits of one turn that wait for their review, where the person `wants` them collected.

    `files` is replaced and never changed, as threads look at it. `untold` is what came of reviews, for the model.
    """

    wants: bool = False
    review: str = ""
    calls: tuple[CollectedCall, ...] = ()
    files: Mapping[str, CollectedFile] = field(default_factory=dict[str, CollectedFile])
    under_review: Mapping[str, CollectedFile] = field(default_factory=dict[str, CollectedFile])
    untold: list[str] = field(default_factory=list[str])
    one_review: asyncio.Lock = field(default_factory=asyncio.Lock)

    def take(self, call: CollectedCall, changes: Sequence[FileChange]) -> None:
        """Collects the changes of a call. A file that was collected before keeps what it held at first."""
        files = dict(self.files)
        for change in changes:
            assert change.after is not None, f"only texts are collected: {change.path.relative}"
            known = files.get(change.path.relative)
            before = known.before if known is not None else change.before
            files[change.path.relative] = CollectedFile(change.path, before, change.after)
        self.calls, self.files = (*self.calls, call), files

    def begin_review(self) -> Batch:
        """Hands over what is collected; it is still seen until `end_review`."""
        batch = Batch(self.review, self.calls, self.files)
        self.under_review, self.review, self.calls, self.files = self.files, "", (), {}
        return batch

    def end_review(self) -> None:
        """Forgets what was under review: the files count again."""
        self.under_review = {}

    def get(self, relative: str) -> CollectedFile | None:
        """Returns what a file is to become; None where nothing is collected for it."""
        return self.files.get(relative) or self.under_review.get(relative)

    def paths(self) -> tuple[str, ...]:
        """Returns the files that something is collected for."""
        return tuple({**self.under_review, **self.files})

    def made(self) -> frozenset[str]:
        """Returns the files that are there only once they are written."""
        every = {**self.under_review, **self.files}
        return frozenset(path for path, file in every.items() if file.before is None)

    def has_room(self, changes: Sequence[FileChange]) -> bool:
        """Returns whether one question can be about these changes, too."""
        sizes = {path: file.size for path, file in self.files.items()}
        sizes |= {each.path.relative: each.size + (each.before.size if each.before else 0) for each in changes}
        return not self.files or (len(sizes) <= MOST_FILES and sum(sizes.values()) <= MOST_BYTES)

    def take_untold(self) -> str:
        """Returns what the model is still to be told of reviews, once."""
        told, self.untold = "\n".join(self.untold), []
        return told

    def over(self, documents: Documents) -> Documents:
        """Returns the texts as a call of this turn sees them."""
        return CollectedDocuments(self, documents) if self.paths() else documents


@dataclass(frozen=True, slots=True)
class CollectedDocuments:
    """What is collected, before what the editor has open: only to be read."""

    collected: Collected
    beneath: Documents

    def get(self, relative: str) -> OpenDocument | None:
        """Returns the collected text, else the buffer."""
        file = self.collected.get(relative)
        return self.beneath.get(relative) if file is None else OpenDocument(None, file.after.decode())

    def paths(self) -> tuple[str, ...]:
        """Returns the paths of all of them."""
        return tuple(dict.fromkeys((*self.beneath.paths(), *self.collected.paths())))

    async def look(self, relatives: Sequence[str]) -> None:
        """Has what lies beneath look."""
        await self.beneath.look(relatives)

    async def replace(self, relative: str, before: OpenDocument, after: str, label: str) -> None:
        """Is never called: what is written goes to the editor itself."""
        raise AssertionError(f"only to be read: {relative}")
