"""A person's own prompts: Markdown files, used as `/name words`. A project's prompt is shown to the person before it is
sent the first time (CLI-06)."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from remit_governance.canonical import digest_bytes
from remit_governance.visible import visible
from remit_server.runtime.settings import Settings

FOLDER = "prompts"
MOST_BYTES = 64 * 1024
_DIGESTS: TypeAdapter[frozenset[str]] = TypeAdapter(frozenset[str])
_NAME = re.compile(r"[\w-]{1,64}")
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])")
SHOWN_FILE = "shown-prompts.json"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `shown_in` is the file that lists which prompts of projects were shown, or None for a person's own
    prompt."""

    path: Path
    text: str
    shown_in: Path | None = None

    @property
    def title(self) -> str:
        """The first line of the prompt."""
        return visible(self.text.lstrip("# \n").partition("\n")[0][:80], "show")

    def is_new(self) -> bool:
        """Returns whether the prompt is the project's, and its present text was never shown to the person."""
        return self.shown_in is not None and self._digest not in _shown(self.shown_in)

    def note_shown(self) -> None:
        """Records that the prompt was shown to the person. If that cannot be written, the prompt is shown again."""
        if self.shown_in is not None:
            with contextlib.suppress(OSError):
                text = json.dumps(sorted({*_shown(self.shown_in), self._digest}))
                fd = os.open(self.shown_in, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
                with os.fdopen(fd, "w", encoding="utf-8") as file:
                    file.write(text)

    @property
    def _digest(self) -> str:
        return digest_bytes(self.text.encode())


def find_prompts(settings: Settings) -> Mapping[str, Prompt]:
    """Returns the prompts by name. A person's own prompt replaces the project's prompt of the same name."""
    root = settings.workspace.resolve()
    project = _read(settings.workspace / ".remit" / FOLDER, settings.state / SHOWN_FILE) if settings.trusted else {}
    # Leave out links that lead out of the workspace, so that a project cannot have other files sent.
    inside = {name: each for name, each in project.items() if each.path.resolve().is_relative_to(root)}
    return {**inside, **_read(settings.person_policy.parent / FOLDER, None)}


def is_untrusted(settings: Settings, name: str) -> bool:
    """Returns whether the project has a prompt of this name that is ignored because the folder is not trusted."""
    return not settings.trusted and name in _read(settings.workspace / ".remit" / FOLDER, None)


def fill_prompt(text: str, words: str) -> str:
    """Returns the prompt with `$ARGUMENTS` and `$1` to `$9` replaced. If it has none of them, the words are added below
    it."""
    try:
        given = shlex.split(words)
    except ValueError:
        given = words.split()

    def fill(found: re.Match[str]) -> str:
        if found[1] == "ARGUMENTS":
            return words
        number = int(found[1])
        return given[number - 1] if number <= len(given) else ""

    filled = _PLACE.sub(fill, text).strip()
    return filled if not words or _PLACE.search(text) else f"{filled}\n\n{words}"


def _read(folder: Path, shown_in: Path | None) -> dict[str, Prompt]:
    found: dict[str, Prompt] = {}
    with contextlib.suppress(OSError):
        for path in sorted(folder.glob("*.md")):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                if _NAME.fullmatch(path.stem) and path.is_file() and path.stat().st_size <= MOST_BYTES:
                    found[path.stem] = Prompt(path, path.read_text("utf-8"), shown_in)
    return found


def _shown(file: Path) -> frozenset[str]:
    try:
        return _DIGESTS.validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return frozenset()
