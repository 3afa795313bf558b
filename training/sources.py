"""Contents of the files that tasks read: code written from templates, and excerpts of real Python."""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path

from training.words import TEMPLATES, Vocabulary

LANGUAGES: dict[str, str] = {
    "py": "python", "js": "script", "ts": "script", "tsx": "script", "mjs": "script", "go": "go", "rs": "go",
    "json": "data", "yaml": "config", "yml": "config", "toml": "config", "md": "prose",
}  # fmt: skip
"""File extension to the templates it is written from."""


Names = Callable[[], str]
"""Draws an identifier."""


@cache
def templates(split: str, language: str) -> tuple[str, ...]:
    """Read line templates (`split` train or held_out): `{a}` to `{d}` are identifiers, `{n}` a number, `{w}` prose."""
    return tuple((TEMPLATES / split / f"{language}.txt").read_text("utf-8").splitlines())


def templated(rng: random.Random, choices: tuple[str, ...], names: Names, vocabulary: Vocabulary, lines: int) -> str:
    """Write a file of `lines` lines from line templates; `names` draws each identifier."""
    return "\n".join(
        rng.choice(choices).format(
            a=names(), b=names(), c=names(), d=names(), n=rng.randint(0, 999), w=prose(rng, vocabulary)
        )
        for _ in range(lines)
    )


def prose(rng: random.Random, vocabulary: Vocabulary) -> str:
    """Draw a few words as they stand in comments and strings."""
    return " ".join(rng.choice(vocabulary.prose) for _ in range(rng.randint(1, 6)))


def excerpt(rng: random.Random, files: tuple[str, ...], lines: int) -> str:
    """Cut a window of `lines` consecutive lines out of one of `files`."""
    text = rng.choice(files).split("\n")
    start = rng.randrange(max(1, len(text) - lines))
    return "\n".join(line[:160] for line in text[start : start + lines])


@cache
def training_sources() -> tuple[str, ...]:
    """Read the Python sources that train the model: the packages installed beside torch, never the standard library."""
    folders = ("torch/nn", "torch/optim", "torch/distributed", "torch/utils", "numpy", "pip")
    return _read(Path(sysconfig.get_path("purelib")), folders)


@cache
def standard_library() -> tuple[str, ...]:
    """Read the standard library, which only evaluation uses."""
    return _read(Path(sysconfig.get_path("stdlib")), ("json", "http", "email", "asyncio", "logging", "unittest", "."))


def _read(root: Path, folders: tuple[str, ...]) -> tuple[str, ...]:
    files: list[str] = []
    for folder in folders:
        pattern = "*.py" if folder == "." else "**/*.py"
        for file in sorted((root / folder).glob(pattern)):
            text = file.read_text("utf-8", errors="ignore")
            if 10 < text.count("\n") < 4000 and "<|" not in text:
                files.append(text)
    return tuple(files)
