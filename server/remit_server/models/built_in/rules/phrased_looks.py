"""Rules for whole phrases that change no file: show, search, list and count, run a target, commit (MOD-23). Pure."""

from __future__ import annotations

import re
import shlex

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.models.built_in.language.phrases import LAST, Parts
from remit_server.models.built_in.language.sentences import WISHES, Sentence
from remit_server.models.built_in.language.words import IDENTIFIER, filling, names_new_file, says
from remit_server.models.built_in.routes import FILE, OWN_GIT, Define, Missing, Route, Routed, Tail, ValueOf
from remit_server.models.built_in.rules.looking import MEANS_VERB, definition_of

MOST_OF_README = 40
"""How many lines of a README are shown to tell what a project is."""


_IS_SORT = re.compile(
    r"(?:bugs?|errors?|problems?|issues?|mistakes?|typos?|files?|code|tests?|duplicates?|secrets?|vulnerabilit(?:y|ies)|"
    r"imports?|comments?|functions?|class(?:es)?|methods?|variables?|todos?|usages?|references?|leaks?|everything)",
    re.IGNORECASE,
)
"""Words for kinds of things, which a search for the word itself would not find."""


def search(said: Sentence, parts: Parts) -> Route:
    """Searches for a word in one file or in all."""
    if (named := parts.get("named")) is not None and (named.lower() in filling() or _IS_SORT.fullmatch(named)):
        return None
    text = next(found for name in ("named", "name", "word", "odd", "mark") if (found := parts.get(name)) is not None)
    where: dict[str, JsonValue] = {"path": said.files[0]} if len(said.files) == 1 else {}
    if (folder := parts.get("folder")) is not None:
        if said.files or (below := _existing(said, folder)) is None:
            return None
        where = {"path": below}
    return Routed(Intent.ANALYZE, "search_files", {"pattern": re.escape(text), "context_lines": 0, **where})


_NO_SETTING = re.compile(
    r"purpose|meaning|difference|point|idea|way|problem|errors?|bugs?|reason|output|result|status|weather|date|today|"
    r"diff|code|functions?|class(?:es)?|methods?|lines?|changes?|matter|issue|cause|best|worst|right|wrong|use|"
    r"an?|eine?|une?|una|uno|of|in|for|between|with|about|to|and|or|if|that|this|you|your|it|on|at|by|from|as|not|no|"
    r"von|für|mit|und|oder|auf|zwischen|de|du|des|entre|pour|avec|et|ou|con|per|para|por|tra|fra|che|que|qui|dass",
    re.IGNORECASE,
)
"""Words that name no setting, or that join the words of a question which is about more than one."""


def value_asked(said: Sentence, parts: Parts) -> Route:
    """Tells the value of a setting that is named by plain words: "which log level is set?"."""
    words = parts["words"].lower().split()
    if len(said.files) > 1 or said.quoted or any(map(_NO_SETTING.fullmatch, words)):
        return None
    named = [word for word in words if word not in filling()] or words[-1:]
    return ValueOf(tuple(named), said.files[0] if said.files else None)


def list_targets(said: Sentence, _: Parts) -> Route:
    """Lists the targets of the Makefile."""
    if not said.has_makefile:
        return None
    where: dict[str, JsonValue] = {"path": "Makefile", "context_lines": 0}
    return Routed(Intent.ANALYZE, "search_files", {"pattern": r"^[A-Za-z][\w./-]*\s*:(?:[^=]|$)", **where})


def look_up(_: Sentence, parts: Parts) -> Route:
    """Searches for the definition of a name."""
    return definition_of(parts["name"]) if re.fullmatch(IDENTIFIER, parts["name"]) else None


def show_line(said: Sentence, parts: Parts) -> Route:
    """Shows one line of a file."""
    if len(said.files) != 1:
        return None
    if parts.line == LAST:
        return Tail(said.files[0], 1)
    lines: dict[str, JsonValue] = {"offset": parts.line, "limit": 1}
    return Routed(Intent.ANALYZE, "read_file", {"path": said.files[0], **lines})


def show_log(said: Sentence, _: Parts) -> Route:
    """Shows the last commits; ten if the sentence gives no number."""
    asked = re.search(r"\d+", said.text)
    most = min(int(asked[0]), 100) if asked and int(asked[0]) else 10
    of = f" -- {shlex.quote(said.files[0])}" if len(said.files) == 1 else ""
    return Routed(Intent.EXECUTE, "run_command", {"command": f"git log --oneline -n {most}{of}"})


def show_first(said: Sentence, parts: Parts) -> Route:
    """Shows the first lines of a file."""
    if len(said.files) != 1 or not (most := parts.many):
        return None
    return Routed(Intent.ANALYZE, "read_file", {"path": said.files[0], "offset": 1, "limit": most})


def show_last(said: Sentence, parts: Parts) -> Route:
    """Shows the last lines of a file."""
    return Tail(said.files[0], most) if len(said.files) == 1 and (most := parts.many) else None


def count_lines(said: Sentence, _: Parts) -> Route:
    """Tells how many lines a file has."""
    return Tail(said.files[0], 0) if len(said.files) == 1 else None


def show_file(said: Sentence, _: Parts) -> Route:
    """Shows a file."""
    return Routed(Intent.ANALYZE, "read_file", {"path": said.files[0]}) if len(said.files) == 1 else None


def show_lines(said: Sentence, parts: Parts) -> Route:
    """Shows lines of a file; asks for the file if none is named."""
    first, last = int(parts["number"]), int(parts.get("last") or parts["number"])
    if not said.files and not said.paths:
        return Missing(FILE)
    if len(said.files) != 1 or not 1 <= first <= last:
        return None
    lines: dict[str, JsonValue] = {"offset": first, "limit": last - first + 1}
    return Routed(Intent.ANALYZE, "read_file", {"path": said.files[0], **lines})


def list_folder(said: Sentence, parts: Parts) -> Route:
    """Lists a folder if exactly one existing folder has this name."""
    folder = _existing(said, parts["folder"])
    return None if folder is None else Routed(Intent.ANALYZE, "list_files", {"pattern": "*", "path": folder})


def _existing(said: Sentence, name: str) -> str | None:
    """Returns the one folder that has this name, or None if there is none or more than one."""
    named = name.strip("/")
    found = [each for each in said.folders if each == named or each.endswith(f"/{named}")]
    return found[0] if len(found) == 1 else None


def show_readme(said: Sentence, _: Parts) -> Route:
    """Tells what a project is: shows the beginning of its README, or lists its files if there is none."""
    if said.readme is None:
        return Routed(Intent.ANALYZE, "list_files", {"pattern": "*"})
    return Routed(Intent.ANALYZE, "read_file", {"path": said.readme, "offset": 1, "limit": MOST_OF_README})


def list_symbols(said: Sentence, _: Parts) -> Route:
    """Lists what a file defines."""
    return Routed(Intent.ANALYZE, "get_symbols", {"path": said.files[0]}) if len(said.files) == 1 else None


def show_name(said: Sentence, parts: Parts) -> Route:
    """Takes a name in code, unless the word has a meaning of its own in a sentence."""
    name = parts["name"]
    plain = name.lower() in filling() or any(says(idea, name) for idea in (*WISHES, "files", "tests", "status", "diff"))
    if not re.fullmatch(IDENTIFIER, name) or plain or said.paths or said.quoted not in {(), (name,)}:
        return None
    return Define(name, said.files[0] if len(said.files) == 1 else None)


def search_marks(said: Sentence, parts: Parts) -> Route:
    """Searches for comments such as TODO."""
    where: dict[str, JsonValue] = {"path": said.files[0]} if len(said.files) == 1 else {}
    marks = [mark.upper() for mark in (parts["mark"], parts.get("other")) if mark is not None]
    return Routed(Intent.ANALYZE, "search_files", {"pattern": "|".join(marks), "context_lines": 0, **where})


def search_tests(_: Sentence, parts: Parts) -> Route:
    """Searches the test files for a name."""
    name = parts["name"].removesuffix("()")
    if name.lower() in filling() or not re.fullmatch(IDENTIFIER, name):
        return None
    where: dict[str, JsonValue] = {"context_lines": 0, "file_pattern": "*test*"}
    return Routed(Intent.ANALYZE, "search_files", {"pattern": rf"\b{name}\b", **where})


def run_test_file(said: Sentence) -> Route:
    """Runs the tests of one file of tests."""
    if len(said.files) != 1 or not said.files[0].rpartition("/")[2].startswith("test_"):
        return None
    return Routed(Intent.EXECUTE, "run_tests", {"path": said.files[0]})


def make_target(said: Sentence, parts: Parts) -> Route:
    """Runs a target of the Makefile."""
    target = parts["name"]
    is_verb = "target" not in said.short.lower() and MEANS_VERB.search(target)
    if is_verb or target in filling() or not re.fullmatch(r"[a-z][\w-]*", target) or not said.has_makefile:
        return None
    return Routed(Intent.EXECUTE, "run_command", {"command": f"make {target}"})


def copy_file(said: Sentence, parts: Parts) -> Route:
    """Copies a file to a path where there is none."""
    path = parts["path"]
    if len(said.files) != 1 or not names_new_file(path) or path in said.files or path.endswith("/"):
        return None
    return Routed(Intent.EXECUTE, "run_command", {"command": shlex.join(("cp", said.files[0], path))})


def git_writes(said: Sentence, parts: Parts) -> Route:
    """Gives the git command that the person has to run, because no command may write `.git`."""
    if (given := parts.get("given")) is not None:
        return Missing(OWN_GIT.format(command=f"git {given}"))
    if parts.get("restore") is not None:
        return Missing(OWN_GIT.format(command=f"git restore {said.files[0]}")) if len(said.files) == 1 else None
    if (tag := parts.get("tag")) is not None:
        return Missing(OWN_GIT.format(command=f"git tag {tag}"))
    word = next(name for name in ("stash", "push", "pull") if parts.get(name) is not None)
    return Missing(OWN_GIT.format(command=f"git {word}"))


_NO_MESSAGE = re.compile(r"(?:and|but|except|failed|fails|as|with|without|then)\b|.*\bmessage$", re.IGNORECASE)


def commit(said: Sentence, parts: Parts) -> Route:
    """Commits what changed; includes untracked files if the sentence asks for all."""
    named = [path for path in said.files if path in said.text or path.rpartition("/")[2] in said.text]
    if named or ("text" not in parts.quoted and _NO_MESSAGE.match(parts["text"])):
        return None
    untracked: dict[str, JsonValue] = {"all": True} if parts.get("all") is not None else {}
    return Routed(Intent.EXECUTE, "git_commit", {"message": parts["text"], **untracked})
