"""What a commit can be made of, of git's index (GIT-02)."""

from __future__ import annotations

import stat

from remit_server.tools.git.commit.refusal import commit_refusal
from remit_server.workspace.git_index import LONGEST_NAME, IndexEntry, read_version, read_whole


def parse_index(data: bytes) -> tuple[dict[bytes, IndexEntry], int]:
    """Returns what is staged, by path, and the version of the format.

    Raises ToolError where a commit could not be made of it, and ValueError where it is damaged.
    """
    entries, whole = read_whole(data)
    if not whole:
        raise commit_refusal("its index is split or sparse", "have a person run `git update-index --no-split-index`")
    for name, entry in entries:
        if entry.stage:
            raise commit_refusal("there are conflicts", "a person has to resolve them and `git add` the files")
        if len(name) > LONGEST_NAME or stat.S_ISDIR(entry.mode):
            raise commit_refusal("its index holds a name that is not known here", "use git itself")
    return dict(entries), read_version(data)


def stages_the_same(before: bytes, after: bytes) -> bool:
    """Tells whether two indexes stage the same: git writes down anew when it last looked at files, also where it only
    looks. False where one of them cannot be read.
    """
    try:
        return _staged(before) == _staged(after)
    except Exception:  # whatever the parser met: nobody vouches for what a command left
        return False


def _staged(data: bytes) -> list[tuple[bytes, int, bytes, int, int]]:
    entries, _ = parse_index(data)
    return [(name, each.mode, each.sha, each.flags, each.extended_flags) for name, each in entries.items()]
