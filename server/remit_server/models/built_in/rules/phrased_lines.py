"""Rules for whole phrases that insert, change, remove or comment lines of a file (MOD-23). Pure.

Words are taken literally as a text only if they can hardly mean anything else: in quotes, as code, or as a line of a
file that holds no code.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from remit_server.models.built_in.edits.line_edits import (
    AddSetting,
    AmongImports,
    AtLine,
    Beside,
    Comment,
    Commented,
    Document,
    Insert,
    LineEdit,
    ListEntry,
    Pin,
    Remove,
    RemoveEntry,
    Rewrite,
    Title,
)
from remit_server.models.built_in.edits.list_entries import can_list
from remit_server.models.built_in.edits.new_settings import can_add
from remit_server.models.built_in.language.meant import tells_of_part
from remit_server.models.built_in.language.phrases import LAST, Parts
from remit_server.models.built_in.language.sentences import Sentence
from remit_server.models.built_in.language.texts import (
    begins_with_article,
    describes,
    is_code,
    is_kind,
    is_like_code,
    is_property,
)
from remit_server.models.built_in.language.words import IDENTIFIER, filling, saying
from remit_server.models.built_in.routes import FILE, PLACE, Edited, Missing, Route

PROSE = re.compile(r"\.(?:md|rst|adoc|html?|tex)$")
_STATES = re.compile(r"(?:const|let|var|def|class|function|export|import|from|return|set) \w")


_NO_TEXT = re.compile(r"[=:,)\]}]|\w+ (?:in|on|up|out|down|me|us) ", re.IGNORECASE)
"""Matches a text that begins with a sign from within an expression, or with a verb and its particle."""


def _is_text(said: Sentence, parts: Parts, part: str) -> bool:
    """Returns whether a part is surely meant literally as a text."""
    text = parts[part]
    if part in parts.quoted:
        return True
    if " " in text and any(saying(idea).match(text) for idea in ("adds", "deletes", "replaces", "moves", "creates")):
        return False
    if _NO_TEXT.match(text) or begins_with_article(text) or text.lower() in filling() or is_kind(text):
        return False
    if is_like_code(text):
        return True
    path = said.files[0] if said.files else ""
    return bool(path) and " " not in text and not is_code(path) and not PROSE.search(path)


def edit_of(said: Sentence, edit: LineEdit, sought: str = "") -> Route:
    """Returns the edit of the one file that a sentence names, or the question for the file if it names none."""
    if len(said.files) == 1:
        return Edited(said.files[0], edit)
    return None if said.files or said.paths else Missing(FILE, sought)


_WITH = re.compile(r"\b(?:with|by|durch|par|por|con)\b", re.IGNORECASE)
_A_LINE = re.compile(r"(?:the )?(?:line|zeile|ligne|l[ií]nea|riga)\b", re.IGNORECASE)


def change_line(said: Sentence, parts: Parts) -> Route:
    """Takes a new text for a line, if it is surely meant literally; in a list or in prose also plain words after
    "with"."""
    text = parts["text"]
    plain = _is_lines(said) and _WITH.search(said.short) is not None and not (_A_LINE.match(text) or is_property(text))
    clear = _is_text(said, parts, "text") or (plain and not _is_described(text))
    return edit_of(said, Rewrite(parts.line, text)) if clear else None


def _is_lines(said: Sentence) -> bool:
    """Returns whether each line of the one file is a text of its own, because the file is a list or prose."""
    return len(said.files) == 1 and bool(_LISTING.search(said.files[0]) or PROSE.search(said.files[0]))


def _is_described(text: str) -> bool:
    """Returns whether plain words describe a line and are not the line itself."""
    told = _OF_A_LINE.match(text) or begins_with_article(text) or is_kind(text) or describes(text)
    return bool(told) or re.search(r"""["`「“«]""", text) is not None


_NO_LINE = re.compile(r"(?:that|which|with|where|from|number|saying|containing|after|before|\d)\b", re.IGNORECASE)
"""Words after "the line" that describe the line and do not spell it out."""


def insert_at(number: int) -> Callable[[Sentence, Parts], Route]:
    """Returns the rule for a text that goes before the line with this number; 0 is the end of the file."""

    def rule(said: Sentence, parts: Parts) -> Route:
        if (literal := parts.get("literal")) is not None:
            described = "literal" not in parts.quoted and (_NO_LINE.match(literal) or begins_with_article(literal))
            return None if described else edit_of(said, Insert(literal, AtLine(number)))
        return edit_of(said, Insert(parts["text"], AtLine(number))) if _is_text(said, parts, "text") else None

    return rule


def insert_beside(*, after: bool) -> Callable[[Sentence, Parts], Route]:
    """Returns the rule for a text that goes after or before the line with another text."""

    def rule(said: Sentence, parts: Parts) -> Route:
        if not (_is_text(said, parts, "text") and _is_anchor(parts)):
            return None
        return edit_of(said, Insert(parts["text"], Beside(parts["anchor"], after)), parts["anchor"])

    return rule


def insert_by_line(*, after: bool) -> Callable[[Sentence, Parts], Route]:
    """Returns the rule for a text that goes after or before a line with a number."""

    def rule(said: Sentence, parts: Parts) -> Route:
        if not _is_text(said, parts, "text"):
            return None
        if parts.line == LAST:
            return edit_of(said, Insert(parts["text"], AtLine(0))) if after else None
        return edit_of(said, Insert(parts["text"], AtLine(parts.line + after, beside=parts.line)))

    return rule


def _is_anchor(parts: Parts) -> bool:
    """Returns whether the part `anchor` is clear enough to find a line by."""
    anchor = parts["anchor"]
    word = " " not in anchor and anchor.lower() not in filling()
    return "anchor" in parts.quoted or word or is_like_code(anchor) or _STATES.match(anchor) is not None


_LISTING = re.compile(r"(?:^|/)(?:requirements[\w-]*\.txt|\.\w+ignore|[\w-]+\.(?:txt|list|csv))$")
"""Files in which each line is an entry, so that a new entry can go to the end."""


def append_to(said: Sentence, parts: Parts) -> Route:
    """Takes an entry to add at the end of a list."""
    clear = "text" in parts.quoted or (" " not in parts["text"] and _is_text(said, parts, "text"))
    listing = len(said.files) == 1 and _LISTING.search(said.files[0])
    return edit_of(said, Insert(parts["text"], AtLine(0))) if clear and listing else None


_SETTING = re.compile(r"[\"']?(?P<name>[A-Za-z_][\w-]*)[\"']?\s*[:=]\s*(?P<value>\S.*)")


def add_setting(said: Sentence, parts: Parts) -> Route:
    """Takes a new setting for a file of settings: its name and its value, or both in one quoted text."""
    if (text := parts.get("text")) is None:
        name, value = parts["name"], f'"{parts["value"]}"' if "value" in parts.quoted else parts["value"]
    elif "text" in parts.quoted and (found := _SETTING.fullmatch(text)) is not None:
        name, value = found["name"], found["value"].rstrip(",")
    else:
        return None
    there = len(said.files) == 1 and can_add(said.files[0], name)
    return Edited(said.files[0], AddSetting(name, value)) if there else None


def list_entry(*, added: bool) -> Callable[[Sentence, Parts], Route]:
    """Returns the rule for an entry that is added to a list in a file of settings, or taken out of it."""

    def rule(said: Sentence, parts: Parts) -> Route:
        entry = parts["text"]
        clear = "text" in parts.quoted or (" " not in entry and not is_kind(entry))
        there = len(said.files) == 1 and can_list(said.files[0])
        return Edited(said.files[0], ListEntry(parts["list"], entry, added), guessed=True) if clear and there else None

    return rule


def remove_entry(said: Sentence, parts: Parts) -> Route:
    """Takes an entry to remove from a file in which each line is an entry."""
    text = parts["text"]
    named = re.fullmatch(r"[^\W\d][\w.+/@-]*", text) is not None
    clear = named and text.lower() not in filling() and not is_kind(text) and not begins_with_article(text)
    listing = len(said.files) == 1 and _LISTING.search(said.files[0]) and not tells_of_part(said)
    return edit_of(said, RemoveEntry(text)) if clear and "text" not in parts.quoted and listing else None


_REQUIREMENTS = re.compile(r"(?:^|/)(?:[\w-]*requirements[\w-]*|constraints)\.txt$")


def pin(said: Sentence, parts: Parts) -> Route:
    """Takes a requirement and its new version."""
    version = re.fullmatch(r"v?(\d[\w.]*)", parts["value"])
    listing = len(said.files) == 1 and _REQUIREMENTS.search(said.files[0])
    exact = re.match(r"pin\b", said.short, re.IGNORECASE) is not None
    return edit_of(said, Pin(parts["name"], version[1], exact)) if version and listing else None


def commented(*, out: bool) -> Callable[[Sentence, Parts], Route]:
    """Returns the rule that turns a line into a comment if `out`, or else back into code."""

    def rule(said: Sentence, parts: Parts) -> Route:
        anchor = parts.get("anchor")
        if anchor is None:
            return edit_of(said, Commented(parts.line, out))
        return edit_of(said, Commented(anchor, out), anchor) if _is_anchor(parts) else None

    return rule


def comment_top(said: Sentence, parts: Parts) -> Route:
    """Takes the text of a comment for the top of a file."""
    if "text" not in parts.quoted and describes(parts["text"]):
        return None
    return edit_of(said, Comment(parts["text"], AtLine(1)))


_OF_A_LINE = re.compile(
    r"(?:about|with|that|which|who|where|when|for|of|on|to|from|in|after|before|above|below|between|break|by|at|as|"
    r"number|\d+|and|if|explaining|describing|documenting|\w+ing)\b",
    re.IGNORECASE,
)
"""Words after "a line" or "a note" that describe the line and do not spell it out."""


def append_text(said: Sentence, parts: Parts) -> Route:
    """Takes plain words as a new last line of a list or of prose, unless they only describe the line."""
    text = parts["text"]
    clear = "text" in parts.quoted or not _is_described(text)
    return edit_of(said, Insert(text, AtLine(0))) if clear and _is_lines(said) else None


def append_line(said: Sentence, parts: Parts) -> Route:
    """Takes a quoted line for the end of a list or of prose; asks for the place in other files."""
    if "text" not in parts.quoted or len(said.files) != 1:
        return None
    at = PLACE.format(text=parts["text"], file=said.files[0])
    return edit_of(said, Insert(parts["text"], AtLine(0))) if _is_lines(said) else Missing(at)


def remove_line(said: Sentence, parts: Parts) -> Route:
    """Takes the number of a line to remove."""
    return edit_of(said, Remove(parts.line))


def remove_lines(said: Sentence, parts: Parts) -> Route:
    """Takes the numbers of the first and the last line to remove."""
    return None if (lines := parts.lines) is None else edit_of(said, Remove(*lines))


def remove_text(said: Sentence, parts: Parts) -> Route:
    """Takes the text of a line to remove."""
    if (known := parts.get("odd") or parts.get("mark") or parts.get("name")) is not None:
        return edit_of(said, Remove(known), known)
    return edit_of(said, Remove(parts["anchor"]), parts["anchor"]) if _is_anchor(parts) else None


def insert_import(said: Sentence, parts: Parts) -> Route:
    """Takes a whole import line, or the name of a module if the file is Python."""
    if (module := parts.get("module")) is not None:
        python = bool(said.files) and said.files[0].endswith(".py") and not _NO_MODULE.search(said.text)
        return edit_of(said, Insert(f"import {module}", AmongImports())) if python else None
    whole = "text" in parts.quoted or not _NO_MODULE.search(parts["text"])
    return edit_of(said, Insert(parts["text"], AmongImports())) if whole else None


_PAGE = re.compile(r"\.(?:md|markdown|html?)$", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"be\b|\w+(?:er|case|able|ful)\b|title case|more\b|less\b|bold|italics?|english|german|french", re.IGNORECASE
)
"""Words after "change the title to" that say how the title shall be, and are no title."""


def title(said: Sentence, parts: Parts) -> Route:
    """Takes the new title of a page. Plain words are one, unless they only describe it."""
    text, old = parts["text"], parts.get("old")
    told = text[:1].isupper() or not (is_property(text) or begins_with_article(text) or describes(text))
    plain = told and not (_NO_TITLE.match(text) or is_kind(text) or re.search(r"[\"`“«]", text))
    page = len(said.files) == 1 and _PAGE.search(said.files[0])
    return edit_of(said, Title(text, old)) if page and ("text" in parts.quoted or plain) else None


def remove_import(said: Sentence, parts: Parts) -> Route:
    """Takes the name of a module whose import goes."""
    module = parts["module"]
    plain = module.lower() in filling() or is_kind(module) or said.quoted
    return edit_of(said, Remove(f"import {module}")) if said.files and not plain else None


_NO_MODULE = re.compile(
    r"\bimport\w* (?:for |of )?(?:(?:the|a|an)\b|errors?\b|data\b|cleanup\b|statements?\b|(?-i:[A-Z])\w*[a-z])",
    re.IGNORECASE,
)
"""Matches what follows "import" and is no module: ordinary words, or a class, which is in a module."""


_TOLD_TEXT = re.compile(r":|\b(?:saying|says|reading|with|namely|as|it should be|und zwar)\b", re.IGNORECASE)
"""Signs and words that introduce a text that is not quoted."""


def document(said: Sentence, parts: Parts) -> Route:
    """Takes the name of a function or class, and its docstring."""
    name = parts["name"].removesuffix("()")
    if not re.fullmatch(IDENTIFIER, name) or name.lower() in filling():
        return None
    if "text" not in parts.quoted and (not _TOLD_TEXT.search(said.text) or describes(parts["text"])):
        return None
    return edit_of(said, Document(name, parts["text"].strip("\"'")), f"def {name}(")


def comment(*, after: bool) -> Callable[[Sentence, Parts], Route]:
    """Returns the rule for a comment after or before the line with another text."""

    def rule(said: Sentence, parts: Parts) -> Route:
        anchor = parts["anchor"]
        if "text" not in parts.quoted and describes(parts["text"]):
            return None
        return edit_of(said, Comment(parts["text"], Beside(anchor, after)), anchor) if _is_anchor(parts) else None

    return rule
