"""Folders of shims in PATH, and the folders of programs behind them: a shim itself needs its whole version manager."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

_MAX_CHARS = 64 * 1024


def programs_behind(entry: Path, home: Path) -> tuple[Path, ...] | None:
    """Returns the folders that stand for a folder of shims in PATH, by the person's own choice of versions; None for no
    shims.

    What a project chooses for itself is not looked at. Where a version is named that is no plain name, it is left out.
    """
    if not entry.is_relative_to(home):
        return None
    known = SHIMS.get(entry.relative_to(home).as_posix())
    if known is None:
        return None
    settings, found = known
    return tuple(home / name for name in found(_read_text(home / settings)) if ".." not in Path(name).parts)


def is_hollow(program: Path, environment: Mapping[str, str]) -> bool:
    """Returns whether this is one of rustup's stand-ins, of which no toolchain has the real program: it can only
    fail."""
    home, rustup = environment.get("RUSTUP_HOME"), program.with_name("rustup")
    stands_in = bool(home) and program.name != "rustup" and rustup.exists() and rustup.samefile(program)
    return stands_in and not any(Path(home or "", "toolchains").glob(f"*/bin/{program.name}"))


def _read_text(path: Path) -> str:
    with contextlib.suppress(OSError), path.open(errors="replace") as file:
        return file.read(_MAX_CHARS)
    return ""


def _plain(root: str) -> Callable[[str], list[str]]:
    """Pyenv and its likes: a file of versions."""
    return lambda text: [f"{root}/versions/{name}/bin" for name in text.split() if "/" not in name and name != "system"]


def _asdf(text: str) -> list[str]:
    """Returns lines `<tool> <version> …`."""
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    pairs = ((words[0], words[1]) for words in lines if len(words) > 1)
    return [f".asdf/installs/{tool}/{version}/bin" for tool, version in pairs if "/" not in tool + version]


def _volta(text: str) -> list[str]:
    """`{"node": {"runtime": "20.1.0", …}, …}`."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        version = str(json.loads(text)["node"]["runtime"])
        return [] if "/" in version else [f".volta/tools/image/node/{version}/bin"]
    return []


SHIMS: Mapping[str, tuple[str, Callable[[str], list[str]]]] = MappingProxyType(
    {
        **{
            f".{each}/shims": (f".{each}/version", _plain(f".{each}")) for each in ("pyenv", "rbenv", "nodenv", "goenv")
        },
        ".asdf/shims": (".tool-versions", _asdf),
        ".volta/bin": (".volta/tools/user/platform.json", _volta),
    }
)
"""The folder of shims, the person's settings, and how these are read; all relative to the home."""
