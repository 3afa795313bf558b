"""Makes tree objects from the files of a commit (GIT-02)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dulwich.index import commit_tree
from dulwich.objects import ObjectID, ShaFile

from remit_server.tools.git.commit.repository import Entry


@dataclass(slots=True)
class _Made:
    """Keeps the objects that `commit_tree` makes, instead of writing them."""

    found: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def add_object(self, made: ShaFile) -> None:
        self.found[made.id.decode()] = whole(made)


def whole(made: ShaFile) -> bytes:
    """Returns an object as git hashes it: header and body."""
    body = made.as_raw_string()
    return b"%s %d\x00" % (made.type_name, len(body)) + body


def trees_of(files: Mapping[bytes, Entry]) -> tuple[str, dict[str, bytes]]:
    """Returns the id of the tree of these files, and every tree object that it consists of, by id."""
    made = _Made()
    blobs = [(path, ObjectID(sha.encode()), mode) for path, (mode, sha) in sorted(files.items())]
    root = commit_tree(made, blobs)  # type: ignore[arg-type]  # of the store it only adds to it
    return root.decode(), made.found
