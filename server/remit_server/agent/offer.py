"""Lists the files that a step may name where a tool needs an existing file (AGT-05).

The list goes only into the grammar, never into the prompt, so that the prompt's bytes stay the same from step to step.
A name that the person wrote may always be spelled: if there is no such file, a refusal from the tool is better than a
wrong file in its place.
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
"""If listing the workspace takes longer, it is not listed, and any path may be spelled."""

_QUOTED = re.compile(r"([`'\"])(?=\S)([^`'\"\n]+)\1")
_WORD = re.compile(r"[^\s`'\"()<>\[\]{},;]+")
_FILE_NAME = re.compile(
    r"[A-Z][A-Za-z]*file|README|LICEN[CS]E|COPYING|NOTICE|PATENTS|AUTHORS|CONTRIBUTORS|MAINTAINERS|CODEOWNERS|OWNERS"
    r"|CONTRIBUTING|CHANGELOG|CHANGES|HISTORY|NEWS|INSTALL|SECURITY|MANIFEST"
)
"""Names of files without an extension, such as `Makefile` or `LICENSE`. Other words in capitals are most likely
constants."""


async def nameable_paths(
    workspace: Workspace,
    documents: Documents,
    messages: Sequence[Message],
    readable: Callable[[str], bool],
) -> Nameable | None:
    """Returns the workspace's files that are `readable`, and the paths that the person named.

    Returns None if the files cannot be listed or are too many; then any path may be named.
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
    """Yields the words and quoted texts in the person's messages that look like a path, each once, newest message
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
