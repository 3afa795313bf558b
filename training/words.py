"""The vocabularies that tasks are generated from; the held-out one appears in no training task."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"
"""One folder a split (train, held_out): word lists, and line templates of files and requests."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Building blocks of identifiers, paths and prose for one split of the data."""

    syllables: tuple[str, ...]
    words: tuple[str, ...]
    folders: tuple[str, ...]
    prose: tuple[str, ...]


def _read(split: str) -> Vocabulary:
    folder = TEMPLATES / split
    names = ("syllables", "words", "folders", "prose")
    return Vocabulary(*(tuple((folder / f"vocabulary_{name}.txt").read_text("utf-8").split()) for name in names))


TRAIN = _read("train")
HELD_OUT = _read("held_out")
