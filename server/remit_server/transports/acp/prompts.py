"""Converts a prompt's blocks to a line of the chat and its attachments (TRN-15)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp import schema
from acp.exceptions import RequestError

from remit_server.contract import (
    MOST_ATTACHED,
    MOST_SELECTED,
    Attachment,
    FileAttachment,
    InputPart,
    Position,
    Selection,
    SelectionAttachment,
    TextInput,
)
from remit_server.transports.acp.sdk import INVALID_PARAMS

_LINES = re.compile(r"L?(\d{1,9})(?:[-:]L?(\d{1,9}))?")
MOST_TEXT = 200_000
Block = (
    schema.TextContentBlock
    | schema.ImageContentBlock
    | schema.AudioContentBlock
    | schema.ResourceContentBlock
    | schema.EmbeddedResourceContentBlock
)


def read_blocks(blocks: Sequence[Block], root: Path) -> tuple[str, tuple[Attachment, ...]]:
    """Returns a prompt's words and its attachments: linked files by their paths below `root`, and the texts that the
    client embeds of files as selections. Raises RequestError for a block of another kind, and if the prompt is empty or
    too large."""
    words, attached = list[str](), list[Attachment]()
    for block in blocks:
        match block:
            case schema.TextContentBlock(text=text):
                words.append(text)
            case schema.ResourceContentBlock(uri=uri, name=name):
                path = _inside(uri, root)
                attached += [] if path is None else [FileAttachment(path=path)]
                words.append(f"[{name}]({uri})" if path is None else f"`{path}`")
            case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents(uri=uri, text=text)):
                path = _inside(uri, root)
                if path is None or len(text) > MOST_SELECTED:
                    words.append(f"\n{uri}:\n{text}\n")
                else:
                    attached.append(SelectionAttachment(path=path, range=_range(uri, text), text=text))
                    words.append(f"`{path}`")
            case _:
                raise RequestError(INVALID_PARAMS, "Remit takes only text, links and embedded text")
    if len(attached) > MOST_ATTACHED:
        raise RequestError(INVALID_PARAMS, f"more than {MOST_ATTACHED} files are attached")
    text = "".join(words)
    if not text.strip() or len(text) > MOST_TEXT:
        raise RequestError(INVALID_PARAMS, f"a prompt needs some text, at most {MOST_TEXT:,} characters")
    return text, tuple(attached)


def as_parts(parts: Sequence[InputPart], attached: tuple[Attachment, ...]) -> tuple[InputPart, ...]:
    """Returns the parts to run, with the attachments.

    A program may have sent the prompt. So no command counts as typed by the person, because that would answer policy's
    question.
    """
    return tuple(
        part.model_copy(update={"attachments": (*attached, *part.attachments)[:MOST_ATTACHED]})
        if isinstance(part, TextInput)
        else part.model_copy(update={"typed": False})
        for part in parts
    )


def _inside(uri: str, root: Path) -> str | None:
    """Returns the path of a file's address below the root, or None for any other address."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or "\0" in path:
        return None
    below = Path(path)
    if ".." in below.parts or not below.is_relative_to(root) or below == root:
        return None
    return below.relative_to(root).as_posix()


def _range(uri: str, text: str) -> Selection:
    """Returns the range of a text in its file. It begins at the line that the address names, else at the first line."""
    named = _LINES.fullmatch(urlsplit(uri).fragment)
    first = max(int(named[1]) - 1, 0) if named else 0
    lines = text.split("\n")
    return Selection(
        start=Position(line=first, character=0),
        end=Position(line=first + len(lines) - 1, character=len(lines[-1])),
    )
