"""One word of a command line resolved to what the program gets, where every POSIX shell agrees on it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Node

_IN_DOUBLE_QUOTES = re.compile(r'\\(?:([$`"\\])|\n)')
_BLANK = re.compile(r"(?<!\\)[ \t]")
_NUMERIC = frozenset("?#$!")
"""Special parameters that are digits; without a command in the background `$!` is nothing."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word as far as it is known.

    `text` is what the program gets; where `pattern` is set, files whose names begin like `text` up to its first
    wildcard; where `counted` is set, `0` stands in it for numbers, one of which may be nothing at all. `doubt` says
    why the word is not known; then `text` means nothing.
    """

    text: str = ""
    pattern: bool = False
    doubt: str | None = None
    counted: bool = False

    def joined(self, other: Word) -> Word:
        """Both words as one."""
        return Word(
            self.text + other.text,
            self.pattern or other.pattern,
            self.doubt or other.doubt,
            self.counted or other.counted,
        )


def resolve(node: Node) -> Word:
    """The word at `node`."""
    match node.type:
        case "word" | "number" | "test_operator" | "extglob_pattern" | "variable_name":
            return _bare(spelled(node))
        case "command_name":
            return resolve(node.children[0]) if node.child_count == 1 else Word(doubt="a program's name is computed")
        case "raw_string":
            return Word(spelled(node)[1:-1])
        case "string" | "concatenation" | "simple_expansion":
            return _COMPOSED[node.type](node)
        case _:
            return Word(doubt=f"`{spelled(node)[:40]}` is known only when it runs")


def spelled(node: Node) -> str:
    """The text of a node as it was written."""
    return (node.text or b"").decode()


def _bare(text: str) -> Word:
    """Outside quotes: backslashes escape, wildcards and braces may expand."""
    if "\n" in text:
        # The grammar now and then takes the end of a line for a part of the word behind it.
        return Word(doubt="a word goes on over the end of a line")
    if _BLANK.search(text):
        return Word(doubt="where a word ends and the next begins is not certain")
    out: list[str] = []
    pattern, braces, at = False, 0, 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 1
            out.append(text[at : at + 1])
        else:
            pattern |= character in "*?["
            braces += character in "{,}" or text.startswith("..", at)
            out.append(character)
        at += 1
    if text.startswith("~"):
        return Word(doubt="`~` is known only when it runs")
    if "{" in text and braces > 2:
        return Word(doubt=f"`{text[:40]}` means different things to different shells")
    return Word("".join(out), pattern)


def _double_quoted(node: Node) -> Word:
    """Text between double quotes, taken from the source: the tree leaves blanks out."""
    inner = [child for child in node.named_children if child.type != "string_content"]
    raw = spelled(node)
    if not inner:
        return Word(_unescaped(raw[1:-1]))
    if all(child.type == "simple_expansion" and not _parameter(child).doubt for child in inner):
        text, start = "", node.start_byte + 1
        data = node.text or b""
        for child in inner:
            text += data[start - node.start_byte : child.start_byte - node.start_byte].decode() + "0"
            start = child.end_byte
        text += data[start - node.start_byte : -1].decode()
        return Word(_unescaped(text), counted=True)
    return Word(doubt=f"`{spelled(inner[0])[:40]}` is known only when it runs")


def _unescaped(text: str) -> str:
    """A backslash in double quotes: before some signs it goes, before the end of a line both do."""
    return _IN_DOUBLE_QUOTES.sub(lambda found: found[1] or "", text)


def _concatenated(node: Node) -> Word:
    raw = spelled(node)
    if re.search(r"\{[^{}'\"]*(?:,|\.\.)[^{}]*\}", raw):
        return Word(doubt=f"`{raw[:40]}` means different things to different shells")
    whole = Word()
    end = node.start_byte
    for child in node.children:
        if child.start_byte != end or not child.is_named:
            return Word(doubt=f"`{raw[:40]}` cannot be read")
        end = child.end_byte
        whole = whole.joined(resolve(child))
    return whole


def _parameter(node: Node) -> Word:
    name = spelled(node)[1:]
    if name in _NUMERIC:
        return Word("0", counted=True)
    return Word(doubt=f"`${name[:40]}` is known only when it runs")


_COMPOSED = {"string": _double_quoted, "concatenation": _concatenated, "simple_expansion": _parameter}
