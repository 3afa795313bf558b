"""Reads what a diff says about a file before its hunks: names, and git's own lines about modes, moves and copies; pure.

Every such line is carried out, or the diff is refused, because a line that is ignored would be a change that never
happens (`apply_diff`; TOOL-05).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from remit_server.tools.edit.patch.envelope import FilePatch, Hunk, unusable

Names = tuple[str | None, str | None]

_GIT = "diff --git "
_SAID = re.compile(
    r"(old mode|new mode|new file mode|deleted file mode) (\d{6})"
    r"|(copy from|copy to|rename from|rename to) (.+)"
    r"|(index) ([0-9a-f]+\.\.[0-9a-f]+(?: \d{6})?)"
)
_UNREADABLE = (
    (re.compile(r"Binary files .+ differ|GIT binary patch"), "a binary file cannot be patched"),
    (re.compile(r"@@.*"), "a hunk without a `--- a/path` and a `+++ b/path` line before it, or a broken `@@`"),
    (re.compile(r"diff --(cc|combined) .+"), "a diff of a merge cannot be applied"),
    (re.compile(r"\*{3} (\d+(,\d+)? \*{4}|(Add|Update|Delete) File: .+)"), "this is not a unified diff"),
    (re.compile(r"Only in \S+: \S+"), "this file's contents are not in the diff"),
)
_PLAIN_FILE = re.compile(r"100[0-7]{3}")
_NOTHING = re.compile(r"0+")
_EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
"""Git's ids of an empty file, for its two hash functions."""

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_TWO_QUOTED = re.compile(rf"({_QUOTED}) ({_QUOTED})")
_LAST_QUOTED = re.compile(rf"{_QUOTED}$")
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)")
_SIMPLE = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


@dataclass(slots=True)
class Said:
    """Git's lines about one file, by their first words; `at` is the number of the first line, from 1."""

    at: int = 0
    lines: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, number: int, line: str) -> bool:
        """Takes this line if it says something about the file. Returns False if the line begins the part of another
        file.

        Raises ToolError if the line belongs to a diff that cannot be applied.
        """
        line = line.removesuffix("\r")
        for form, why in _UNREADABLE:
            if form.fullmatch(line):
                raise unusable(number, why)
        if line.startswith(_GIT):
            key, value = _GIT, line.removeprefix(_GIT)
        elif found := _SAID.fullmatch(line):
            key, value = next((found[n], found[n + 1]) for n in (1, 3, 5) if found[n])
        else:
            return True
        if key in self.lines or (key == _GIT and self.lines):
            return False
        self.at = self.at or number
        self.lines[key] = value
        return True

    def is_of_another(self, header: Names) -> bool:
        """Returns whether `diff --git` names another file than the `---` and `+++` lines after it."""
        if _GIT not in self.lines:
            return False
        name = header[1] or header[0]
        if None in header and (path := _one_name(self.lines[_GIT], self.at)) is not None:
            return path not in {name, f"a/{name}", f"b/{name}"}
        said = f" {self.lines[_GIT]}"
        if found := _LAST_QUOTED.search(said):
            said = f" {unquote_name(found[0], self.at)}"
        return not said.endswith((f" {name}", f" b/{name}"))


def patch_of(said: Said, header: Names | None, hunks: tuple[Hunk, ...], at: int) -> FilePatch:
    """Returns the patch of one file, from git's lines, the names in its `---` and `+++` lines, and its hunks. Raises
    ToolError."""
    lines, at = said.lines, said.at or at
    old, new = _names(said, header, at)
    if old is None and new is None:
        raise unusable(at, "both sides are /dev/null")
    if ("new file mode" in lines and old is not None) or ("deleted file mode" in lines and new is not None):
        raise unusable(at, f"its mode line and its names disagree on whether `{new or old}` is made or removed")
    executable = _executable(lines, at)
    if not hunks:
        if old == new and executable is None:
            raise unusable(at, "no hunk (`@@ -1,3 +1,4 @@`) follows the header")
        if _has_contents(lines.get("index", "")):
            raise unusable(at, f"its `index` line says that `{new or old}` changes, but no hunk says how")
    return FilePatch(old, new, hunks, "copy from" in lines, executable)


def header_names(old: str, new: str, at: int) -> Names:
    """Returns the names after `--- ` and `+++ `, without git's `a/` and `b/`."""
    return _strip_prefixes(_name(old, at), _name(new, at + 1))


def _names(said: Said, header: Names | None, at: int) -> Names:
    for verb in ("rename", "copy"):
        pair = [said.lines.get(f"{verb} {side}") for side in ("from", "to")]
        if pair == [None, None]:
            continue
        source, target = (None if text is None else unquote_name(text, at) for text in pair)
        if source is None or target is None or header not in {None, (source, target)}:
            raise unusable(
                at, f"the `{verb} from` and `{verb} to` lines do not match each other or the names after them"
            )
        return source, target
    path = _one_name(said.lines[_GIT], at) if _GIT in said.lines else None
    if header is not None:
        # One name alone does not show whether its `a/` or `b/` is git's prefix or a folder; the same name twice does.
        old, new = header
        return header if path is None or None not in header else (old and path, new and path)
    if path is None:
        why = "no hunk or `rename` line says what happens" if _GIT in said.lines else "no line names the file"
        raise unusable(at, f"{why}: give a `diff --git` line with one name, or `---` and `+++` lines")
    return (
        None if "new file mode" in said.lines else path,
        None if "deleted file mode" in said.lines else path,
    )


def _one_name(text: str, at: int) -> str | None:
    """Returns the file of a `diff --git` line if both sides name the same file; only then is it clear where one name
    ends."""
    middle = len(text) // 2
    found = _TWO_QUOTED.fullmatch(text)
    if not found and text[middle : middle + 1] != " ":
        return None
    one, other = (found[1], found[2]) if found else (text[:middle], text[middle + 1 :])
    old, new = _strip_prefixes(unquote_name(one, at), unquote_name(other, at))
    return old if old == new else None


def _executable(lines: dict[str, str], at: int) -> bool | None:
    modes = {key: value.split(" ")[-1] for key, value in lines.items() if key.endswith("mode")}
    index = lines.get("index", "").split(" ")
    for mode in (*modes.values(), *index[1:]):
        if not _PLAIN_FILE.fullmatch(mode):
            raise unusable(at, f"mode {mode} is a link's or a submodule's; only files can be patched")
    if ("old mode" in modes) != ("new mode" in modes):
        raise unusable(at, "`old mode` and `new mode` belong together")
    if "new file mode" in modes:
        # A new file is not executable unless its mode line says so.
        return _runs(modes["new file mode"]) or None
    return _runs(modes["new mode"]) if "new mode" in modes else None


def _runs(mode: str) -> bool:
    return bool(int(mode, 8) & 0o100)


def _has_contents(index: str) -> bool:
    """Returns whether an `index` line says that contents change."""
    ids = set(index.split(" ", maxsplit=1)[0].split("..")) - {""}
    return len(ids) > 1 and any(
        not _NOTHING.fullmatch(each) and not any(empty.startswith(each) for empty in _EMPTY) for each in ids
    )


def _name(text: str, at: int) -> str | None:
    name, tab, _ = text.partition("\t")
    # Git puts a tab after a name with blanks, so blanks before a tab belong to the name.
    name = unquote_name(name if tab else name.rstrip(), at)
    return None if name == "/dev/null" else name


def unquote_name(text: str, at: int) -> str:
    """Returns a name without git's quotes and escapes (bytes are in octal). Raises ToolError if it is not text."""
    if not (text.startswith('"') and text.endswith('"') and len(text) > 1):
        return text

    def meant(found: re.Match[bytes]) -> bytes:
        code = found[1]
        return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _SIMPLE.get(code, code)

    try:
        return _ESCAPED.sub(meant, text[1:-1].encode()).decode()
    except UnicodeError as error:
        raise unusable(at, f"the name {text} is not text") from error


def _strip_prefixes(old: str | None, new: str | None) -> Names:
    """Returns the names without git's `a/` and `b/`, if all sides that are files have them."""
    prefixed = (old is None or old.startswith("a/")) and (new is None or new.startswith("b/"))
    if not prefixed:
        return old, new
    return (None if old is None else old[2:]), (None if new is None else new[2:])
