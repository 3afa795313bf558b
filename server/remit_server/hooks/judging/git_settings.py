"""Finds git's settings that hold a secret, such as an address with a password in it: what another agent's command shows
of them passes no redaction (HOK-11)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 1_000_000
_SHOWS_ADDRESS = re.compile(r"(?i)url|remote|insteadof|submodule|branch|include")
_LINKED = re.compile(r"gitdir:\s*(.+)")


@dataclass(frozen=True, slots=True)
class GitSettings:
    """Looks into git's settings. `has_secret` tells whether a text holds a secret; `home` is the person's folder."""

    has_secret: Callable[[str], bool]
    home: Path | None = None

    def in_file(self, path: Path) -> bool:
        """Returns whether a file in a repository's own folder holds a secret, or may hold one because it is large."""
        if ".git" not in path.parts and path.name != ".gitmodules":
            return False
        text = _read(path)
        return text is None or self.has_secret(_without_names_of_keys(text))

    def of_repository(self, folder: Path) -> bool:
        """Returns whether the settings that git reads in a folder, or those of the person, hold a secret."""
        texts = [_read(path) for path in (*_repositorys(folder), *self._persons())]
        return any(text is None or self.has_secret(_addresses(text)) for text in texts)

    def below(self, folder: Path) -> str | None:
        """Returns the settings with a secret that lie in a folder, or in its repository's own, by their path in it."""
        names = (".git/config", ".git/config.worktree", ".gitmodules", "config", "config.worktree")
        return next((name for name in names if self.in_file(folder / name)), None)

    def _persons(self) -> tuple[Path, ...]:
        return () if self.home is None else (self.home / ".gitconfig", self.home / ".config" / "git" / "config")


def shows_addresses(words: Sequence[str]) -> bool:
    """Returns whether a git command, given by the words after git's own options, prints an address of the settings."""
    match list(words):
        case ["remote", *rest]:
            return any(word in {"-v", "--verbose", "show", "get-url", "update"} for word in rest)
        case ["ls-remote", *_] | ["lfs", "env", *_]:
            return True
        case ["config", *rest]:
            return any(map(_SHOWS_ADDRESS.search, rest))
        case _:
            return False


def _without_names_of_keys(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if "signingkey" not in line.lower())


def _addresses(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if "://" in line)


def _repositorys(folder: Path) -> Iterator[Path]:
    """Yields the settings of the repository that a folder is in, and of those linked to it."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        text = _read(git) if git.is_file() else ""
        linked = _LINKED.match(text or "")
        if linked is not None:
            git = place / linked[1].strip()
        if git.is_dir():
            common = git / (_read(git / "commondir") or ".").strip()
            yield from (common / "config", git / "config.worktree", place / ".gitmodules")
            return


def _read(path: Path) -> str | None:
    """Returns the text of a file, empty if there is none, or None if it is too large."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        return ""
    return None if len(data) > MOST_BYTES else data.decode("utf-8", "replace")
