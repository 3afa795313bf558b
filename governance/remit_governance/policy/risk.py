"""How much an action can do, as a number and as one word for a person (004 §Future Extensions; governance.md §1).

The score is effect × path × command × undoing: 1 is `low`, 2 and 3 are `medium`, 4 and more are `high`.

| factor  | 1                                         | 2                                          | 3               | 4 |
|---------|-------------------------------------------|--------------------------------------------|-----------------|---|
| effect  | reads, lists; runs (its command counts)   | writes, commits                            |                 | anything else |
| path    | any other, or none                        | secret, outside, or decides what runs      |                 |   |
| command | reads (`ls`, `git status`), or none to run | changes files (`mkdir`, `git add`)        | runs the project (`pytest`) | unknown (`curl`, `sudo`, a script) |
| undoing | can be undone                             | cannot (`rm`, `git push`, `git reset --hard`) |              |   |

For a command the path is each file it names, where that is secret or outside, and each it writes. A command line is what
the highest of its parts is, and `high` where it is not certain what it does.
"""  # noqa: E501 a table

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from remit_governance.policy.classes import CommandClass, class_of, irreversible
from remit_governance.policy.commands import is_script
from remit_governance.policy.globs import compile_globs
from remit_governance.policy.paths import fold, normalise, outside
from remit_governance.policy.scripts import parts_of
from remit_governance.policy.shell.programs import examine
from remit_governance.policy.shell.words import Word
from remit_governance.policy.shell.wrappers import unwrap
from remit_governance.values import Action

Risk = Literal["low", "medium", "high"]

UNKNOWN = 4
RISK: Mapping[str, int] = MappingProxyType(
    {"fs.read": 1, "fs.list": 1, "fs.write": 2, "git.commit": 2, "process.exec": 1}
)
"""The effect by syscall. One that is not listed counts `UNKNOWN`."""

CLASSES: Mapping[CommandClass, int] = MappingProxyType({"reads": 1, "changes": 2, "runs": 3, "unknown": UNKNOWN})
"""What a command's class counts."""

SECRET_PATHS = (
    ".env*",
    "!.env.example",
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "*.pem",
    "id_rsa*",
    "id_ed25519*",
)
"""Files whose content gives access."""

SENSITIVE_PATHS = (
    *SECRET_PATHS,
    ".github",
    ".gitlab-ci.yml",
    "Dockerfile",
    "Makefile",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "*.lock",
    "*.sh",
)
"""Files that are secret, or decide what runs elsewhere."""

_SECRET = compile_globs(SECRET_PATHS, fold_case=True)
_SENSITIVE = compile_globs(SENSITIVE_PATHS, fold_case=True)


def risk_of(action: Action) -> Risk:
    """The word for this action's score."""
    score = score_of(action)
    return "low" if score <= 1 else "medium" if score < UNKNOWN else "high"


def score_of(action: Action) -> int:
    """effect × path × command × undoing, at least 1; of a command line that of its highest part."""
    if action.script is None:
        return _score(action)
    parts = parts_of(action)
    highest = max(map(_score, parts.actions))
    return max(highest, UNKNOWN) if parts.doubts else highest


def _score(action: Action) -> int:
    effect = RISK.get(action.syscall, UNKNOWN)
    if action.syscall == "process.exec":
        return effect * _of_command(action.command or ())
    return effect * (1 if action.path is None else _of_path(action.path))


@lru_cache(maxsize=1024)
def _of_path(path: str) -> int:
    plain = normalise(path)
    return 2 if outside(plain) or _SENSITIVE(fold(plain)) else 1


@lru_cache(maxsize=1024)
def _of_command(command: tuple[str, ...]) -> int:
    """path × command × undoing, of the highest command that these words come down to."""
    if not command or is_script(command):
        return UNKNOWN
    layers = unwrap([Word(word) for word in command])
    if layers.doubts or layers.scripts:
        return UNKNOWN
    return max(_of_simple(tuple(word.text for word in words)) for words in layers.commands)


def _of_simple(command: tuple[str, ...]) -> int:
    named = max((2 for path in _named(command) if outside(path) or _SECRET(fold(path))), default=1)
    written = max(map(_of_path, examine([Word(word) for word in command]).writes), default=1)
    return max(named, written) * CLASSES[class_of(command)] * (2 if irreversible(command) else 1)


def _named(command: tuple[str, ...]) -> Iterator[str]:
    """What may be a file among the words of a command: operands, and values of options."""
    for word in command[1:]:
        text = word.partition("=")[2] if word.startswith("-") else word
        if text:
            yield normalise(text)
