"""The only folders below a person's home that a command may read: where version managers keep programs (BOX-02).

The table is fixed. PATH and a project's virtual environment only choose among its folders; no file of a project can add
one. No program keeps credentials in these folders by design; files that may hold credentials all the same are
`private`.

Also the options that mount the system's folders for a command.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from glob import iglob
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A folder relative to the home, or absolute; each part of `folder` is a name or a pattern.

    `private` are patterns of files and folders in it that are hidden from commands.
    """

    kind: str
    folder: str
    private: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadOnlyMount:
    """`source` is seen read-only at `place`; the `private` paths, which lie below `place`, are hidden."""

    place: Path
    source: Path
    private: tuple[Path, ...] = ()


# rustup looks for each of these at every start, and makes the last if it is missing.
_RUSTUP = ("toolchains", "settings.toml", "update-hashes")
VENVS = (".venv", "venv")
"""The names of a project's own virtual environment."""

_ROOT = Path("/")
# Settings of an installation, which may name a package index together with a password for it.
_PIP = ("*/pip.conf", "*/envs/*/pip.conf")
_TOOL = ("*/pip.conf", "*/uv-receipt.toml", "*/pipx_metadata.json")
_ANY = ("*/*/pip.conf", "*/*/etc/npmrc", "*/*/.npm/etc/npmrc", "*/*/etc/gemrc", "maven/*/conf/settings.xml")
_GEM = ("*/etc/gemrc",)
_CONDA_ONE = ("pip.conf", ".condarc", "condarc", "condarc.d", "conda-meta/state", "conda-meta/history", "etc/conda")
_CONDA = (*_CONDA_ONE, "pkgs", *(f"envs/*/{name}" for name in _CONDA_ONE))
_CONDA_BASES = (
    "miniconda3",
    "anaconda3",
    "miniforge3",
    "mambaforge",
    "/opt/conda",
    "/opt/miniconda3",
    "/opt/anaconda3",
)

TOOLCHAINS = (
    Toolchain("pyenv", ".pyenv/versions", _PIP),
    Toolchain("uv", ".local/share/uv/python", _PIP),
    Toolchain("uv tools", ".local/share/uv/tools", _TOOL),
    Toolchain("pipx", ".local/share/pipx/venvs", _TOOL),
    Toolchain("pipx", ".local/pipx/venvs", _TOOL),
    *(Toolchain("conda", base, _CONDA) for base in _CONDA_BASES),
    # Never `.cargo` itself: `credentials.toml` is in it.
    Toolchain("cargo", ".cargo/bin"),
    *(Toolchain("rustup", f".rustup/{name}") for name in _RUSTUP),
    Toolchain("nvm", ".nvm/versions", ("*/*/etc/npmrc",)),
    Toolchain("nvm", ".config/nvm/versions", ("*/*/etc/npmrc",)),
    Toolchain("fnm", ".local/share/fnm/node-versions", ("*/installation/etc/npmrc",)),
    Toolchain("fnm", "Library/Application Support/fnm/node-versions", ("*/installation/etc/npmrc",)),
    Toolchain("volta", ".volta/tools/image", ("*/*/etc/npmrc",)),
    Toolchain("nodenv", ".nodenv/versions", ("*/etc/npmrc",)),
    Toolchain("asdf", ".asdf/installs", _ANY),
    Toolchain("mise", ".local/share/mise/installs", _ANY),
    Toolchain("sdkman", ".sdkman/candidates", _ANY),
    Toolchain("rbenv", ".rbenv/versions", _GEM),
    Toolchain("bun", ".bun/bin"),
    Toolchain("deno", ".deno/bin"),
    Toolchain("go", "go/bin"),
    Toolchain("go", "sdk/go*"),
    Toolchain("goenv", ".goenv/versions"),
    Toolchain("homebrew", "/home/linuxbrew/.linuxbrew", ("etc", "var")),
    Toolchain("homebrew", ".linuxbrew", ("etc", "var")),
    # On macOS `etc` stays visible, because git dies if it may not look for its settings there.
    Toolchain("homebrew", "/opt/homebrew", ("var",)),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A path that matches a toolchain of the table; `base` is the home, or the root for an absolute folder."""

    toolchain: Toolchain
    base: Path
    folder: Path


@dataclass(frozen=True, slots=True)
class Places:
    """The person's home, if any, and the folders of the system, which a command sees completely."""

    home: Path | None
    system: tuple[str, ...]

    def is_system(self, path: Path) -> bool:
        """Returns whether `path` as it is spelled lies in one of the system's folders."""
        return ".." not in path.parts and f"{path}/".startswith(tuple(f"{folder}/" for folder in self.system))

    def row_at(self, path: Path) -> Row | None:
        """Returns the row in whose folder `path` as it is spelled lies, or None; pure."""
        found = None if ".." in path.parts else _table(self.home)[0].match(str(path))
        if found is None or found.lastgroup is None:
            return None
        toolchain, base = _table(self.home)[1][int(found.lastgroup[1:])]
        return Row(toolchain, base, Path(found[0]))

    def source_of(self, row: Row) -> Path | None:
        """Returns the real path of the row's folder; None if the folder is missing, or if a link leads elsewhere than
        to a folder of the same kind of toolchain or of the system."""
        real = os.path.realpath(row.folder)
        if not os.path.exists(real):  # noqa: PTH110  a name, for each row before each command
            return None
        if real == os.path.realpath(row.base) + str(row.folder).removeprefix(str(row.base)):
            return Path(real)
        like = self.row_at(Path(real))
        kin = like is not None and like.toolchain.kind == row.toolchain.kind and str(like.folder) == real
        return Path(real) if kin or self.is_system(Path(real)) else None

    def is_shown(self, path: Path) -> bool:
        """Returns whether `path` as it is spelled lies in a folder of the table that is shown inside."""
        row = self.row_at(path)
        return row is not None and self.source_of(row) is not None

    def is_seen(self, path: Path, workspace: Path) -> bool:
        """Returns whether a file exists and can be seen inside, with each link on the way to it."""
        return path.exists() and all(
            hop.is_relative_to(workspace) or self.is_system(hop) or self.is_shown(hop) for hop in follow_links(path)
        )


def home_of(environ: Mapping[str, str]) -> Path | None:
    """Returns the person's home from HOME, or None if that is unset, relative, has a `..`, or is the root."""
    home = Path(environ.get("HOME", ""))
    return home if home.is_absolute() and ".." not in home.parts and home != _ROOT else None


def toolchain_mounts(environment: Mapping[str, str], workspace: Path, places: Places) -> tuple[ReadOnlyMount, ...]:
    """Returns the toolchains that a command in this workspace sees, sorted by place; without those in the workspace,
    which it sees anyway.

    They are found by its PATH and RUSTUP_HOME, and by the links of the interpreter in the project's virtual
    environment.
    """
    named = map(Path, environment.get("PATH", "").split(":"))
    rust = (Path(environment["RUSTUP_HOME"], name) for name in _RUSTUP if "RUSTUP_HOME" in environment)
    venvs = (venv for name in VENVS if os.path.lexists(venv := workspace / name))
    own = (hop for venv in venvs for hop in follow_links(venv / "bin" / "python3"))
    rows = {row for each in (*named, *rust, *own) if (row := places.row_at(each))}
    found = [_mount(row, source) for row in rows if (source := places.source_of(row))]
    inside = f"{workspace}/"
    outside = (each for each in found if not any(f"{p}/".startswith(inside) for p in (each.place, each.source)))
    return tuple(sorted(outside, key=lambda each: each.place))


def folders_above(places: Places) -> tuple[Path, ...]:
    """Returns all folders above any folder of the table, outermost first, whether they exist or not."""
    return parents_of(base / each.folder for each, base in _table(places.home)[1])


def follow_links(path: Path) -> Iterator[Path]:
    """Yields the path, each path that its links lead to (40 at most), and its real path."""
    for _ in range(40):
        yield path
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / path.readlink()))
    yield path.resolve()


def parents_of(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Returns the folders above the paths, outermost first, without the root."""
    return tuple(sorted({parent for path in paths for parent in path.parents} - {_ROOT}))


@cache
def _table(home: Path | None) -> tuple[re.Pattern[str], tuple[tuple[Toolchain, Path], ...]]:
    """Returns a pattern that finds the row of a path by its group's number, and the rows in that order. Relative rows
    come twice if the home is a link: below the home as named, and below its real path."""
    homes = tuple(dict.fromkeys((home, home.resolve()))) if home else ()
    rows = tuple((each, base) for each in TOOLCHAINS for base in ((_ROOT,) if each.folder.startswith("/") else homes))
    folders = (re.escape(str(base / each.folder)).replace(r"\*", "[^/]*") for each, base in rows)
    return re.compile("|".join(f"(?P<r{i}>{folder})(?=/|$)" for i, folder in enumerate(folders))), rows


def _mount(row: Row, source: Path) -> ReadOnlyMount:
    names = (
        name
        for pattern in row.toolchain.private
        for name in iglob(pattern, root_dir=row.folder, include_hidden=True)  # noqa: PTH207  in half the time
    )
    private = (path.resolve() for path in map(row.folder.joinpath, names) if path.exists())
    inside = {row.folder / path.relative_to(source) for path in private if path.is_relative_to(source)}
    return ReadOnlyMount(row.folder, source, tuple(sorted(inside)))


def system_options(folders: Iterable[str], stand_ins: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Returns options of bwrap(1) that show the existing ones of the folders read-only; a link stays a link, and a
    folder with a stand-in is replaced by that."""
    options: list[str] = []
    for folder in folders:
        if Path(folder).is_symlink():
            options += ["--symlink", str(Path(folder).readlink()), folder]
        elif Path(folder).is_dir():
            options += ["--ro-bind", stand_ins.get(folder, folder), folder]
    return options
