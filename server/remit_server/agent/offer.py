"""Which files a step may name where a tool needs one that is there (agent.md §Intent as grammar).

They go into the grammar alone, never into the prompt, whose bytes stay the same from step to step. A name that the
person wrote may always be spelled: whether there is such a file, the tool says better than a wrong one in its place.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType

from remit_server.errors import ToolError
from remit_server.models.ports import Message, UserMessage
from remit_server.workspace.paths import Workspace
from remit_server.workspace.ports import Documents
from remit_server.workspace.walk import Limits, walk

NEEDS_A_FILE: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("read_file", "edit_file", "delete_file", "move_file"), "path")
)
"""Tools, and the argument of each that names a file which has to be there."""
MOST_PATHS = 2_000
MOST_NAMED = 100
MOST_SECONDS = 0.25
"""A tree that takes longer to go through is not listed, and any path may be spelled."""

_WORD = re.compile(r"[^\s`'\"()<>\[\]{},;]+")


async def nameable(
    workspace: Workspace, documents: Documents, messages: Sequence[Message], readable: Callable[[str], bool]
) -> tuple[str, ...]:
    """The workspace's files that are `readable`, and what the person called so; none where they are too many."""
    limits = Limits(seconds=MOST_SECONDS, entries=4 * MOST_PATHS)
    try:
        files = await asyncio.to_thread(_listed, workspace, documents, readable, limits)
    finally:
        limits.stopped = True
    if not files:
        return ()
    return tuple(sorted(files | set(islice(named(messages), MOST_NAMED))))


def _listed(
    workspace: Workspace, documents: Documents, readable: Callable[[str], bool], limits: Limits
) -> frozenset[str]:
    try:
        found = list(islice(walk(workspace, workspace.resolve("."), limits), MOST_PATHS + 1))
    except ToolError:
        return frozenset()
    if limits.stopped or len(found) > MOST_PATHS:
        return frozenset()
    return frozenset(path for path in (*found, *documents.paths()) if readable(path))


def named(messages: Sequence[Message]) -> Iterator[str]:
    """Words of the person's own that look like a path, the last message first."""
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            for word in _WORD.findall(message.text):
                path = word.rstrip(".:!?")
                if 1 < len(path) <= 300 and ("/" in path or "." in path):
                    yield path
