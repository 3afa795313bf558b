"""The phrases that change no file: what is shown, searched and run (MOD-23). Pure."""

from __future__ import annotations

import re

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.models.built_in.looking import definition_of
from remit_server.models.built_in.phrases import LAST, Parts
from remit_server.models.built_in.routes import FILE, Define, Missing, Route, Routed
from remit_server.models.built_in.sentences import WISHES, Sentence
from remit_server.models.built_in.words import IDENTIFIER, filling, says

MOST_OF_README = 40
"""Lines of a README that tell what a project is."""


def search(said: Sentence, parts: Parts) -> Route:
    """Searches a word in one file or in all."""
    text = next(found for name in ("name", "word", "odd", "mark") if (found := parts.get(name)) is not None)
    where: dict[str, JsonValue] = {"path": said.files[0]} if len(said.files) == 1 else {}
    return Routed(Intent.ANALYZE, "search_files", {"pattern": re.escape(text), "context_lines": 0, **where})


def look_up(_: Sentence, parts: Parts) -> Route:
    """Searches where a name is defined."""
    return definition_of(parts["name"]) if re.fullmatch(IDENTIFIER, parts["name"]) else None


def show_line(said: Sentence, parts: Parts) -> Route:
    """Shows one line of a file."""
    if len(said.files) != 1 or parts.line == LAST:
        return None
    lines: dict[str, JsonValue] = {"offset": parts.line, "limit": 1}
    return Routed(Intent.ANALYZE, "read_file", {"path": said.files[0], **lines})


def show_log(said: Sentence, _: Parts) -> Route:
    """Shows the last commits, ten where no number is told."""
    asked = re.search(r"\d+", said.text)
    most = min(int(asked[0]), 100) if asked and int(asked[0]) else 10
    return Routed(Intent.EXECUTE, "run_command", {"command": f"git log --oneline -n {most}"})


def show_first(said: Sentence, parts: Parts) -> Route:
    """Shows the first lines of a file."""
    if len(said.files) != 1 or not (most := int(parts["number"])):
        return None
    return Routed(Intent.ANALYZE, "read_file", {"path": said.files[0], "offset": 1, "limit": most})


def show_file(said: Sentence, _: Parts) -> Route:
    """Shows a file."""
    return Routed(Intent.ANALYZE, "read_file", {"path": said.files[0]}) if len(said.files) == 1 else None


def show_lines(said: Sentence, parts: Parts) -> Route:
    """Shows lines of a file; asks for the file where none is named."""
    first, last = int(parts["number"]), int(parts.get("last") or parts["number"])
    if not said.files and not said.paths:
        return Missing(FILE)
    if len(said.files) != 1 or not 1 <= first <= last:
        return None
    lines: dict[str, JsonValue] = {"offset": first, "limit": last - first + 1}
    return Routed(Intent.ANALYZE, "read_file", {"path": said.files[0], **lines})


def list_folder(said: Sentence, parts: Parts) -> Route:
    """Lists a folder that is there."""
    named = parts["folder"].strip("/")
    found = [each for each in said.folders if each == named or each.endswith(f"/{named}")]
    return Routed(Intent.ANALYZE, "list_files", {"pattern": "*", "path": found[0]}) if len(found) == 1 else None


def show_readme(said: Sentence, _: Parts) -> Route:
    """Tells what a project is: by its README, else by its files."""
    if said.readme is None:
        return Routed(Intent.ANALYZE, "list_files", {"pattern": "*"})
    return Routed(Intent.ANALYZE, "read_file", {"path": said.readme, "offset": 1, "limit": MOST_OF_README})


def list_symbols(said: Sentence, _: Parts) -> Route:
    """Lists what a file defines."""
    return Routed(Intent.ANALYZE, "get_symbols", {"path": said.files[0]}) if len(said.files) == 1 else None


def show_name(said: Sentence, parts: Parts) -> Route:
    """Takes a name of code, or a word that says nothing else."""
    name = parts["name"]
    plain = name.lower() in filling() or any(says(idea, name) for idea in (*WISHES, "files", "tests", "status", "diff"))
    if not re.fullmatch(IDENTIFIER, name) or plain or said.paths or said.quoted:
        return None
    return Define(name, said.files[0] if len(said.files) == 1 else None)


def search_marks(said: Sentence, parts: Parts) -> Route:
    """Searches comments such as TODO."""
    where: dict[str, JsonValue] = {"path": said.files[0]} if len(said.files) == 1 else {}
    return Routed(Intent.ANALYZE, "search_files", {"pattern": parts["mark"].upper(), "context_lines": 0, **where})


def search_tests(_: Sentence, parts: Parts) -> Route:
    """Searches the tests that name something."""
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


def commit(_: Sentence, parts: Parts) -> Route:
    """Commits what changed, with files that git does not know yet where all is asked for."""
    untracked: dict[str, JsonValue] = {"all": True} if parts.get("all") is not None else {}
    return Routed(Intent.EXECUTE, "git_commit", {"message": parts["text"], **untracked})
