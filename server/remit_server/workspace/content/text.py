"""Decodes bytes to text and encodes them back unchanged: encoding, byte order mark and line ends (FILE-02)."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.workspace.line_diff import Edit, line_edits

_LINE_END = re.compile(r"\r?\n")
_CONTROLS = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_SAMPLE_BYTES = 1 << 16

# Longest first: UTF-32's mark begins with UTF-16's.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


# Stateless encodings: bytes of unchanged text stay the same whatever is around them.
_LEGACY = [
    *("cp1252", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256"),
    *("cp932", "euc_jp", "gb18030", "big5", "euc_kr"),
]


@dataclass(frozen=True, slots=True)
class Text:
    r"""A file as text. `content` has `\n` line ends; `ends` holds the original ones where they are mixed.

    `Text.decode(data).encode()` is `data`, always.
    """

    content: str
    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"
    ends: tuple[str, ...] = ()

    @classmethod
    def decode(cls, data: bytes, name: str) -> Text:
        """Decodes bytes; `name` is for messages. Raises ToolError (`binary_file`)."""
        mark, encoding = mark_of(data)
        body = data[len(mark) :]
        raw = _decode(body, encoding) if encoding else None
        if raw is None:
            mark, encoding, raw = _guess(data)
        if raw is None or "\0" in raw:
            raise binary_file(name)
        if "\r" not in raw:
            return cls(raw, encoding, mark)
        ends = tuple(_LINE_END.findall(raw))
        counts = Counter(ends)
        newline = max(counts, key=lambda end: (counts[end], end == "\n")) if counts else "\n"
        content = raw.replace("\r\n", "\n")
        return cls(content, encoding, mark, newline, ends if len(counts) > 1 else ())

    @property
    def lines(self) -> list[str]:
        r"""The lines without their ends. A final `\n` starts no further line."""
        lines = self.content.split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    def encode(self, content: str | None = None) -> bytes:
        r"""Encodes `content` (by default the same text) with this file's encoding, byte order mark and line ends.

        Raises ToolError (`invalid_arguments`) if a character does not exist in the encoding.
        """
        new = self.content if content is None else content
        try:
            return self.mark + self._with_ends(new).encode(self.encoding)
        except UnicodeEncodeError as error:
            raise ToolError(
                f"cannot write {error.object[error.start : error.end][:8]!r}",
                f"the file is in {self.encoding}, which has no such character",
                f"use characters of {self.encoding}, or convert the file first",
            ) from error

    def _with_ends(self, new: str) -> str:
        if not self.ends:
            return new if self.newline == "\n" else new.replace("\n", self.newline)
        pieces = new.split("\n")
        ends = _keep_ends(self.content.split("\n"), pieces, self.ends, self.newline)
        return "".join(piece + end for piece, end in zip(pieces, (*ends, ""), strict=True))


def mark_of(data: bytes) -> tuple[bytes, str]:
    """Returns a text's byte order mark and the encoding it stands for; empty if there is none."""
    return next(((m, e) for m, e in _MARKS if data.startswith(m)), (b"", ""))


def binary_file(name: str) -> ToolError:
    """Returns the error for a file that is not text."""
    return ToolError(
        f"cannot use `{name}` as text", "it is a binary file", "work on a text file", code=ErrorCode.BINARY_FILE
    )


def plain(text: str) -> str:
    r"""Returns a model's text with `\n` line ends, to be compared with `Text.content`."""
    return text.replace("\r\n", "\n")


def _decode(data: bytes, encoding: str) -> str | None:
    """Decodes `data`, or returns None if encoding it again would give other bytes."""
    try:
        text = data.decode(encoding)
        # Strict UTF-8 is unambiguous: it always encodes back to the same bytes.
        return text if encoding == "utf-8" or text.encode(encoding) == data else None
    except (UnicodeError, LookupError):
        return None


def _guess(data: bytes) -> tuple[bytes, str, str | None]:
    """Decodes bytes without a usable mark as UTF-8, else the best guess, else Latin-1. The text is None for binary
    data.
    """
    text = _decode(data, "utf-8")
    if text is not None:
        return b"", "utf-8", text
    if _CONTROLS.search(data[:_SAMPLE_BYTES].decode("latin-1")) or b"\0" in data:
        return b"", "latin-1", None
    return b"", *_legacy(data)


def _legacy(data: bytes) -> tuple[str, str]:
    """Decodes with a legacy encoding that keeps every byte; a wrong guess loses nothing."""
    runs = re.findall(rb"[\x80-\xff]+", data[:_SAMPLE_BYTES])
    guesses = ["cp1252"]
    # Single letters among ASCII suggest a Western language, where frequency-based guesses are often wrong.
    if sum(map(len, runs)) > 2 * len(runs):
        from charset_normalizer import from_bytes

        best = from_bytes(data[:_SAMPLE_BYTES], cp_isolation=_LEGACY).best()
        guesses = [best.encoding, *guesses] if best is not None else guesses
    for encoding in guesses:
        if (text := _decode(data, encoding)) is not None:
            return encoding, text
    return "latin-1", data.decode("latin-1")


def _keep_ends(old: list[str], new: list[str], ends: tuple[str, ...], newline: str) -> list[str]:
    """Returns line ends for `new`: unchanged lines keep theirs, others get the most frequent one."""
    wanted = [newline] * (len(new) - 1)
    at = there = 0
    for edit in (*line_edits(old[:-1], new[:-1]), Edit(len(old) - 1, len(old) - 1, len(new) - 1, len(new) - 1)):
        wanted[there : edit.new] = ends[at : edit.old]
        # A line changed in place keeps its line end; only the counts have to agree.
        if edit.old_end - edit.old == edit.new_end - edit.new:
            wanted[edit.new : edit.new_end] = ends[edit.old : edit.old_end]
        at, there = edit.old_end, edit.new_end
    return wanted
