"""Checks whether a model could run on this machine, without loading it (MOD-08)."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from remit_server.errors import ModelUnavailable
from remit_server.machine.free_space import free_memory
from remit_server.machine.installed import how_to_install, is_installed
from remit_server.models.built_in.provider import NO_MODEL
from remit_server.models.choose import PREFIXES, is_built_in, model_folder
from remit_server.models.remote.engines import parse_reference

PACKAGES = ("mlx", "mlx_lm", "llguidance", "numpy")
_MIB = 1 << 20
_PLATFORMS = {("darwin", "arm64"), ("linux", "x86_64"), ("linux", "aarch64")}
_WANTED = ("config.json", "tokenizer.json")


def unavailable_because(reference: str) -> str | None:
    """Returns why the model cannot be used, as a sentence for a person, or None if no reason is known.

    Checks the platform, packages, the model's files and free memory, in a few milliseconds. Whether the files hold a
    model shows only when it is loaded (`remit model check`).
    """
    if reference.startswith(PREFIXES):
        return None
    if is_built_in(reference):
        return f"{NO_MODEL}; name one with `--model` or REMIT_MODEL"
    if parse_reference(reference) is not None:
        return None
    if (problem := platform_problem(sys.platform, platform.machine()) or missing_packages()) is not None:
        return problem
    try:
        folder = model_folder(reference)
    except ModelUnavailable as error:
        return f"the model is not downloaded: {error.why}; {error.fix}"
    return missing_files(folder) or memory_problem(weights_bytes(folder), free_memory())


def platform_problem(system: str, machine: str) -> str | None:
    """Returns why MLX cannot run on this platform, or None: it runs on Apple Silicon and on 64-bit Linux."""
    if (system, machine.lower().replace("amd64", "x86_64")) in _PLATFORMS:
        return None
    return f"the local model runs on Apple Silicon and on 64-bit Linux, not on {system} {machine}"


def missing_packages(wanted: tuple[str, ...] = PACKAGES) -> str | None:
    """Returns which packages of MLX are missing and how they are installed, or None."""
    missing = [name for name in wanted if not is_installed(name)]
    return f"not installed: {', '.join(missing)}; {how_to_install('mlx')}" if missing else None


def missing_files(folder: Path) -> str | None:
    """Returns which files of a folder in MLX format are missing, or None: configuration, tokenizer, weights."""
    if not folder.is_dir():
        return f"the model is not downloaded: there is no folder `{folder}`"
    missing = [name for name in _WANTED if not (folder / name).is_file()]
    if not any(folder.glob("model*.safetensors")):
        missing.append("model*.safetensors")
    return f"the model is not complete: `{folder}` lacks {', '.join(missing)}" if missing else None


def memory_problem(needed: int, free: int | None) -> str | None:
    """Returns why weights of `needed` bytes do not fit into memory, or None. `free` is None if it is unknown."""
    if free is None or needed <= free:
        return None
    return f"not enough memory: the model's weights take {needed // _MIB} MiB, and {free // _MIB} MiB are free"


def weights_bytes(folder: Path) -> int:
    """Returns the size of all weight files in bytes."""
    return sum(path.stat().st_size for path in folder.glob("model*.safetensors"))
