"""Replaces folders of shims in PATH by the folders of the real programs, because a shim needs its version manager."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

_MAX_CHARS = 64 * 1024


def programs_behind(entry: Path, home: Path) -> tuple[Path, ...] | None:
    """Returns the folders that replace a folder of shims in PATH, by the versions that the person chose; None if
    `entry` is no known folder of shims.

    Versions that a project chooses are ignored. A version that is no plain name is left out.
    """
    if not entry.is_relative_to(home):
        return None
    known = SHIMS.get(entry.relative_to(home).as_posix())
    if known is None:
        return None
    settings, found = known
    return tuple(home / name for name in found(_read_text(home / settings)) if ".." not in Path(name).parts)


def is_hollow(program: Path, environment: Mapping[str, str]) -> bool:
    """Returns whether this is rustup's stand-in for a program that no toolchain has, so that it can only fail."""
    home, rustup = environment.get("RUSTUP_HOME"), program.with_name("rustup")
    stands_in = bool(home) and program.name != "rustup" and rustup.exists() and rustup.samefile(program)
    return stands_in and not any(Path(home or "", "toolchains").glob(f"*/bin/{program.name}"))


def _read_text(path: Path) -> str:
    with contextlib.suppress(OSError), path.open(errors="replace") as file:
        return file.read(_MAX_CHARS)
    return ""


def _plain(root: str) -> Callable[[str], list[str]]:
    """Returns a reader for pyenv and similar managers, whose settings are a list of versions."""
    return lambda text: [f"{root}/versions/{name}/bin" for name in text.split() if "/" not in name and name != "system"]


def _asdf(text: str) -> list[str]:
    """Reads asdf's settings, lines of `<tool> <version> …`."""
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    pairs = ((words[0], words[1]) for words in lines if len(words) > 1)
    return [f".asdf/installs/{tool}/{version}/bin" for tool, version in pairs if "/" not in tool + version]


def _volta(text: str) -> list[str]:
    """Reads Volta's settings, `{"node": {"runtime": "20.1.0", …}, …}`."""
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
"""For each folder of shims: the file with the person's choice, and the function that reads folders from it. All paths
are relative to the home."""
