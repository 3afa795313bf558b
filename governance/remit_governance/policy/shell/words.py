"""One word of a command line resolved to what the program gets, where every POSIX shell agrees on it; and a script as
the parser gets it, without any character above U+00FF (CMD-06).

The grammar looks characters up in C's table of 256 without asking how large they are: `{` before an emoji reads
memory that is not its own, and may end the process.
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

_MARK = "\x80"
"""Begins a character's number. No script that is parsed holds one: it is not shown."""
_DIGITS = 0xC0
"""Letters that nothing in the grammar begins with: 64 of them, so six bits each."""
_WIDE = re.compile(r"[^\x00-\xff]")
_NUMBERED = re.compile(f"{_MARK}([{chr(_DIGITS)}-{chr(_DIGITS + 63)}]{{4}})")


def to_parse(script: str) -> bytes:
    """Returns what the parser gets; `as_written` is the way back, for each part of it."""
    return _WIDE.sub(_number, script).encode()


def as_written(parsed: bytes) -> str:
    """Returns a part of a script as it was written."""
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
"""Special parameters that are digits; without a command in the background `$!` is nothing."""
_PLACES: Mapping[str, str] = MappingProxyType({"HOME": "/*", "PWD": "/*", "USER": "*", "LOGNAME": "*"})
"""Variables that name a folder or a person, and that no line sets without a doubt."""
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
"""Commands that print the name of a commit, a branch, a folder or a time: one word, which begins with no dash."""
_LISTED = re.compile(
    r"\$\((?:git (?:ls-files|diff --name-only|diff --cached --name-only)(?: [\w./*@'\"~^-]+)*"
    r"|find(?: \w[\w./-]*| \.[\w./-]*)+(?: -not| -o| -print| -(?:i?name|i?path|type|maxdepth|mindepth|size|mtime)"
    r" [\"']?[\w./*+-]+[\"']?)*)\)",
    re.ASCII,
)
"""Commands that print files of the workspace, any number of them."""
_NUMBERS = re.compile(
    r"\$\((?:nproc(?: --all)?|getconf _NPROCESSORS_ONLN|sysctl -n hw\.\w+|date \+%s|id -[ug]"
    r"|wc -[lcw] ?< ?[\w./-]+|git rev-list --count [\w./@~^]+|(?:[\w./@=%^~'\"* -]+\|)+ *wc -[lcw])\)",
    re.ASCII,
)
"""Commands that print one number."""
# No sign by which two shells, or a shell and the grammar, could differ about where it ends.
_PLAIN_SUBSTITUTION = re.compile(r"[$<]\((?!.*<<)[\w./@:=%+,^~{}|<'\"$* -]*\)|`[\w./@:=%+,^~ -]+`", re.ASCII)
_SUM = re.compile(r"\$\(\((?:\$?[A-Za-z_]\w*\b|\b\d+\b|[\s+*/%()-])*\)\)", re.ASCII)
_CERTAIN = re.compile(r"[\w./+@%:,=-]+", re.ASCII)
"""Text that stays one word, quoted or not."""
_BRACES = re.compile(r"[\w./+@%*?-]*(?:\{[\w./+*-]+(?:,[\w./+*-]+)+\}[\w./+@%*?-]*)+", re.ASCII)
_LIST = re.compile(r"\{([^{}]*)\}")
MOST_CHOICES = 100

Vague = Literal["", "number", "place", "text"]
"""What of a word is known only when it runs: nothing, a number, a folder or a name, any text."""
_ORDER: tuple[Vague, ...] = ("", "number", "place", "text")


@dataclass(frozen=True, slots=True)
class Word:
    """A word as far as it is known.

    `text` is what the program gets; where `pattern` is set, files whose names begin like `text` up to its first
    wildcard; where `counted` is set, `0` stands in it for numbers, one of which may be nothing at all. Where it is
    `vague`, `*` stands in it for what is known only when it runs, which `why` says; where it is `split`, that may be
    several words, or none. `choices` are the words that some shells make of it. `doubt` says why the word is not known;
    then `text` means nothing.
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
        """Returns both words as one."""
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
    """Returns the word at `node`, where the variables in `values` are known."""
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
            return Word("0", vague="number", why=f"`{spelled(node)[:40]}` {_LATER}")
        case _:
            return Word(doubt=f"`{spelled(node)[:40]}` is known only when it runs")


_COMPUTED = "a program's name is computed"


def _reckons(raw: str, values: Values) -> bool:
    """Returns whether a sum is of numbers alone: some shells run what stands in a variable's text."""
    names = re.findall(r"[A-Za-z_]\w*", raw)
    return _SUM.fullmatch(raw) is not None and all(name in values and values[name].vague == "number" for name in names)


def spelled(node: Node) -> str:
    """Returns the text of a node as it was written."""
    return as_written(node.text or b"")


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
        if pattern or braces or not (text == "~" or text.startswith("~/")) or "\\" in text:
            return Word(doubt=f"`~` {_LATER}")
        return Word(f"/*{text[1:]}", vague="place", why=f"`~` {_LATER}")
    if "{" in text and braces > 2:
        return Word(doubt=f"`{text[:40]}` means different things to different shells")
    return Word("".join(out), pattern)


_LATER = "is known only when it runs"


def _double_quoted(node: Node, values: Values) -> Word:
    """Returns text between double quotes, taken from the source: the tree leaves blanks out."""
    data, at = node.text or b"", 1
    whole = Word()
    for child in node.named_children:
        if child.type == "string_content":
            continue
        start = child.start_byte - node.start_byte
        whole = whole.joined(Word(_unescaped(as_written(data[at:start]))))
        inner = resolve(child, values)
        # Quoted, it stays one word, but for `$@`; so a value that is known is all there is to it.
        split = spelled(child) in {"$@", "${@}"}
        known = inner.vague == "place" and spelled(child).strip("${}") in values
        whole = whole.joined(replace(inner, split=split, vague="" if known else inner.vague))
        at = child.end_byte - node.start_byte
    # The tree ends an unclosed string with a quote of no length.
    end = node.children[-1].start_byte - node.start_byte
    whole = whole.joined(Word(_unescaped(as_written(data[at:end]))))
    return Word(doubt=whole.doubt) if whole.doubt else whole


def _unescaped(text: str) -> str:
    """Returns a backslash in double quotes: before some signs it goes, before the end of a line both do."""
    return _IN_DOUBLE_QUOTES.sub(lambda found: found[1] or "", text)


def _concatenated(node: Node, values: Values) -> Word:
    raw = spelled(node)
    if re.search(r"\{[^{}'\"]*(?:,|\.\.)[^{}]*\}", raw):
        return _braces(raw)
    whole = Word()
    end = node.start_byte
    for child in node.children:
        if child.start_byte != end or not child.is_named:
            return Word(doubt=f"`{raw[:40]}` cannot be read")
        end = child.end_byte
        whole = whole.joined(resolve(child, values))
    return whole


_RANGE = re.compile(r"\{([1-9]\d?)\.\.([1-9]\d?)\}", re.ASCII)


def _counted(found: re.Match[str]) -> str:
    """`{1..3}` as `{1,2,3}`; a range that counts down, or of one number, is left as it is."""
    first, last = int(found[1]), int(found[2])
    return f"{{{','.join(map(str, range(first, last + 1)))}}}" if first < last else found[0]


def _braces(raw: str) -> Word:
    """Returns a word with lists in braces: some shells make several of it, others leave it."""
    doubt = Word(doubt=f"`{raw[:40]}` means different things to different shells")
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


# Forms that only cut or replace text; one that assigns, reckons or names another variable is not among them.
_CUT = re.compile(
    r"\$\{(?:#[A-Za-z_]\w*|[A-Za-z_]\w*(?::?-[\w./ +,@-]*|%%?[\w.*/-]+|##?[\w.*/-]+|//?[\w. -]+(?:/[\w. -]*)?"
    r"|\^\^?|,,?))\}",
    re.ASCII,
)


def _parameter(node: Node, values: Values) -> Word:
    raw = spelled(node)
    if _CUT.fullmatch(raw):
        return Word("*", vague="text", why=f"`{raw[:40]}` {_LATER}", split=True)
    name = raw[2:-1] if raw.startswith("${") else raw[1:]
    why = f"`${name[:40]}` {_LATER}"
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
    """Returns the output of a command, or a file with it; what that command does is looked at by itself."""
    raw = spelled(node)
    if not _PLAIN_SUBSTITUTION.fullmatch(raw):
        return Word(doubt=f"`{raw[:40]}` {_LATER}")
    if node.type == "process_substitution":
        return Word("/dev/fd/*", vague="place", why="a command stands in for a file")
    if _NUMBERS.fullmatch(raw):
        return Word("0", vague="number", why="the output of a command becomes part of another")
    one, many = _REVISION.fullmatch(raw), _LISTED.fullmatch(raw)
    kind: Vague = "place" if one or many else "text"
    split = not one or "toplevel" in raw or "pwd" in raw
    return Word("*", vague=kind, why="the output of a command becomes part of another", split=split)
