"""Which files a step may name where a tool needs one that is there (AGT-05).

They go into the grammar alone, never into the prompt, whose bytes stay the same from step to step. A name that the
person wrote may always be spelled: whether there is such a file, the tool says better than a wrong one in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

from remit_server.errors import ToolError
from remit_server.models.ports import Message, Nameable, UserMessage
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import Documents
from remit_server.workspace.trees.walk import Limits, walk

MOST_PATHS = 2_000
MOST_NAMED = 100
MOST_SECONDS = 0.25
"""A tree that takes longer to go through is not listed, and any path may be spelled."""

_QUOTED = re.compile(r"([`'\"])(?=\S)([^`'\"\n]+)\1")
_WORD = re.compile(r"[^\s`'\"()<>\[\]{},;]+")
_FILE_NAME = re.compile(
    r"[A-Z][A-Za-z]*file|README|LICEN[CS]E|COPYING|NOTICE|PATENTS|AUTHORS|CONTRIBUTORS|MAINTAINERS|CODEOWNERS|OWNERS"
    r"|CONTRIBUTING|CHANGELOG|CHANGES|HISTORY|NEWS|INSTALL|SECURITY|MANIFEST"
)
"""Names that files have without an extension: `Makefile`, `LICENSE`. Other words in capitals are constants."""


async def nameable_paths(
    workspace: Workspace,
    documents: Documents,
    messages: Sequence[Message],
    readable: Callable[[str], bool],
) -> Nameable | None:
    """Returns the workspace's files that are `readable`, and what the person called so.

    None where the files cannot be listed, or are too many: then any path may be named. Where there are no files, only
    what the person said may be.
    """
    limits = Limits(seconds=MOST_SECONDS, entries=4 * MOST_PATHS)
    files = await limits.look(partial(_list_files, workspace, documents, readable))
    return None if files is None else Nameable(files, tuple(islice(find_named_paths(messages), MOST_NAMED)))


def _list_files(
    workspace: Workspace, documents: Documents, readable: Callable[[str], bool], limits: Limits
) -> frozenset[str] | None:
    try:
        found = list(islice(walk(workspace, workspace.resolve("."), limits), MOST_PATHS + 1))
    except ToolError:
        return None
    if limits.stopped or len(found) > MOST_PATHS:
        return None
    return frozenset(path for path in (*found, *documents.paths()) if readable(path))


def find_named_paths(messages: Sequence[Message]) -> Iterator[str]:
    """Yields words of the person's own that look like a path, and such texts in quotes, each once, the last message
    first."""
    known: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            quoted = (match[2] for match in _QUOTED.finditer(message.text))
            bare = (w for part in message.text.split() for w in (part.strip("`'\"()<>,;"), *_WORD.findall(part)))
            for word in (*quoted, *bare):
                path = word.rstrip(".:!?,;")
                looks_so = "/" in path or "." in path or _FILE_NAME.fullmatch(path)
                if 1 < len(path) <= 300 and looks_so and path not in known:
                    known.add(path)
                    yield path
