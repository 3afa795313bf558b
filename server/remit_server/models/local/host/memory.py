"""Finds out how much memory a model needs, so that loading one does not exhaust the machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

WORK = 1.2
"""The factor by which a model needs more than its weights: activations, caches, libraries."""
_LENGTH = 8
_LONGEST_HEADER = 100_000_000
_HALVES = frozenset({"F16", "BF16"})


class BrokenWeights(ValueError):
    """A weight file that is not a complete safetensors file."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Sizes in bytes: of the tensors in their files, and in memory with half precision widened to single."""

    stored: int
    single: int


def weights_of(folder: Path) -> Weights:
    """Reads the headers of all weights in a folder. Raises BrokenWeights, and OSError for files that cannot be read."""
    stored = single = 0
    for path in sorted(folder.glob("model*.safetensors")):
        for kind, size in _tensors(path):
            stored += size
            single += size * 2 if kind in _HALVES else size
    return Weights(stored, single)


def _tensors(path: Path) -> list[tuple[str, int]]:
    """Returns each tensor's type and size in bytes. Raises BrokenWeights for a file that ends before its tensors do."""
    size = path.stat().st_size
    broken = BrokenWeights(f"`{path.name}` is not a safetensors file, or was cut off")
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH), "little")
        if not 0 < length <= min(size, _LONGEST_HEADER):
            raise broken
        header = file.read(length)
    try:
        entries = [each for name, each in json.loads(header).items() if name != "__metadata__"]
        spans = [(str(each["dtype"]), int(each["data_offsets"][0]), int(each["data_offsets"][1])) for each in entries]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise broken from error
    wanted = _LENGTH + length + max((end for _, _, end in spans), default=0)
    if size < wanted:
        raise BrokenWeights(f"`{path.name}` was cut off: it has {size} bytes, and its tensors need {wanted}")
    return [(kind, end - begin) for kind, begin, end in spans]
