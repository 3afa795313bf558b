"""Rules for whole phrases: each idea of `phrases.yaml` gives a route if its parts are clear (MOD-23). Pure.

Words are taken literally as a text only if they can hardly mean anything else: in quotes, as code, or as one word for
a file that holds no code. "Add error handling" is no text to add.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from remit_governance.values import Intent
from remit_server.models.built_in.edits.line_edits import (
    SetValue,
)
from remit_server.models.built_in.language.meant import means_file
from remit_server.models.built_in.language.phrases import Parts, find_phrases, likely_ideas
from remit_server.models.built_in.language.sentences import WISHES, Sentence, is_name, is_respelled
from remit_server.models.built_in.language.texts import (
    begins_with_article,
    describes,
    is_code,
    is_kind,
    is_like_code,
    is_property,
    may_be_name,
    says_rename,
)
from remit_server.models.built_in.language.words import IDENTIFIER, filling, names_file, names_new_file, says
from remit_server.models.built_in.routes import (
    BRANCH,
    COMMAND,
    DOCSTRING,
    FILE,
    LINE,
    MESSAGE,
    NEW_NAME,
    NEW_TEXT,
    TEXT,
    VALUE,
    Help,
    Missing,
    Route,
    Routed,
    replaced_everywhere,
)
from remit_server.models.built_in.rules.phrased_lines import (
    PROSE,
    add_setting,
    append_line,
    append_text,
    append_to,
    change_line,
    comment,
    comment_top,
    commented,
    document,
    edit_of,
    insert_at,
    insert_beside,
    insert_by_line,
    insert_import,
    list_entry,
    pin,
    remove_entry,
    remove_import,
    remove_line,
    remove_lines,
    remove_text,
    title,
)
from remit_server.models.built_in.rules.phrased_looks import (
    commit,
    copy_file,
    count_lines,
    git_writes,
    list_folder,
    list_symbols,
    list_targets,
    look_up,
    make_target,
    run_test_file,
    search,
    search_marks,
    search_tests,
    show_file,
    show_first,
    show_last,
    show_line,
    show_lines,
    show_log,
    show_name,
    show_readme,
    value_asked,
)

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
    """Takes a sentence that matches one phrase from end to end."""
    likely = likely_ideas(said)
    for idea, rule in IDEAS.items():
        for parts in find_phrases(idea, said) if idea in likely else ():
            if (route := rule(said, parts)) is not None:
                return route
    return None


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
    if parted or (said.files and PROSE.search(said.files[0])) or not _is_value(said, parts, value):
        return None
    if not said.files and not is_name(name) and not _LITERAL.fullmatch(value):
        return None
    return edit_of(said, SetValue(name, value), name)


def _is_value(said: Sentence, parts: Parts, value: str) -> bool:
    """Returns whether a word is a value. A return type behind an arrow is not, and a plain word is one only in a
    sentence that sets a value in a file that holds no code."""
    if not may_be_name(value) and not _is_config(said) and re.search(r"->|→|=>", said.short):
        return False
    if "value" in parts.quoted or not re.fullmatch(IDENTIFIER, value) or _LITERAL.fullmatch(value):
        return True
    return _is_config(said) and not is_property(value) and _SETS.match(said.short) is not None


def _value_told(said: Sentence, parts: Parts) -> Route:
    """Takes a sentence of only a name and its value, if both can mean nothing else."""
    name = parts["name"]
    clear = is_name(name) or "-" in name or (_is_config(said) and not any(says(idea, name) for idea in WISHES))
    return _set_value(said, parts) if clear and _LITERAL.fullmatch(parts["value"]) else None


_PROPER = re.compile(r"[A-Z][\w.'’-]*(?: (?:[A-Z][\w.'’-]*|of|and|the|&|de|van|von|der))* [A-Z][\w.'’-]*")
"""Several words that are a name, such as of a person or a firm."""


def _set_words(said: Sentence, parts: Parts) -> Route:
    """Takes a proper name of several words as the value of a key in a file of settings."""
    name, text = parts["name"], parts["text"]
    clear = "text" not in parts.quoted and _PROPER.fullmatch(text) is not None and _is_config(said)
    plain = re.fullmatch(r"[\w.-]+", name) and name.lower() not in filling() - {"name"}
    if not (clear and plain) or _NO_SETTING.fullmatch(name) or PROSE.search(said.files[0]):
        return None
    return edit_of(said, SetValue(name, text))


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
"""Words for techniques and tools in code; to use another one takes more than to replace the word."""


_A_PART = re.compile(
    r"(?:the )?(?:lines?|file|text|words?|zeilen?|datei|ligne|fichier|l[ií]nea|archivo|riga|file)", re.IGNORECASE
)
"""A word for a part of a file, which stands for a text that is not told."""


def _is_passage(said: Sentence, old: str, new: str) -> bool:
    """Returns whether plain words can only be the text itself: the file is prose, and neither text is a description."""
    prose = len(said.files) == 1 and PROSE.search(said.files[0]) is not None
    return prose and not any(begins_with_article(text) or describes(text) for text in (old, new))


MOST_SHORT = 3
"""The most letters of a word that is so short that another one is hardly its right spelling."""


_MUST_BE = re.compile(r"\b(?:should|must|has to|needs to|ought to|shall) be \S+$", re.IGNORECASE)


def _replace(said: Sentence, parts: Parts) -> Route:
    old, new = parts["old"], parts["new"]
    both = {"old", "new"} <= parts.quoted
    plain = " " not in old and " " not in new
    named = _TYPO.search(said.text)
    if any(name not in parts.quoted and re.search(r"[\"「」“”„«»]", parts[name]) for name in ("old", "new")):
        return None
    respelled = len(old) > MOST_SHORT and is_respelled(old, new)
    if "new" not in parts.quoted and ((is_property(new) and not respelled) or new.endswith((" to", " for", " with"))):
        return None
    if "old" not in parts.quoted and _A_PART.fullmatch(old):
        return None
    word = may_be_name(new) and not (_IS_WAY.fullmatch(old) or _IS_WAY.fullmatch(new))
    spelled = re.fullmatch(IDENTIFIER, old) is None or word
    value = _is_config(said) and _MUST_BE.search(said.short) is not None  # "title must be Pages"
    clear = both or named or respelled or ((spelled or _is_config(said)) and not value)
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


def _move_up(said: Sentence, _: Parts) -> Route:
    if len(said.files) != 1 or "/" not in said.files[0]:
        return None
    name = said.files[0].rpartition("/")[2]
    return Routed(Intent.CODE, "move_file", {"path": said.files[0], "new_path": name})


def _name_missing(said: Sentence, parts: Parts) -> Route:
    return Missing(NEW_NAME) if len(said.files) == 1 or is_name(parts["name"]) else None


def _value_missing(said: Sentence, parts: Parts) -> Route:
    name = parts["name"]
    clear = is_name(name) or len(said.files) == 1
    return Missing(VALUE) if clear and name.lower() not in filling() else None


def _is_code(text: str) -> bool:
    """Returns whether a text looks like code. Words before a quoted text do not: "con scritto 'hola'"."""
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
    """Takes an entry for a `.gitignore` that does not exist."""
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
    "tests": lambda said, _: run_test_file(said) if said.files else Routed(Intent.EXECUTE, "run_tests"),
    "show_first": show_first,
    "show_last": show_last,
    "count_lines": count_lines,
    "show_lines": show_lines,
    "show_line": show_line,
    "show": show_file,
    "about": show_readme,
    "symbols": list_symbols,
    "commit": commit,
    "message_missing": _found(Missing(MESSAGE)),
    "copy": copy_file,
    "git_writes": git_writes,
    "branch": lambda _, parts: Missing(BRANCH.format(name=parts["branch"])),
    "targets": list_targets,
    "target": make_target,
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
    "document": document,
    "document_missing": _found(Missing(DOCSTRING)),
    "new_text_missing": _new_text_missing,
    "ignore": _ignore,
    "comment_out": commented(out=True),
    "uncomment": commented(out=False),
    "comment_top": comment_top,
    "comment_before": comment(after=False),
    "comment_after": comment(after=True),
    "text_missing": _found(Missing(NEW_TEXT)),
    "line_missing": lambda said, _: Missing(LINE) if len(said.files) == 1 else None,
    "title": title,
    "change_line": change_line,
    "insert_after_line": insert_by_line(after=True),
    "insert_before_line": insert_by_line(after=False),
    "insert_import": insert_import,
    "add_setting": add_setting,
    "insert_end": insert_at(0),
    "insert_top": insert_at(1),
    "add_entry": list_entry(added=True),
    "drop_entry": list_entry(added=False),
    "append_to": append_to,
    "append_line": append_line,
    "append_text": append_text,
    "insert_after": insert_beside(after=True),
    "insert_before": insert_beside(after=False),
    "name_missing": _name_missing,
    "command_missing": _found(Missing(COMMAND)),
    "value_missing": _value_missing,
    "show_something": _found(Missing(FILE)),
    "remove_lines": remove_lines,
    "remove_line": remove_line,
    "remove_text": remove_text,
    "remove_import": remove_import,
    "remove_entry": remove_entry,
    "pin": pin,
    "rename": _rename,
    "set_value": _set_value,
    "set_words": _set_words,
    "value_told": _value_told,
    "replace": _replace,
    "defined": look_up,
    "look_for_something": _found(Missing(TEXT)),
    "value_of": lambda said, parts: search(said, parts) if len(said.files) == 1 or is_name(parts["name"]) else None,
    "value_asked": value_asked,
    "search": search,
    "show_name": show_name,
}
"""The rule of each idea, in the order in which they are tried: the more specific ideas come first."""
