"""The files of a model. Describes a folder by its files without loading anything (`remit model list`), and plans a pull
before anything is downloaded (MOD-07).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, cast

from remit_server.errors import ModelUnavailable
from remit_server.models.local.hub.cache import HubName, find_snapshot

CONFIG, INDEX, TOKENIZER = "config.json", "model.safetensors.index.json", "tokenizer.json"
WEIGHTS = "model*.safetensors"
OVERHEAD = 512 * 1024 * 1024
"""The bytes that a model process needs besides the weights: Python, MLX, and a prompt of a few thousand tokens."""
_MAX_HEADER = 64 * 1024 * 1024
_MAX_CONFIG = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model as its files describe it. Sizes in bytes, `context` in tokens; `problem` says why it cannot be used.

    `memory_bytes` is the memory that it takes to run here, where a CPU widens half-precision weights.
    """

    path: str
    architecture: str = ""
    size_bytes: int = 0
    memory_bytes: int = 0
    weights: str = ""
    context: int | None = None
    problem: str | None = None


class NotAModel(Exception):
    """Why a folder is not a usable model."""


def describe(folder: Path) -> ModelFolder:
    """Describes a folder by its files; errors are reported in its `problem`."""
    try:
        files = _weight_files(folder)
        headers = [_header(file) for file in files]
        config = _json(folder / CONFIG)
        if not (folder / TOKENIZER).is_file():
            raise NotAModel(f"it lacks {TOKENIZER}")
    except NotAModel as error:
        return ModelFolder(str(folder), problem=str(error))
    size = sum(file.stat().st_size for file in files)
    kind = config.get("model_type")
    dtypes = _bytes_by_type(headers)
    known = kind if isinstance(kind, str) else ""
    return ModelFolder(
        str(folder), known, size, needed_memory(size, dtypes), _weights(config, dtypes), _context(config)
    )


def pulled_folder(name: HubName, cache: Path) -> Path:
    """Returns the complete folder of a pulled model. Raises ModelUnavailable that says how to pull it."""
    folder = find_snapshot(cache, name)
    problem = "it was not pulled" if folder is None else describe(folder).problem
    if folder is None or problem is not None:
        fix = f"run `remit model pull {name}`; a folder of that name is `./{name}`"
        raise ModelUnavailable(f"there is no model `{name}` on this machine", problem or "", fix)
    return folder


def needed_memory(size: int, by_type: Mapping[str, int], platform: str = sys.platform) -> int:
    """Returns the bytes that a model of `size` bytes needs to run; `by_type` are the bytes of each number type."""
    halves = sum(amount for kind, amount in by_type.items() if kind in {"F16", "BF16"})
    return size + (0 if platform == "darwin" else halves) + OVERHEAD


def machine_memory() -> int:
    """Returns the bytes of memory that this process may use: the machine's, or its control group's if that is less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return total


def _weight_files(folder: Path) -> list[Path]:
    files = sorted(folder.glob(WEIGHTS))
    if not files:
        raise NotAModel(f"it lacks {WEIGHTS}")
    if (folder / INDEX).is_file():
        names = _json(folder / INDEX).get("weight_map")
        wanted = set(map(str, cast("dict[str, Any]", names).values() if isinstance(names, dict) else ()))
        if missing := sorted(wanted - {file.name for file in files}):
            raise NotAModel(
                f"it is incomplete: {len(missing)} of {len(wanted)} files are missing, such as {missing[0]}"
            )
    return files


def _header(file: Path) -> dict[str, Any]:
    """Returns the header of a safetensors file. Raises NotAModel if the file is damaged or cut off."""
    broken = NotAModel(f"{file.name} is damaged")
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 0 < length <= min(size - 8, _MAX_HEADER):
                raise broken
            header = json.loads(stream.read(length))
        tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
        if 8 + length + max((end for _, end in map(_place, tensors.values())), default=0) != size:
            raise broken
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise broken from error
    return tensors


def _place(entry: Any) -> tuple[int, int]:
    """Returns a tensor's offsets in its file. Raises TypeError, ValueError or KeyError for a malformed entry."""
    begin, end = entry["data_offsets"]
    return int(begin), int(end)


def _json(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > _MAX_CONFIG:
            raise NotAModel(f"{file.name} is too large")
        value = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        raise NotAModel(f"it lacks {file.name}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise NotAModel(f"{file.name} cannot be read") from error
    if not isinstance(value, dict):
        raise NotAModel(f"{file.name} is not a JSON object")
    return cast("dict[str, Any]", value)


def _bytes_by_type(headers: list[dict[str, Any]]) -> dict[str, int]:
    found = Counter[str]()
    for entry in chain.from_iterable(header.values() for header in headers):
        begin, end = _place(entry)
        found[str(entry.get("dtype"))] += end - begin
    return found


def _weights(config: Mapping[str, Any], by_type: Mapping[str, int]) -> str:
    """Returns the weights' format, such as `4 bit` or `bf16`."""
    quantisation = config.get("quantization") or config.get("quantization_config")
    bits = cast("dict[str, Any]", quantisation).get("bits") if isinstance(quantisation, dict) else None
    if isinstance(bits, int):
        return f"{bits} bit"
    return max(by_type, key=lambda kind: by_type[kind], default="").lower()


def _context(config: Mapping[str, Any]) -> int | None:
    """Returns the number of tokens that the model can attend to; multimodal models state it for their text part."""
    text = config.get("text_config")
    for part in (config, cast("dict[str, Any]", text) if isinstance(text, dict) else {}):
        if isinstance(limit := part.get("max_position_embeddings"), int):
            return limit
    return None


WANTED = (WEIGHTS, "*.json", "*.txt", "*.jinja", "*.tiktoken", "tokenizer.model")
"""The files that a model needs. Programs and pickles are not among them, so nothing that is pulled can be executed."""
SPARE = 64 * 1024 * 1024
"""The bytes of the disk that a pull leaves free."""
_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]*", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as the hub lists it: `blob` is its SHA-256 if it is large (LFS), or else git's SHA-1 of it."""

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
    """Returns the files that a model needs, `config.json` last. Raises ModelUnavailable if they are not a model.

    Without config.json no program takes a folder for a model, so the last link completes the model.
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
