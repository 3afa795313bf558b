"""The risk of an action, which says how much it can do, as a number and as one word for a person (CMD-05).

The score is effect × path: 1 is `low`, 2 and 3 are `medium`, 4 and more are `high`.

| factor | 1 | 2 | 3 | 4 |
|---|---|---|---|---|
| effect | reads, lists | writes, commits | | anything else |
| of a command | reads (`ls`, `git status`) | asks another machine (`git fetch`), changes files (`mkdir`, `git add`, `rm a`) | runs the project (`pytest`, `npm ci`) | cannot be undone (`rm -r`), sends (`git push`), fetches code (`npx x`), unknown |
| path | any other, or none | outside; written: secret, or decides what runs, or data | | secret |

For a command the path is each file that it names or writes; a file that it only names counts as read. A command line
has the risk of its riskiest part, and is `high` if it is not certain what it does.
"""  # noqa: E501 a table

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from remit_governance.policy.decision.builtin import DENIED, READING, REVIEWED
from remit_governance.policy.matching.command_match import is_script
from remit_governance.policy.matching.paths import compile_globs, fold, normalise, outside
from remit_governance.policy.matching.scripts import Parts, in_scratch, parts_of
from remit_governance.policy.shell.catalogue.rows import NO_ROWS, Effect, OwnRows
from remit_governance.policy.shell.effects.own_effects import effect_with, files_with
from remit_governance.policy.shell.programs import examine
from remit_governance.policy.shell.reading import STREAMS
from remit_governance.policy.shell.texts import words_without_texts
from remit_governance.policy.shell.words import Word
from remit_governance.policy.shell.wrappers import unwrap
from remit_governance.values import Action, Risk

UNKNOWN = 4
RISK: Mapping[str, int] = MappingProxyType(
    {
        "fs.read": 1,
        "fs.list": 1,
        "fs.write": 2,
        "git.commit": 2,
        "process.exec": 1,
        "process.read": 1,
        "process.end": 1,
        "process.publish": 2,
        "workflow.plan": 1,
        "workflow.exempt": 1,
        "workflow.revise": 1,
        "workflow.review": 1,
        "session.set_mode": 1,
    }
)
"""Syscall → the number of its effect. A syscall that is not listed counts `UNKNOWN`."""

WEIGHTS: Mapping[Effect, int] = MappingProxyType(
    {
        "reads": 1,
        "asks": 2,
        "changes": 2,
        "runs": 3,
        **dict.fromkeys(("loses", "sends", "fetches", "unknown"), UNKNOWN),
    }
)
"""Effect of a command → its number."""

SECRET_PATHS = (
    *(
        ".env*",
        "*.env",
        ".ssh",
        ".aws",
        ".azure",
        ".gnupg",
        ".kube",
        ".docker",
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
    ),
    *(".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".vault-token", ".password-store", ".terraform.d"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.tfstate", "*.ppk", "*.ovpn"),
    *(
        "id_rsa*",
        "id_dsa*",
        "id_ecdsa*",
        "id_ed25519*",
        "!id_*.pub",
        "credentials",
        "credentials.json",
        "secrets.y*ml",
    ),
    *(
        "**/.config/gh/**",
        "**/.config/gcloud/**",
        "**/.cargo/credentials*",
        "**/.config/rclone/**",
        "**/.gem/credentials",
        "**/.m2/settings*.xml",
        "**/.gradle/gradle.properties",
        "**/.composer/auth.json",
        "**/NuGet/NuGet.Config",
        "**/run/secrets/**",
        "**/etc/wireguard/**",
    ),
    *(".s3cfg", ".boto", ".netrc", "_netrc"),
    *("shadow", "gshadow", "sudoers", "**/Keychains/**", "Login Data", "Cookies", "cookies.sqlite", "logins.json"),
    *(".*_history", "environ", "!.env.example", "!.env.sample", "!.env.template"),
)
"""Files whose content gives access."""

_PRINTED_SECRET = re.compile(
    r"\b(?:echo|printf|print|cat\s*<<<)\b[^|;&\n]*\$\{?!?\w*"
    r"(?:TOKEN|SECRET|PASSW|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIAL)\w*(?![\w]|:?\+)",
    re.IGNORECASE,
)
"""A variable that is named like a secret, among words that are printed. `${X:+set}` does not match, because it only
tells whether the variable is set."""

_PUBLIC = ("!cert.pem", "!ca.pem", "!cacert.pem", "!fullchain.pem", "!chain.pem")
"""Files that are named like keys, but are certificates that everybody may read."""

SENSITIVE_PATHS = (
    *("Dockerfile", "Makefile", "pyproject.toml", "*.lock", "node_modules/.bin", ".venv", "venv"),
    *(glob for _, globs in (*DENIED.values(), *REVIEWED.values()) for glob in globs),
)
"""Files that decide what runs, or give access."""

DATA_PATHS = ("*.sqlite", "*.sqlite3", "*.sqlite-wal", "*.db", "*.db3", "*.mdb", "*.accdb", "*.rdb", "*.dump")
"""Files with data that is seldom kept anywhere else."""

_SECRET = compile_globs((*SECRET_PATHS, *_PUBLIC), fold_case=True)
_SENSITIVE = compile_globs(SENSITIVE_PATHS, fold_case=True)
_DATA = compile_globs(DATA_PATHS, fold_case=True)


def risk_of(action: Action, own: OwnRows = NO_ROWS) -> Risk:
    """Returns the risk of this action, which a person is shown and which rules match. An action that was rated as a
    part of a command line keeps that risk."""
    if action.risk is not None:
        return action.risk
    return word_of(score_of(action, own))


def word_of(score: int) -> Risk:
    """Returns the risk for a score."""
    return "low" if score <= 1 else "medium" if score < UNKNOWN else "high"


def rated_parts(action: Action, own: OwnRows = NO_ROWS) -> Parts:
    """Returns the parts of a command line, each with its risk. All are `high` if anything in the line is not certain.

    Files that options of programs with `own` rows name are parts too. Shadows (such as wrappers) and suspects have the
    risk of the whole line, because they do nothing besides it.
    """
    parts = _parts(action, own)
    scores = _scores(parts, action.script or "", own)
    highest = word_of(max(scores))
    return replace(
        parts,
        actions=tuple(replace(part, risk=word_of(score)) for part, score in zip(parts.actions, scores, strict=True)),
        shadows=tuple(replace(shadow, risk=highest) for shadow in parts.shadows),
        suspects=tuple(replace(suspect, risk=highest) for suspect in parts.suspects),
    )


def _parts(action: Action, own: OwnRows) -> Parts:
    parts = parts_of(action)
    if own.person or own.project:
        written = dict.fromkeys(
            posixpath.join(part.cwd or "", path)
            for part in parts.actions
            for path in files_with(part.command or ("",), own)
        )
        there = {part.path for part in parts.actions}
        whole = replace(action, script=None, syscall="fs.write", command=None, size=None)
        more = (replace(whole, path=path) for path in written if path not in there and not in_scratch(path))
        parts = replace(parts, actions=(*parts.actions, *more))
    return _follow_cd(parts)


def _follow_cd(parts: Parts) -> Parts:
    """Returns the parts in the folder to which a single `cd` leads, so that `cd build && cmake ..` stays in the
    workspace."""
    folders = {
        part.command[1] for part in parts.shadows if part.command and part.command[0] == "cd" and part.command[1:]
    }
    if len(folders) != 1 or outside(normalise(folder := folders.pop())) or folder.startswith("-"):
        return parts
    there = (replace(part, cwd=posixpath.join(part.cwd or ".", folder)) for part in parts.actions)
    return replace(parts, actions=tuple(there))


def _scores(parts: Parts, script: str, own: OwnRows) -> list[int]:
    empties = all(map(_prints_nothing, parts.actions))
    unsure = bool(parts.doubts) or _PRINTED_SECRET.search(script) is not None
    return [UNKNOWN if unsure or (empties and part.path) else _score(part, own) for part in parts.actions]


def _prints_nothing(part: Action) -> bool:
    """Tells whether a part is a file, or a program that prints nothing, so that a redirection would empty a file."""
    return part.path is not None or part.command in {(":",), ("true",), ("cat", "/dev/null")}


def score_of(action: Action, own: OwnRows = NO_ROWS) -> int:
    """Returns effect × path, at least 1; for a command line, the highest score of its parts."""
    return _score(action, own) if action.script is None else max(_scores(_parts(action, own), action.script, own))


def _score(action: Action, own: OwnRows) -> int:
    effect = RISK.get(action.syscall, UNKNOWN)
    if action.syscall == "process.exec":
        return effect * _of_command(action.command or (), action.cwd or ".", own)
    if action.path is None:
        return effect
    return effect * (_risk_of_read(action.path) if action.syscall in READING else _of_written(action.path))


@lru_cache(maxsize=1024)
def _risk_of_read(path: str) -> int:
    plain = normalise(path)
    if plain in STREAMS:
        return 1
    return UNKNOWN if _SECRET(fold(plain)) else 2 if outside(plain) else 1


@lru_cache(maxsize=1024)
def _of_written(path: str) -> int:
    plain = normalise(path)
    if plain in STREAMS:
        return 1
    if outside(plain):
        return 1 if in_scratch(plain) else 2
    folded = fold(plain)
    return 2 if _SECRET(folded) or _SENSITIVE(folded) or _DATA(folded) else 1


@lru_cache(maxsize=1024)
def _of_command(command: tuple[str, ...], cwd: str, own: OwnRows) -> int:
    """Returns the highest score of the commands that remain of these words without wrappers."""
    if not command or is_script(command):
        return UNKNOWN
    layers = unwrap([Word(word) for word in command])
    if layers.doubts or layers.scripts:
        return UNKNOWN
    return max(_of_simple(tuple(word.text for word in words), cwd, own) for words in layers.commands)


def _of_simple(command: tuple[str, ...], cwd: str, own: OwnRows) -> int:
    effects = examine([Word(word) for word in command])
    weight = WEIGHTS["unknown" if effects.doubts else effect_with(command, own)]
    named = max((_risk_of_read(posixpath.join(cwd, path)) for path in _named_files(command)), default=1)
    # A file that is only named counts as read. Code outside the workspace does not count as the project's own.
    runs = weight == WEIGHTS["runs"]
    if runs and any(map(_ELSEWHERE.search, command[1:])):
        return UNKNOWN
    read = named * (weight if runs else 1)
    return max(weight, read, weight * max(map(_of_written, (*effects.writes, *files_with(command, own))), default=1))


_ELSEWHERE = re.compile(r"[=:,\"'\s({\[](?:/(?!dev/null|/)|~/)")
"""A path outside the workspace, inside a word."""
_LABELS = frozenset({"bazel", "bazelisk", "buck2", "pants"})
"""Programs for which `//x` names a target and not a file."""


_PRINTERS = frozenset({"echo", "printf"})
"""Programs whose words are text and do not name files."""


def _named_files(command: tuple[str, ...]) -> Iterator[str]:
    """Yields the words of a command that may name files: operands, and values of options."""
    if command[0] in _PRINTERS:
        return
    for word in _without_texts(command):
        if word.startswith("//") and command[0] in _LABELS:
            continue
        name, _, value = word.partition("=")
        if not word.startswith("-"):
            yield word
            if command[0] == "git" and ":" in word:
                yield word.partition(":")[2]  # the file of a commit
        if value and (word.startswith("-") or name.isidentifier()):
            yield value


_AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
"""Programs whose first operand is a text, unless an option names a file with it."""
_AWK_FILE = re.compile(r"-[a-zA-Z]*[ef].*|--.*")
_TEXT_OPTIONS: Mapping[str, frozenset[str]] = MappingProxyType({"xmllint": frozenset({"--xpath"})})
"""Program → options whose value is a text."""


def _without_texts(command: tuple[str, ...]) -> Iterator[str]:
    """Yields the words of a command, except for texts in its program's own language, such as a pattern of grep."""
    program, *_ = command
    words = words_without_texts(command, ())
    texts = _TEXT_OPTIONS.get(program, frozenset[str]())
    first = program in _AWKS and not any(map(_AWK_FILE.fullmatch, words))
    for before, word in zip(("", *words), words, strict=False):
        if first and not word.startswith("-"):
            first = False
        elif before not in texts:
            yield word
