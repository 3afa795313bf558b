"""Loads a model, or explains why it cannot be loaded (MOD-08).

Finds out how much memory a model needs, so that loading one does not exhaust the machine.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from remit_server.machine.free_space import free_memory
from remit_server.machine.installed import how_to_install
from remit_server.models.local.host.mlx_backend import LanguageModel, on_gpu, prepare
from remit_server.models.local.wire import Load

_CHECK = "run `remit model check` for details, or choose another model folder"


class HostError(Exception):
    """An error with what, why and fix for a person, sent as `wire.Error`; `tokens` and `window` tell of a prompt that
    is too long."""

    def __init__(self, what: str, why: str, fix: str, *, tokens: int = 0, window: int = 0) -> None:
        super().__init__(f"{what}: {why}")
        self.what, self.why, self.fix = what, why, fix
        self.tokens, self.window = tokens, window


def load_model(load: Load, on_progress: Callable[[int, int], None]) -> LanguageModel:
    """Loads a folder, on the model's thread; takes seconds. Raises HostError."""
    folder = Path(load.folder)
    _check_folder(folder)
    missing = [name for name in ("mlx", "mlx_lm", "llguidance", "numpy") if importlib.util.find_spec(name) is None]
    if missing:
        why = f"not installed: {', '.join(missing)}"
        raise HostError("the local model cannot run", why, how_to_install("mlx"))
    try:
        prepare()
        _check_weights(folder, check_memory=load.check_memory)
        return LanguageModel.load(folder, on_progress)
    except HostError:
        raise
    except MemoryError as error:
        raise _too_large(folder, "the memory ran out while it was loaded") from error
    except ImportError as error:
        why = f"MLX does not load here: {_one_line(error)}"
        fix = "reinstall it: `make clean setup` in Remit's folder"
        raise HostError("the local model cannot run", why, fix) from error
    except Exception as error:
        raise HostError(f"the model `{folder}` cannot be loaded", _one_line(error), _CHECK) from error


def _check_folder(folder: Path) -> None:
    what = f"the model `{folder}` cannot be loaded"
    if not folder.is_dir():
        fix = "name an existing folder in MLX format, `built-in`, or a model that `remit model pull` has fetched"
        raise HostError(what, "there is no such folder", fix)
    wanted = {
        "config.json": (folder / "config.json").is_file(),
        "model*.safetensors": any(folder.glob("model*.safetensors")),
        "tokenizer.json": (folder / "tokenizer.json").is_file(),
    }
    missing = [name for name, there in wanted.items() if not there]
    if missing:
        fix = "use a complete folder in MLX format (`mlx_lm.convert` writes one), or `built-in`"
        raise HostError(what, f"the folder lacks {', '.join(missing)}", fix)


def _check_weights(folder: Path, *, check_memory: bool) -> None:
    """Checks the weight files' headers before anything is loaded. Raises HostError."""
    try:
        weights = weights_of(folder)
    except (BrokenWeights, OSError) as error:
        fix = "download or convert the model again, or choose another model folder"
        raise HostError(f"the model `{folder}` cannot be loaded", str(error), fix) from error
    needed = int((weights.stored if on_gpu() else weights.single) * WORK)
    free = free_memory()
    if check_memory and free is not None and needed > free:
        why = f"it needs about {_mib(needed)} MiB of memory, and {_mib(free)} MiB are free"
        raise _too_large(folder, why)


def _too_large(folder: Path, why: str) -> HostError:
    fix = "close other programs, use a smaller or quantised model, or set REMIT_MODEL_MEMORY_CHECK=off to try anyway"
    return HostError(f"the model `{folder}` does not fit into memory", why, fix)


def _mib(size: int) -> int:
    return size >> 20


def _one_line(error: Exception) -> str:
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}"[:300] if first else type(error).__name__


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
