"""Plans a pull before anything is downloaded. Pure (MOD-07)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from remit_server.errors import ModelUnavailable
from remit_server.models.local.hub.folder import CONFIG, OVERHEAD, TOKENIZER, WEIGHTS

WANTED = (WEIGHTS, "*.json", "*.txt", "*.jinja", "*.tiktoken", "tokenizer.model")
"""The files that a model needs. Programs and pickles are not among them: nothing that is pulled can be executed."""
SPARE = 64 * 1024 * 1024
"""The bytes of the disk that a pull leaves free."""
_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]*", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as the hub lists it: `blob` is its SHA-256 where it is large (LFS), else git's SHA-1 of it."""

    name: str
    size: int
    blob: str

    @property
    def large(self) -> bool:
        """Whether `blob` is a SHA-256."""
        return len(self.blob) == 64


@dataclass(frozen=True, slots=True)
class PullPlan:
    """The files of a commit in their final order, and the bytes of each that are already here.

    `memory_needed` is the least memory that the model needs to run.
    """

    commit: str
    files: tuple[RemoteFile, ...]
    here: Mapping[str, int]

    @property
    def size(self) -> int:
        """The bytes of the whole model."""
        return sum(file.size for file in self.files)

    @property
    def to_load(self) -> int:
        """The bytes that are not here yet."""
        return self.size - sum(self.here.values())

    @property
    def memory_needed(self) -> int:
        """The least memory that the model needs to run, in bytes."""
        return OVERHEAD + sum(file.size for file in self.files if fnmatchcase(file.name, WEIGHTS))


def needed_files(reference: str, listed: Iterable[RemoteFile]) -> tuple[RemoteFile, ...]:
    """Returns the files that a model needs, `config.json` last. Raises ModelUnavailable where they are not a model.

    Without config.json no program takes a folder for a model: the last link completes it.
    """
    offered = tuple(listed)
    wanted = [file for file in offered if _is_wanted(file.name)]
    names = {file.name for file in wanted}
    lacking = [name for name in (CONFIG, TOKENIZER) if name not in names]
    if not any(fnmatchcase(name, WEIGHTS) for name in names):
        lacking.append(WEIGHTS)
    if lacking:
        pickled = any(PurePosixPath(file.name).suffix in {".bin", ".pt", ".pth", ".gguf"} for file in offered)
        why = f"the repository lacks {', '.join(lacking)}" + (", and other formats are not loaded" if pickled else "")
        raise ModelUnavailable(f"`{reference}` is not a model that can run here", why, "choose one in MLX format")
    if odd := [file.name for file in wanted if _HASH.fullmatch(file.blob) is None or file.size < 0]:
        fix = "check HF_ENDPOINT, and pull again"
        raise ModelUnavailable(f"`{reference}` cannot be loaded", f"the hub lists no hash of {odd[0]}", fix)
    return tuple(sorted(wanted, key=lambda file: (file.name == CONFIG, -file.size, file.name)))


def _is_wanted(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and any(fnmatchcase(name, pattern) for pattern in WANTED)
