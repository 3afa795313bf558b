"""Resolves one word of a command line to the text that the program gets, if every POSIX shell agrees on it. Encodes a
script for the parser without any character above U+00FF (CMD-06).

The grammar looks characters up in C's table of 256 without checking how large they are: `{` before an emoji reads
memory out of bounds, and may crash the process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Literal

from tree_sitter import Node

from remit_governance.secrets.cutting import shorten

_MARK = "\x80"
"""Begins the number of an encoded character. Where a script has this character itself, it is encoded too."""
_DIGITS = 0xC0
"""The first of 64 letters that encode six bits each. No token of the grammar begins with one of them."""
_ENCODED = re.compile(rf"[^\x00-\xff]|{_MARK}")
_NUMBERED = re.compile(f"{_MARK}([{chr(_DIGITS)}-{chr(_DIGITS + 63)}]{{4}})")


def to_parse(script: str) -> bytes:
    """Returns the script encoded for the parser; `as_written` decodes any part of it."""
    return _ENCODED.sub(_number, script).encode()


def as_written(parsed: bytes) -> str:
    """Returns a part of an encoded script as it was written."""
    return _NUMBERED.sub(_character, parsed.decode())


def _number(found: re.Match[str]) -> str:
    point = ord(found[0])
    return _MARK + "".join(chr(_DIGITS + (point >> shift & 63)) for shift in (18, 12, 6, 0))


def _character(found: re.Match[str]) -> str:
    point = 0
    for digit in found[1]:
        point = point << 6 | ord(digit) - _DIGITS
    return chr(point)


_IN_DOUBLE_QUOTES = re.compile(r'\\(?:([$`"\\])|\n)')
_BLANK = re.compile(r"(?<!\\)[ \t]")
_NUMERIC = frozenset("?#$!")
"""Special parameters whose values are digits; `$!` is empty if no command runs in the background."""
_PLACES: Mapping[str, str] = MappingProxyType({"HOME": "/*", "PWD": "/*", "USER": "*", "LOGNAME": "*"})
"""Variables that name a folder or a person. A line that sets one of them has a doubt."""
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*]", re.ASCII)
_REVISION = re.compile(
    r"\$\((?:git (?:rev-parse(?: --(?:short|verify|abbrev-ref|show-toplevel))*|merge-base"
    r"|describe(?: --(?:tags|always|dirty|abbrev=\d+))*|branch --show-current|symbolic-ref --short)"
    r"(?: [\w./@~^][\w./@~^-]*)*"
    r"|date(?: -u| --utc| (?:-d ?|--date[= ])(?:\w[\w:.+-]*|\"\w[\w :.+-]*\"|'\w[\w :.+-]*'))*"
    r"(?: [\"']?\+[%\w:.-]+[\"']?| -I[a-z]*| --iso-8601(?:=[a-z]+)?)|uname(?: -[a-z])?|hostname|whoami|pwd"
    r"|(?:which|command -v) [a-z][\w.-]*)\)",
    re.ASCII,
)
"""Substituted commands that print the name of a commit, a branch, a folder, a machine or a time, which never begins
with a dash."""
_LISTED = re.compile(
    r"\$\((?:git (?:ls-files|diff --name-only|diff --cached --name-only)(?: [\w./*@'\"~^-]+)*"
    r"|find(?: \w[\w./-]*| \.[\w./-]*)+(?: -not| -o| -print| -(?:i?name|i?path|type|maxdepth|mindepth|size|mtime)"
    r" [\"']?[\w./*+-]+[\"']?)*)\)",
    re.ASCII,
)
"""Substituted commands that print any number of files of the workspace."""
_NUMBERS = re.compile(
    r"\$\((?:nproc(?: --all)?|getconf _NPROCESSORS_ONLN|sysctl -n hw\.\w+|date \+%s|id -[ug]"
    r"|wc -[lcw] ?< ?[\w./-]+|git rev-list --count [\w./@~^]+|(?:[\w./@=%^~'\"* -]+\|)+ *wc -[lcw])\)",
    re.ASCII,
)
"""Substituted commands that print one number."""
# Holds no character that could make two shells, or a shell and the grammar, disagree about where it ends.
_PLAIN_SUBSTITUTION = re.compile(r"[$<]\((?!.*<<)[\w./@:=%+,^~{}|<'\"$* -]*\)|`[\w./@:=%+,^~ -]+`", re.ASCII)
_SUM = re.compile(r"\$\(\((?:\$?[A-Za-z_]\w*\b|\b\d+\b|[\s+*/%()-])*\)\)", re.ASCII)
_CERTAIN = re.compile(r"[\w./+@%:,=-]+", re.ASCII)
"""Text that stays one word, quoted or not."""
_BRACES = re.compile(r"[\w./+@%*?-]*(?:\{[\w./+*-]+(?:,[\w./+*-]+)+\}[\w./+@%*?-]*)+", re.ASCII)
_LIST = re.compile(r"\{([^{}]*)\}")
MOST_CHOICES = 100

Vague = Literal["", "number", "place", "text"]
"""Which part of a word is known only when it runs: nothing, a number, a folder or a name, or any text."""
_ORDER: tuple[Vague, ...] = ("", "number", "place", "text")


@dataclass(frozen=True, slots=True)
class Word:
    """A word as far as it is known.

    `text` is what the program gets. If `pattern` is set, it gets names of files, which begin like `text` up to its
    first wildcard. If `counted` is set, `0` in `text` stands for a number such as `$?`, or for `$!`, which may be
    empty. If `vague` is set, `*` (or `0` for a number) in `text` stands for what is known only when it runs, and `why`
    says so; if also `split` is set, that part may become several words or none. `choices` are the words that some
    shells make of this one. `doubt` says why the word is not known; `text` then means nothing.
    """

    text: str = ""
    pattern: bool = False
    doubt: str | None = None
    counted: bool = False
    vague: Vague = ""
    why: str = ""
    split: bool = False
    choices: tuple[str, ...] = ()

    def joined(self, other: Word) -> Word:
        """Returns the word that consists of both words."""
        return Word(
            self.text + other.text,
            self.pattern or other.pattern,
            self.doubt or other.doubt,
            self.counted or other.counted,
            _ORDER[max(_ORDER.index(self.vague), _ORDER.index(other.vague))],
            self.why or other.why,
            self.split or other.split,
        )


Values = Mapping[str, Word]
_NO_VALUES: Values = MappingProxyType({})


def resolve(node: Node, values: Values = _NO_VALUES) -> Word:  # noqa: PLR0911 a table of kinds
    """Returns the word at `node`; `values` are the variables that are known."""
    match node.type:
        case "word" | "number" | "test_operator" | "extglob_pattern" | "variable_name":
            return _bare(spelled(node))
        case "command_name":
            return resolve(node.children[0], values) if node.child_count == 1 else Word(doubt=_COMPUTED)
        case "=" | "==" | "!=":
            return Word(spelled(node))
        case "raw_string":
            return Word(spelled(node)[1:-1])
        case "string":
            return _double_quoted(node, values)
        case "brace_expression":
            return _braces(spelled(node))
        case "concatenation":
            return _concatenated(node, values)
        case "simple_expansion" | "expansion":
            return _parameter(node, values)
        case "command_substitution" | "process_substitution":
            return _substitution(node)
        case "arithmetic_expansion" if _reckons(spelled(node), values):
            return Word("0", vague="number", why=f"`{shorten(spelled(node), 40)}` {_LATER}")
        case _:
            return Word(doubt=f"`{shorten(spelled(node), 40)}` is known only when it runs")


_COMPUTED = "a program's name is computed"


def _reckons(raw: str, values: Values) -> bool:
    """Returns whether an arithmetic expression uses numbers alone; some shells would run code in a variable's text."""
    names = re.findall(r"[A-Za-z_]\w*", raw)
    return _SUM.fullmatch(raw) is not None and all(name in values and values[name].vague == "number" for name in names)


def spelled(node: Node) -> str:
    """Returns the text of a node as it was written."""
    return as_written(node.text or b"")


def _bare(text: str) -> Word:
    """Returns the word for text outside quotes, where backslashes escape, and wildcards and braces may expand."""
    if "\n" in text:
        # The grammar sometimes makes the end of a line a part of the word that follows.
        return Word(doubt="a word continues over the end of a line")
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
        if pattern or braces or not (text == "~" or text.startswith("~/")) or "\\" in text:
            return Word(doubt=f"`~` {_LATER}")
        return Word(f"/*{text[1:]}", vague="place", why=f"`~` {_LATER}")
    if "{" in text and braces > 2:
        return Word(doubt=f"`{shorten(text, 40)}` means different things to different shells")
    return Word("".join(out), pattern)


_LATER = "is known only when it runs"


def _double_quoted(node: Node, values: Values) -> Word:
    """Returns the word for text in double quotes. Its text is taken from the source, because the tree omits blanks."""
    data, at = node.text or b"", 1
    whole = Word()
    for child in node.named_children:
        if child.type == "string_content":
            continue
        start = child.start_byte - node.start_byte
        whole = whole.joined(Word(_unescaped(as_written(data[at:start]))))
        inner = resolve(child, values)
        # A quoted parameter stays one word, except for `$@`, so a known value is not vague here.
        split = spelled(child) in {"$@", "${@}"}
        known = inner.vague == "place" and spelled(child).strip("${}") in values
        whole = whole.joined(replace(inner, split=split, vague="" if known else inner.vague))
        at = child.end_byte - node.start_byte
    # In the tree, an unclosed string ends with a quote of zero length.
    end = node.children[-1].start_byte - node.start_byte
    whole = whole.joined(Word(_unescaped(as_written(data[at:end]))))
    return Word(doubt=whole.doubt) if whole.doubt else whole


def _unescaped(text: str) -> str:
    """Returns text in double quotes without its escapes: a backslash before some characters is removed, and a backslash
    before the end of a line is removed together with that."""
    return _IN_DOUBLE_QUOTES.sub(lambda found: found[1] or "", text)


def _concatenated(node: Node, values: Values) -> Word:
    raw = spelled(node)
    if re.search(r"\{[^{}'\"]*(?:,|\.\.)[^{}]*\}", raw):
        return _braces(raw)
    whole = Word()
    end = node.start_byte
    for child in node.children:
        if child.start_byte != end or not child.is_named:
            return Word(doubt=f"`{shorten(raw, 40)}` cannot be read")
        end = child.end_byte
        whole = whole.joined(resolve(child, values))
    return whole


_RANGE = re.compile(r"\{([1-9]\d?)\.\.([1-9]\d?)\}", re.ASCII)


def _counted(found: re.Match[str]) -> str:
    """Returns `{1..3}` as `{1,2,3}`; a range that counts down, or of one number, is left as it is."""
    first, last = int(found[1]), int(found[2])
    return f"{{{','.join(map(str, range(first, last + 1)))}}}" if first < last else found[0]


def _braces(raw: str) -> Word:
    """Returns a word with lists in braces, which some shells expand to several words and others leave as it is."""
    doubt = Word(doubt=f"`{shorten(raw, 40)}` means different things to different shells")
    ranges = _RANGE.sub(_counted, raw)
    if not _BRACES.fullmatch(ranges) or ".." in ranges:
        return doubt
    lists = [found.split(",") for found in _LIST.findall(ranges)]
    if prod(map(len, lists)) > MOST_CHOICES:
        return doubt
    between = _LIST.split(ranges)[::2]
    chosen = [
        "".join((between[0], *(a + b for a, b in zip(each, between[1:], strict=True)))) for each in product(*lists)
    ]
    return Word(raw, pattern="*" in raw or "?" in raw, choices=tuple(chosen))


# Expansions that only cut or replace text, and none that assigns, calculates or refers to another variable.
_CUT = re.compile(
    r"\$\{(?:#[A-Za-z_]\w*|[A-Za-z_]\w*(?::?-[\w./ +,@-]*|%%?[\w.*/-]+|##?[\w.*/-]+|//?[\w. -]+(?:/[\w. -]*)?"
    r"|\^\^?|,,?))\}",
    re.ASCII,
)


def _parameter(node: Node, values: Values) -> Word:
    raw = spelled(node)
    if _CUT.fullmatch(raw):
        return Word("*", vague="text", why=f"`{shorten(raw, 40)}` {_LATER}", split=True)
    name = raw[2:-1] if raw.startswith("${") else raw[1:]
    why = f"`${shorten(name, 40)}` {_LATER}"
    if name in _NUMERIC and not raw.startswith("${"):
        return Word("0", counted=True)
    if not _NAME.fullmatch(name):
        return Word(doubt=why)
    if name in values:
        known = values[name]
        if known.vague == "number" or (not known.pattern and _CERTAIN.fullmatch(known.text)):
            return known
        return Word(known.text, known.pattern, vague="place", why=why, split=True)
    return Word(_PLACES.get(name, "*"), vague="place" if name in _PLACES else "text", why=why, split=True)


def _substitution(node: Node) -> Word:
    """Returns the word for the output of a command, or for a file with that output. What the command does is examined
    elsewhere."""
    raw = spelled(node)
    if not _PLAIN_SUBSTITUTION.fullmatch(raw):
        return Word(doubt=f"`{shorten(raw, 40)}` {_LATER}")
    if node.type == "process_substitution":
        return Word("/dev/fd/*", vague="place", why="a command stands in for a file")
    if _NUMBERS.fullmatch(raw):
        return Word("0", vague="number", why="the output of a command becomes part of another")
    one, many = _REVISION.fullmatch(raw), _LISTED.fullmatch(raw)
    kind: Vague = "place" if one or many else "text"
    split = not one or "toplevel" in raw or "pwd" in raw
    return Word("*", vague=kind, why="the output of a command becomes part of another", split=split)
