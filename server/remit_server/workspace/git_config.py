"""Reads a repository's own configuration as text: no include is followed and nothing in it is started (GIT-01).

Also reads git's settings as they hold for a person: the system's, their own and the repository's (GIT-02).

Includes are followed in the system's and the person's files only, because the repository's came with the project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from remit_server.workspace.git_patterns import MAX_PATTERN_BYTES, compile_git_pattern

MAX_CONFIG_BYTES = 1_000_000

_HEADER = re.compile(r'\s*\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\.)*)")?\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}

# Settings that say how the working tree is read; none of them names a program.
_TREE = frozenset(
    {
        *("core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks", "core.precomposeunicode"),
        *("core.sparsecheckout", "core.sparsecheckoutcone"),
    }
)
_TRACKING = re.compile(r"remote\.[^\n]+\.fetch")


@lru_cache(maxsize=32)
def parse_config(text: str) -> tuple[tuple[str, str], ...]:
    """Returns each `section.subsection.key` and value, in order; section and key in lower case. Skips malformed
    lines."""
    return tuple(_settings(text.removeprefix("\ufeff")))


def harmless(settings: tuple[tuple[str, str], ...], branch: str | None) -> tuple[tuple[str, str], ...]:
    """Returns the settings that may be passed on to git: how the tree is read, and what `branch` follows. None of them
    starts a program."""
    followed = {f"branch.{branch}.remote", f"branch.{branch}.merge"} if branch else set[str]()
    return tuple(
        (name, value)
        for name, value in settings
        if name in _TREE or name in followed or (branch and _TRACKING.fullmatch(name))
    )


def _settings(text: str) -> Iterator[tuple[str, str]]:
    section = ""
    rest = text.replace("\r\n", "\n")
    while rest:
        if header := _HEADER.match(rest):
            name, subsection = header.groups()
            section = name.lower() + ("" if subsection is None else "." + re.sub(r"\\(.)", r"\1", subsection))
            rest = rest[header.end() :]
        elif key := _KEY.match(rest):
            value, rest = _value(rest[key.end() :])
            if section and "\0" not in section + value:
                yield f"{section}.{key[1].lower()}", value
        else:
            rest = rest.partition("\n")[2]


def _value(rest: str) -> tuple[str, str]:
    """Returns the value after a key, and what follows its line. A key alone means true."""
    if not rest.startswith("="):
        return "true", rest.partition("\n")[2]
    found: list[str] = []
    kept = 0  # up to here spaces count: they were quoted, or something follows them
    quoted = False
    position = 1
    while position < len(rest) and (rest[position] != "\n" or quoted):
        sign = rest[position]
        position += 1
        if sign == "\\":
            escaped = rest[position : position + 1]
            position += 1
            found += [] if escaped == "\n" else [_ESCAPES.get(escaped, escaped)]
            kept = len(found)
        elif sign == '"':
            quoted = not quoted
            kept = len(found)
        elif sign in "#;" and not quoted:
            position = rest.find("\n", position)
            position = len(rest) if position < 0 else position
        elif found or quoted or not sign.isspace():
            found.append(sign)
            kept = len(found) if quoted or not sign.isspace() else kept
    return "".join(found[:kept]), rest[position + 1 :]


_MOST_INCLUDES = 5
_TRUE = frozenset({"true", "yes", "on", "1"})

Settings = Mapping[str, str]


def settings_of(git: Path, repository: Iterable[tuple[str, str]], environment: Mapping[str, str]) -> Settings:
    """Returns the last value of each setting. `repository` are the settings of the repository whose folder is `git`."""
    found: dict[str, str] = {}
    for path in _files(environment):
        found.update(_read(path, git, environment, _MOST_INCLUDES))
    found.update(repository)
    return found


def is_on(settings: Settings, name: str, *, default: bool = False) -> bool:
    """Returns whether a setting is true."""
    value = settings.get(name)
    return default if value is None else value.lower() in _TRUE


def home_of(environment: Mapping[str, str]) -> Path | None:
    """Returns the person's home folder, where there is one."""
    return Path(environment["HOME"]) if environment.get("HOME") else None


def git_folder_of(environment: Mapping[str, str]) -> Path | None:
    """Returns the folder of the person's `ignore` and `attributes`, which git looks for beside its config."""
    if base := environment.get("XDG_CONFIG_HOME"):
        return Path(base) / "git"
    home = home_of(environment)
    return home / ".config" / "git" if home else None


def _files(environment: Mapping[str, str]) -> Iterator[Path]:
    if not environment.get("GIT_CONFIG_NOSYSTEM"):
        yield Path(environment.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig")
    if own := environment.get("GIT_CONFIG_GLOBAL"):
        yield Path(own)
        return
    if folder := git_folder_of(environment):
        yield folder / "config"
    if home := home_of(environment):
        yield home / ".gitconfig"


def _read(path: Path, git: Path, environment: Mapping[str, str], depth: int) -> Iterator[tuple[str, str]]:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_CONFIG_BYTES).decode(errors="replace")
    except OSError:
        return
    for name, value in parse_config(text):
        yield name, value
        if depth and (name == "include.path" or _applies(name, path, git, environment)):
            yield from _read(expand_path(value, path.parent, environment), git, environment, depth - 1)


def expand_path(value: str, folder: Path, environment: Mapping[str, str]) -> Path:
    """Returns a path as git's settings spell it: `~/` is the person's home, anything relative is below `folder`."""
    home = home_of(environment)
    if value.startswith("~/") and home:
        return home / value[2:]
    return folder / value


def _applies(name: str, path: Path, git: Path, environment: Mapping[str, str]) -> bool:
    """Returns whether the setting is an `includeIf.gitdir:….path` that holds for this repository."""
    if not (name.startswith("includeif.gitdir") and name.endswith(".path")):
        return False
    kind, _, pattern = name.removeprefix("includeif.").removesuffix(".path").partition(":")
    if pattern.startswith(("~/", "./")):
        pattern = str(expand_path(pattern.removeprefix("./"), path.parent, environment)) + "/" * pattern.endswith("/")
    elif not pattern.startswith("/"):
        pattern = "**/" + pattern
    pattern += "**" if pattern.endswith("/") else ""
    fold = kind == "gitdir/i"
    said, there = (pattern.lower(), str(git).lower()) if fold else (pattern, str(git))
    return matches(said.encode(), there.encode())


def matches(pattern: bytes, path: bytes) -> bool:
    """Returns whether one of git's patterns matches the whole path; False if git refuses the pattern or it is too
    long."""
    try:
        return len(pattern) <= MAX_PATTERN_BYTES and compile_git_pattern(pattern)(path)
    except ValueError:
        return False
