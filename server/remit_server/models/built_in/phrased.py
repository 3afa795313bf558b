"""What whole phrases come to: for each idea of `phrases.yaml` its route, where its parts are clear (MOD-23). Pure.

Plain words are taken for a text only where they can hardly mean anything else: in quotes, as code, or one word for a
file that holds no code. "Add error handling" is no text to add.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from remit_governance.values import Intent
from remit_server.models.built_in.looking import (
    commit,
    list_folder,
    list_symbols,
    look_up,
    run_test_file,
    search,
    search_marks,
    search_tests,
    show_file,
    show_first,
    show_line,
    show_lines,
    show_log,
    show_name,
    show_readme,
)
from remit_server.models.built_in.meant import means_file, tells_of_part
from remit_server.models.built_in.phrases import LAST, Parts, find_phrases
from remit_server.models.built_in.routes import (
    BRANCH,
    COMMAND,
    DOCSTRING,
    FILE,
    LINE,
    MESSAGE,
    NEW_NAME,
    NEW_TEXT,
    PLACE,
    TEXT,
    VALUE,
    AmongImports,
    AtLine,
    Beside,
    Comment,
    Commented,
    Document,
    Edited,
    Help,
    Insert,
    LineEdit,
    Missing,
    Pin,
    Remove,
    RemoveEntry,
    Rewrite,
    Route,
    Routed,
    SetValue,
    replaced_everywhere,
)
from remit_server.models.built_in.sentences import WISHES, Sentence, is_name
from remit_server.models.built_in.texts import (
    begins_with_article,
    describes,
    is_code,
    is_kind,
    is_like_code,
    is_property,
    may_be_name,
    says_rename,
)
from remit_server.models.built_in.words import IDENTIFIER, filling, names_file, names_new_file, saying, says

_PROSE = re.compile(r"\.(?:md|rst|adoc|html?|tex)$")
_STATES = re.compile(r"(?:const|let|var|def|class|function|export|import|from|return|set) \w")
_LITERAL = re.compile(r"-?\d[\w.]*|true|false|null|none|yes|no", re.IGNORECASE)
_ON = re.compile(
    r"on|enable|activate|ein|an|einschalten|aktivieren|activer?z?|activar?|attiva|abilita|オン|有効", re.IGNORECASE
)
_OFF = re.compile(
    r"off|disable|deactivate|aus|ausschalten|deaktivieren|d[ée]sactive[rz]?|desactivar?|disattiva|disabilita|オフ|無効",
    re.IGNORECASE,
)
_TYPO = re.compile(r"\btypo|\bspelling|\bmisspell|^s/|tippfehler|faute", re.IGNORECASE)


def take_phrase(said: Sentence) -> Route:
    """Takes a sentence that is one phrase from end to end."""
    for idea, rule in IDEAS.items():
        for parts in find_phrases(idea, said):
            if (route := rule(said, parts)) is not None:
                return route
    return None


_NO_TEXT = re.compile(r"[=:,)\]}]|\w+ (?:in|on|up|out|down|me|us) ", re.IGNORECASE)
"""What begins with the end of something, or with a verb."""


def _is_text(said: Sentence, parts: Parts, part: str) -> bool:
    """Returns whether a part is surely meant as a text."""
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
    return bool(path) and " " not in text and not is_code(path) and not _PROSE.search(path)


def _edit(said: Sentence, edit: LineEdit, sought: str = "") -> Route:
    if len(said.files) == 1:
        return Edited(said.files[0], edit)
    return None if said.files or said.paths else Missing(FILE, sought)


_NO_SETTING = re.compile(
    r"bump|turn|hold|line|comment|tabs|users?|access|color|switch|set|go|move|add|logging|tests?|things?",
    re.IGNORECASE,
)
_SETS = re.compile(
    r"(?:please )?(?:in \S+,? )?(?:set|change|update|switch|make|flip|setze?|stelle?|ändere?|mets|mettre|change[rz]?|"
    r"passe[rz]?|r[èe]gle[rz]?|pon|poner|cambia|cambiar|ajusta|imposta|metti|porta|regola)\b|.*(?:=|に(?:して|設定|変更|変え|セット))",
    re.IGNORECASE,
)


def _set_value(said: Sentence, parts: Parts) -> Route:
    name, value = parts["name"], parts["value"]
    if _ON.fullmatch(value) or _OFF.fullmatch(value):
        value = "true" if _ON.fullmatch(value) else "false"
    if not re.fullmatch(r"[\w.-]+", name) or name.lower() in filling() - {"name"} or _NO_SETTING.fullmatch(name):
        return None
    parted = "value" not in parts.quoted and re.search(r"[「」を、]", value)
    if parted or (said.files and _PROSE.search(said.files[0])) or not _is_value(said, parts, value):
        return None
    if not said.files and not is_name(name) and not _LITERAL.fullmatch(value):
        return None
    return _edit(said, SetValue(name, value), name)


def _is_value(said: Sentence, parts: Parts, value: str) -> bool:
    """Returns whether a word is a value: no type that a function gives, and, where it is a plain word, none but in a
    sentence that sets one in a file that holds no code."""
    if not may_be_name(value) and re.search(r"->|→|=>", said.short):
        return False
    if "value" in parts.quoted or not re.fullmatch(IDENTIFIER, value) or _LITERAL.fullmatch(value):
        return True
    return _is_config(said) and not is_property(value) and _SETS.match(said.short) is not None


def _value_told(said: Sentence, parts: Parts) -> Route:
    """Returns a name and its value alone: only where both can be nothing else."""
    name = parts["name"]
    clear = is_name(name) or "-" in name or (_is_config(said) and not any(says(idea, name) for idea in WISHES))
    return _set_value(said, parts) if clear and _LITERAL.fullmatch(parts["value"]) else None


def _is_config(said: Sentence) -> bool:
    return bool(said.files) and not is_code(said.files[0])


_IS_WAY = re.compile(
    r"prints?|log|logging|loggers?|requests|urllib|httpx|aiohttp|unittest|pytest|loops?|for|while|comprehensions?|lists?|"
    r"dicts?|tuples?|sets?|class(?:es)?|functions?|methods?|dataclass(?:es)?|strings?|format|formats|fstrings?|tabs?|"
    r"spaces|quotes|callbacks?|promises?|async|await|threads?|threading|asyncio|json|yaml|toml|xml|csv|sqlite|postgres|"
    r"mysql|redis|npm|yarn|pip|poetry|uv|flask|django|fastapi|react|vue|angular|types?|typing|generators?|lambdas?|"
    r"exceptions?|assertions?|asserts?|comments?|todos?|var|let|const|switch|match|if|else|enums?|constants?|numbers?|"
    r"everything|nothing|it|this|that|code|text|words?|names?|values?|pathlib|os|subprocess|argparse|click|typer|\w+ing",
    re.IGNORECASE,
)
"""What is used or written in code, so that another one in its place is more than another word."""


def _is_passage(said: Sentence, old: str, new: str) -> bool:
    """Returns whether plain words can only be the text itself: in a file of prose, and no description of one."""
    prose = len(said.files) == 1 and _PROSE.search(said.files[0]) is not None
    return prose and not any(begins_with_article(text) or describes(text) for text in (old, new))


def _replace(said: Sentence, parts: Parts) -> Route:
    old, new = parts["old"], parts["new"]
    both = {"old", "new"} <= parts.quoted
    plain = " " not in old and " " not in new
    named = _TYPO.search(said.text)
    if any(name not in parts.quoted and re.search(r"[\"「」“”„«»]", parts[name]) for name in ("old", "new")):
        return None
    if "new" not in parts.quoted and is_property(new):
        return None
    word = may_be_name(new) and not (_IS_WAY.fullmatch(old) or _IS_WAY.fullmatch(new))
    spelled = re.fullmatch(IDENTIFIER, old) is None or word
    clear = both or named or spelled or _is_config(said)
    if not clear or not (both or plain or _is_passage(said, old, new)) or old == new:
        return None
    if len(said.files) != 1:
        others = [path for path in said.paths if path not in old and path not in new]
        return Missing(FILE, old) if not said.files and not others else None
    return replaced_everywhere(said.files[0], old, new, within_words=said.short.startswith("s/"))


def _rename(said: Sentence, parts: Parts) -> Route:
    old, new = parts["old"], parts["new"]
    if not all(re.fullmatch(IDENTIFIER, name) for name in (old, new)) or old == new or old.lower() in filling():
        return None
    if "new" not in parts.quoted and not says_rename(said.bare) and not may_be_name(new):
        return None
    if len(said.files) != 1:
        return Missing(FILE, old) if not said.files and not said.paths else None
    return replaced_everywhere(said.files[0], old, new)


_WITH = re.compile(r"\b(?:with|by|durch|par|por|con)\b", re.IGNORECASE)
_A_LINE = re.compile(r"(?:the )?(?:line|zeile|ligne|l[ií]nea|riga)\b", re.IGNORECASE)


def _change_line(said: Sentence, parts: Parts) -> Route:
    """Takes a text that is surely one; in a list or in prose also plain words "with" which a line is replaced."""
    text = parts["text"]
    plain = _is_lines(said) and _WITH.search(said.short) is not None and not (_A_LINE.match(text) or is_property(text))
    clear = _is_text(said, parts, "text") or (plain and not _is_described(text))
    return _edit(said, Rewrite(parts.line, text)) if clear else None


def _is_lines(said: Sentence) -> bool:
    """Returns whether each line of the one file is a text of its own: of a list, or of prose."""
    return len(said.files) == 1 and bool(_LISTING.search(said.files[0]) or _PROSE.search(said.files[0]))


def _is_described(text: str) -> bool:
    """Returns whether plain words tell of a line, and are not that line."""
    told = _OF_A_LINE.match(text) or begins_with_article(text) or is_kind(text) or describes(text)
    return bool(told) or re.search(r"""["`「“«]""", text) is not None


_NO_LINE = re.compile(r"(?:that|which|with|where|from|number|saying|containing|after|before|\d)\b", re.IGNORECASE)
"""What follows "the line" where it is described, not spelled out."""


def _insert_at(number: int) -> Callable[[Sentence, Parts], Route]:
    def rule(said: Sentence, parts: Parts) -> Route:
        if (literal := parts.get("literal")) is not None:
            described = "literal" not in parts.quoted and (_NO_LINE.match(literal) or begins_with_article(literal))
            return None if described else _edit(said, Insert(literal, AtLine(number)))
        return _edit(said, Insert(parts["text"], AtLine(number))) if _is_text(said, parts, "text") else None

    return rule


def _insert_beside(*, after: bool) -> Callable[[Sentence, Parts], Route]:
    def rule(said: Sentence, parts: Parts) -> Route:
        if not (_is_text(said, parts, "text") and _is_anchor(parts)):
            return None
        return _edit(said, Insert(parts["text"], Beside(parts["anchor"], after)), parts["anchor"])

    return rule


def _insert_by_line(*, after: bool) -> Callable[[Sentence, Parts], Route]:
    def rule(said: Sentence, parts: Parts) -> Route:
        if not _is_text(said, parts, "text"):
            return None
        if parts.line == LAST:
            return _edit(said, Insert(parts["text"], AtLine(0))) if after else None
        return _edit(said, Insert(parts["text"], AtLine(parts.line + after, beside=parts.line)))

    return rule


def _is_anchor(parts: Parts) -> bool:
    """Returns whether a line can be known by this text."""
    anchor = parts["anchor"]
    word = " " not in anchor and anchor.lower() not in filling()
    return "anchor" in parts.quoted or word or is_like_code(anchor) or _STATES.match(anchor) is not None


_LISTING = re.compile(r"(?:^|/)(?:requirements[\w-]*\.txt|\.\w+ignore|[\w-]+\.(?:txt|list|csv))$")
"""Files in which each line is an entry, so that another one goes to the end."""


def _append_to(said: Sentence, parts: Parts) -> Route:
    clear = "text" in parts.quoted or (" " not in parts["text"] and _is_text(said, parts, "text"))
    listing = len(said.files) == 1 and _LISTING.search(said.files[0])
    return _edit(said, Insert(parts["text"], AtLine(0))) if clear and listing else None


def _remove_entry(said: Sentence, parts: Parts) -> Route:
    """Takes an entry of a file in which each line is one."""
    text = parts["text"]
    named = re.fullmatch(r"[^\W\d][\w.+/@-]*", text) is not None
    clear = named and text.lower() not in filling() and not is_kind(text) and not begins_with_article(text)
    listing = len(said.files) == 1 and _LISTING.search(said.files[0]) and not tells_of_part(said)
    return _edit(said, RemoveEntry(text)) if clear and "text" not in parts.quoted and listing else None


_REQUIREMENTS = re.compile(r"(?:^|/)(?:[\w-]*requirements[\w-]*|constraints)\.txt$")


def _pin(said: Sentence, parts: Parts) -> Route:
    """Takes a requirement and its version."""
    version = re.fullmatch(r"v?(\d[\w.]*)", parts["value"])
    listing = len(said.files) == 1 and _REQUIREMENTS.search(said.files[0])
    return _edit(said, Pin(parts["name"], version[1])) if version and listing else None


def _commented(*, out: bool) -> Callable[[Sentence, Parts], Route]:
    return lambda said, parts: _edit(said, Commented(parts.line, out))


def _comment_top(said: Sentence, parts: Parts) -> Route:
    if "text" not in parts.quoted and describes(parts["text"]):
        return None
    return _edit(said, Comment(parts["text"], AtLine(1)))


_OF_A_LINE = re.compile(
    r"(?:about|with|that|which|who|where|when|for|of|on|to|from|in|after|before|above|below|between|break|by|at|as|"
    r"number|\d+|and|if|explaining|describing|documenting|\w+ing)\b",
    re.IGNORECASE,
)
"""What follows "a line" or "a note" where that is described."""


def _append_text(said: Sentence, parts: Parts) -> Route:
    """Takes plain words for a line of a list or of prose, where nothing says that they describe it."""
    text = parts["text"]
    clear = "text" in parts.quoted or not _is_described(text)
    return _edit(said, Insert(text, AtLine(0))) if clear and _is_lines(said) else None


def _append_line(said: Sentence, parts: Parts) -> Route:
    """Takes a quoted line that goes to the end of a file of lines or of prose; elsewhere the end may be no place."""
    if "text" not in parts.quoted or len(said.files) != 1:
        return None
    at = PLACE.format(text=parts["text"], file=said.files[0])
    return _edit(said, Insert(parts["text"], AtLine(0))) if _is_lines(said) else Missing(at)


def _remove_line(said: Sentence, parts: Parts) -> Route:
    return _edit(said, Remove(parts.line))


def _remove_lines(said: Sentence, parts: Parts) -> Route:
    return None if (lines := parts.lines) is None else _edit(said, Remove(*lines))


def _remove_text(said: Sentence, parts: Parts) -> Route:
    if (known := parts.get("odd") or parts.get("mark") or parts.get("name")) is not None:
        return _edit(said, Remove(known), known)
    return _edit(said, Remove(parts["anchor"]), parts["anchor"]) if _is_anchor(parts) else None


def _move_up(said: Sentence, _: Parts) -> Route:
    if len(said.files) != 1 or "/" not in said.files[0]:
        return None
    name = said.files[0].rpartition("/")[2]
    return Routed(Intent.CODE, "move_file", {"path": said.files[0], "new_path": name})


def _insert_import(said: Sentence, parts: Parts) -> Route:
    """Takes a whole line, or the name of a module for a file of Python."""
    if (module := parts.get("module")) is not None:
        python = bool(said.files) and said.files[0].endswith(".py") and not _NO_MODULE.search(said.text)
        return _edit(said, Insert(f"import {module}", AmongImports())) if python else None
    whole = "text" in parts.quoted or not _NO_MODULE.search(parts["text"])
    return _edit(said, Insert(parts["text"], AmongImports())) if whole else None


_NO_MODULE = re.compile(
    r"\bimport\w* (?:for |of )?(?:(?:the|a|an)\b|errors?\b|data\b|cleanup\b|statements?\b|(?-i:[A-Z])\w*[a-z])",
    re.IGNORECASE,
)
"""What is no module: the rest of a sentence about imports, and a class, which stands in one."""


_TOLD_TEXT = re.compile(r":|\b(?:saying|says|reading|with|namely|as|it should be|und zwar)\b", re.IGNORECASE)
"""What leads to a text that is not quoted."""


def _document(said: Sentence, parts: Parts) -> Route:
    name = parts["name"].removesuffix("()")
    if not re.fullmatch(IDENTIFIER, name) or name.lower() in filling():
        return None
    if "text" not in parts.quoted and (not _TOLD_TEXT.search(said.text) or describes(parts["text"])):
        return None
    return _edit(said, Document(name, parts["text"].strip("\"'")), f"def {name}(")


def _comment(*, after: bool) -> Callable[[Sentence, Parts], Route]:
    def rule(said: Sentence, parts: Parts) -> Route:
        anchor = parts["anchor"]
        if "text" not in parts.quoted and describes(parts["text"]):
            return None
        return _edit(said, Comment(parts["text"], Beside(anchor, after)), anchor) if _is_anchor(parts) else None

    return rule


def _name_missing(said: Sentence, parts: Parts) -> Route:
    return Missing(NEW_NAME) if len(said.files) == 1 or is_name(parts["name"]) else None


def _value_missing(said: Sentence, parts: Parts) -> Route:
    name = parts["name"]
    clear = is_name(name) or len(said.files) == 1
    return Missing(VALUE) if clear and name.lower() not in filling() else None


def _is_code(text: str) -> bool:
    """Returns whether it looks like code. A word before a quoted text does not: "con scritto 'hola'"."""
    quoted_within = re.match(r"[\w ]+ [\"'`„«“]", text) or re.fullmatch(r"([\"'`]).*\1 \w[\w ]*", text)
    return is_like_code(text) and quoted_within is None


def _create(said: Sentence, parts: Parts) -> Route:
    path, text = parts["path"], parts.get("text")
    if said.files or said.alike or not names_new_file(path):
        return None
    if text is not None and "text" not in parts.quoted and (begins_with_article(text) or is_kind(text)):
        return None
    if text is not None and "text" not in parts.quoted and " " in text and not _is_code(text):
        return None
    return Routed(Intent.CODE, "write_file", {"path": path, "content": f"{text}\n" if text else ""})


def _create_text(said: Sentence, parts: Parts) -> Route:
    path = parts["path"]
    if said.files or said.alike or not names_new_file(path):
        return None
    return Routed(Intent.CODE, "write_file", {"path": path, "content": f"{parts['text']}\n"})


def _move(said: Sentence, parts: Parts) -> Route:
    if len(said.files) != 1 or not means_file(said):
        return None
    old, name = said.files[0], said.files[0].rpartition("/")[2]
    folder = parts.get("folder")
    whole = folder is None or names_new_file(folder)
    new = (folder or parts["path"]) if whole else f"{str(folder).strip('/')}/{name}"
    if not names_file(new) or new == old:
        return None
    beside = new if "/" in new or folder is not None or said.text.startswith("mv ") else f"{old[: -len(name)]}{new}"
    return Routed(Intent.CODE, "move_file", {"path": old, "new_path": beside})


def _delete(said: Sentence, _: Parts) -> Route:
    whole = len(said.files) == 1 and means_file(said)
    return Routed(Intent.CODE, "delete_file", {"path": said.files[0]}) if whole else None


def _found(route: Route) -> Callable[[Sentence, Parts], Route]:
    return lambda _, __: route


def _new_text_missing(said: Sentence, parts: Parts) -> Route:
    file = said.files[0] if len(said.files) == 1 else "FILE"
    return Missing(f'With which text? As in: replace "{parts["word"]}" with "NEW" in {file}')


def _ignore(said: Sentence, parts: Parts) -> Route:
    """Takes an entry for a `.gitignore` that is not there."""
    text = parts["text"]
    if said.files or " " in text:
        return None
    return Missing(f'There is no .gitignore. To make one: create .gitignore with "{text}"')


IDEAS: Mapping[str, Callable[[Sentence, Parts], Route]] = {
    "where_it_runs": _found(Help("where")),
    "which_model": _found(Help("model")),
    "thanks": _found(Help("thanks")),
    "help": _found(Help()),
    "undo": _found(Help("undo")),
    "git_status": _found(Routed(Intent.ANALYZE, "git_status")),
    "git_diff": _found(Routed(Intent.ANALYZE, "git_diff")),
    "git_log": show_log,
    "last_commit": _found(Routed(Intent.EXECUTE, "run_command", {"command": "git show --stat HEAD"})),
    "tests": _found(Routed(Intent.EXECUTE, "run_tests")),
    "show_first": show_first,
    "show_lines": show_lines,
    "show_line": show_line,
    "show": show_file,
    "about": show_readme,
    "symbols": list_symbols,
    "commit": commit,
    "message_missing": _found(Missing(MESSAGE)),
    "branch": lambda _, parts: Missing(BRANCH.format(name=parts["branch"])),
    "marks": search_marks,
    "tests_of": search_tests,
    "test_file": lambda said, _: run_test_file(said),
    "one_test": lambda said, parts: (
        None if said.files else Routed(Intent.EXECUTE, "run_tests", {"filter": parts["name"]})
    ),
    "list_all": _found(Routed(Intent.ANALYZE, "list_files", {"pattern": "*"})),
    "list_folder": list_folder,
    "create_something": _found(Missing(FILE)),
    "create_text": _create_text,
    "create_with": _create,
    "create_empty": _create,
    "move_something": lambda said, _: Missing(NEW_NAME if said.files else FILE),
    "move_up": _move_up,
    "move": _move,
    "delete": _delete,
    "document": _document,
    "document_missing": _found(Missing(DOCSTRING)),
    "new_text_missing": _new_text_missing,
    "ignore": _ignore,
    "comment_out": _commented(out=True),
    "uncomment": _commented(out=False),
    "comment_top": _comment_top,
    "comment_before": _comment(after=False),
    "comment_after": _comment(after=True),
    "text_missing": _found(Missing(NEW_TEXT)),
    "line_missing": lambda said, _: Missing(LINE) if len(said.files) == 1 else None,
    "change_line": _change_line,
    "insert_after_line": _insert_by_line(after=True),
    "insert_before_line": _insert_by_line(after=False),
    "insert_import": _insert_import,
    "insert_end": _insert_at(0),
    "insert_top": _insert_at(1),
    "append_to": _append_to,
    "append_line": _append_line,
    "append_text": _append_text,
    "insert_after": _insert_beside(after=True),
    "insert_before": _insert_beside(after=False),
    "name_missing": _name_missing,
    "command_missing": _found(Missing(COMMAND)),
    "value_missing": _value_missing,
    "show_something": _found(Missing(FILE)),
    "remove_lines": _remove_lines,
    "remove_line": _remove_line,
    "remove_text": _remove_text,
    "remove_entry": _remove_entry,
    "pin": _pin,
    "rename": _rename,
    "set_value": _set_value,
    "value_told": _value_told,
    "replace": _replace,
    "defined": look_up,
    "look_for_something": _found(Missing(TEXT)),
    "value_of": lambda said, parts: search(said, parts) if len(said.files) == 1 else None,
    "search": search,
    "show_name": show_name,
}
"""In this order: what names more comes first."""
