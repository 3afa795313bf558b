"""Loads a model, or says in words what is wrong with it (000 §Availability)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from remit_server.models.host.edge import LanguageModel, prepare

_CHECK = "run `remit model check` for details, or choose another model folder"


class HostError(Exception):
    """What, why and fix, for a person; crosses the pipe as `wire.Error`."""

    def __init__(self, what: str, why: str, fix: str) -> None:
        super().__init__(f"{what}: {why}")
        self.what, self.why, self.fix = what, why, fix


def load_model(reference: str) -> LanguageModel:
    """Load `embedded` or the folder at `reference`. Raises HostError; takes seconds, on the model's thread."""
    if reference != "embedded":
        _check_folder(Path(reference))
    missing = [name for name in ("mlx", "mlx_lm", "llguidance", "numpy") if importlib.util.find_spec(name) is None]
    if missing:
        why = f"not installed: {', '.join(missing)}"
        raise HostError(
            "the local model cannot run",
            why,
            "install the `mlx` extra: `make setup` in Remit's folder, or `uv sync --extra mlx`",
        )
    try:
        prepare()
        return LanguageModel.load(reference)
    except ImportError as error:
        why = f"MLX does not load here: {_one_line(error)}"
        fix = "install it anew: `make clean setup` in Remit's folder"
        raise HostError("the local model cannot run", why, fix) from error
    except Exception as error:
        raise HostError(f"the model `{reference}` cannot be loaded", _one_line(error), _CHECK) from error


def _check_folder(folder: Path) -> None:
    what = f"the model `{folder}` cannot be loaded"
    if not folder.is_dir():
        fix = "name an existing folder in MLX format, or `embedded`; Remit downloads no models"
        raise HostError(what, "there is no such folder", fix)
    wanted = {
        "config.json": (folder / "config.json").is_file(),
        "model*.safetensors": any(folder.glob("model*.safetensors")),
        "tokenizer.json": (folder / "tokenizer.json").is_file(),
    }
    missing = [name for name, there in wanted.items() if not there]
    if missing:
        fix = "use a complete folder in MLX format (`mlx_lm.convert` writes one), or `embedded`"
        raise HostError(what, f"the folder lacks {', '.join(missing)}", fix)


def _one_line(error: Exception) -> str:
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}"[:300] if first else type(error).__name__
