"""Guesses which script, task or test is run (MOD-29). Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from remit_server.models.built_in.declined import Beyond, beyond
from remit_server.models.built_in.guesses.evidence import FileLine
from remit_server.models.built_in.guesses.guess import Guess
from remit_server.models.built_in.guesses.words import Wording, stem, stems
from remit_server.models.built_in.language.words import says, stem_of

_SCRIPT = re.compile(r"\.(?:py|sh|bash|js|mjs|rb)$")
_TARGET = re.compile(r"([A-Za-z][\w-]*)\s*:(?!=)")
_TASK = re.compile(r"\s*\"([A-Za-z][\w:.-]*)\"\s*:\s*\".*\"\s*,?\s*")
_INSTALLS = re.compile(r"\b(?:install\w*|installier\w*|instal[ae]\w*)\b", re.IGNORECASE)
_PACKAGES = re.compile(
    r"\b(?:dep|deps|dependenc\w+|packages?|requirements|abh[äa]ngigkeiten|pakete|d[ée]pendances|dependencias|"
    r"dipendenze|depend[êe]ncias)\b",
    re.IGNORECASE,
)
_INSTALLED_BY = (
    ("package-lock.json", "npm ci"),
    ("package.json", "npm install"),
    ("requirements.txt", "pip install -r requirements.txt"),
    ("pyproject.toml", "pip install -e ."),
)
_FEW = 3


def guess_history(wording: Wording) -> Iterator[Guess]:
    """Yields git's log of the one file whose changes a sentence asks about."""
    files = wording.said.files
    if len(files) == 1 and _HISTORY.search(wording.said.bare):
        yield Guess(f"git log -5 -- {shlex.quote(files[0])}", sure=True)


_HISTORY = re.compile(
    r"\b(?:who|when|wer|wann|qui|quand|qui[ée]n|cu[áa]ndo|chi|quando|quem)\b.*\b(?:wrote|change[ds]?|touche[ds]?|"
    r"edit(?:s|ed)|add(?:s|ed)|create[ds]?|modifie[ds]?|ge[äa]ndert|geschrieben|ajout\w+|modifi\w+|cambi\w+|escri\w+|"
    r"scri\w+|mud\w+)\b",
    re.IGNORECASE,
)


def guess_script(wording: Wording) -> Iterator[Guess]:
    """Yields the run of the one script that a sentence names, if it says little else."""
    said = wording.said
    named = _A_SCRIPT.search(said.bare) is not None or any(path.rpartition("/")[2] in said.text for path in said.files)
    scripts = [path for path in said.files if _SCRIPT.search(path) and named]
    asks = (beyond(said) is Beyond.QUESTION or _AS_PLACE.search(said.text)) and not wording.has("run")
    if (
        len(said.files) != 1
        or not scripts
        or wording.literals
        or said.quoted
        or asks
        or _OF_A_COMMAND.search(said.text)
    ):
        return
    if not any(map(wording.has, ("shows", "searches", "deletes", "moves", "line"))):
        few = len(wording.words) <= _FEW if wording.has("run") or _TRIES.search(said.bare) else not wording.words
        yield from (Guess(f"run {path}", sure=True) for path in scripts if few)


_OF_A_COMMAND = re.compile(
    r"^\W*(?:(?:please|now|then|just|can you|could you) )*(?:run|execute) "
    r"(?!(?:the|my|our|that|this|script|file|program|[\w./-]*\.\w+)\b)\S",
    re.IGNORECASE,
)
"""Another word behind "run": a program, for which the file is no more than an argument."""
_AS_PLACE = re.compile(r"\b(?:in|im|dans|en|nel|no|na|of|from|von|de|di) [`\"']?[\w./-]*\.\w+", re.IGNORECASE)
"""A file that is a place, and not what is run."""
_A_SCRIPT = re.compile(r"\b(?:script|skript|programm?e?|programa)\b", re.IGNORECASE)
_TRIES = re.compile(
    r"\b(?:try|fire|kick off|spin|go|through|starte?\w*|laufen|partire|parti|gira\w*|ausf[üu]hr\w*|tourner|marche\w*|"
    r"avvia|roda\w*|ejecuta\w*|corre\w*)\b",
    re.IGNORECASE,
)
"""Words that let a script run."""


def guess_tests(wording: Wording, files: AbstractSet[str]) -> Iterator[Guess]:
    """Yields the run of the one file of tests that a sentence names, or has a word of."""
    said = wording.said
    if not says("tests", re.sub(r"[_./]", " ", said.bare)) or beyond(said) in {Beyond.WRITING, Beyond.EDIT}:
        return
    named = [path for path in said.files if "test" in stem_of(path)]
    words = stems(said.bare) - {"test"}
    about = named or [path for path in files if "test" in stem_of(path) and (stems(stem_of(path)) - {"test"}) & words]
    asks = beyond(said) is Beyond.QUESTION and not _PASS.search(said.bare)
    looks = any(map(wording.has, ("shows", "searches", "lists"))) and not wording.has("run")
    if len(about) == 1 and not asks and not looks:
        yield Guess(f"run the tests in {about[0]}", sure=True)


_PASS = re.compile(
    r"\b(?:pass|passes|passing|green|work|works|ok|fail|fails|laufen|passent|pasan|passano)\b", re.IGNORECASE
)


def guess_target(wording: Wording) -> Iterator[Guess]:
    """Yields the target of the Makefile that a sentence names after `make` or as a target."""
    found = _MAKE.search(wording.said.bare) if wording.said.has_makefile else None
    if found is not None and not wording.has("adds"):
        given = "".join(f" {each}" for each in _GIVEN.findall(wording.said.text))
        runs = wording.has("run") or _TRIES.search(wording.said.bare) is not None
        yield Guess(f"run `make {found[1] or found[2]}{given}`", sure=runs)


_MAKE = re.compile(
    r"\bmake ([a-z][\w-]*)(?= ausf| laufen|$| with|,| please| bitte)|\b(?:the |das )?([a-z][\w-]*)[- ]target\b"
)


def guess_install(wording: Wording, files: AbstractSet[str]) -> Iterator[Guess]:
    """Yields the command that installs what the project needs."""
    if _INSTALLS.search(wording.said.bare) and _PACKAGES.search(wording.said.bare):
        yield from (Guess(f"run `{command}`") for name, command in _INSTALLED_BY if name in files)


def guess_task(wording: Wording, lines: Sequence[FileLine]) -> Iterator[Guess]:
    """Yields the target of the Makefile, or the script of `package.json`, that a sentence has the name of."""
    found = dict[str, str]()
    changes = any(map(wording.has, ("moves", "replaces", "deletes", "adds")))
    for line in () if changes else lines:
        name = line.path.rpartition("/")[2]
        if name == "Makefile" and (target := _TARGET.match(line.text)) and _is_named(target[1], wording):
            found[target[1]] = f"make {target[1]}"
        elif name == "package.json" and (task := _TASK.fullmatch(line.text)) and _is_named(task[1], wording):
            found[task[1]] = f"npm run {task[1]}"
    given = "".join(f" {each}" for each in _GIVEN.findall(wording.said.text))
    for command in found.values() if len(found) == 1 else ():
        spelled = command in " ".join(wording.said.text.split())
        alone = len({*wording.words} - _ALL_OF_IT) <= 1
        yield Guess(f"run `{command}{given}`", sure=spelled or alone or wording.has("run"))


_ALL_OF_IT = stems("project code everything whole check target task step projekt projet proyecto progetto")
_GIVEN = re.compile(r"\b[A-Z][A-Z_]*=\S*\w")
"""Variables for `make`, as in "TAG=4.2.0"."""


def _is_named(task: str, wording: Wording) -> bool:
    return stem(task) in wording.words or task.lower() in wording.said.bare.lower().split()
