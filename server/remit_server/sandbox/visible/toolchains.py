"""The only folders below a person's home that a command may read: where version managers keep programs (BOX-02).

The table is fixed. A project, by its virtual environment, and PATH only choose among its folders; no file of a project
names a folder. None of them is where a program keeps credentials; what may lie in them all the same is `private`.

And what of the system a command sees: its folders, mounted as they are.
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
    """A folder relative to the home, or absolute: each part a name or a pattern of names.

    `private` are patterns of files and folders in it that are covered.
    """

    kind: str
    folder: str
    private: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadOnlyMount:
    """`source` is seen at `place`, to be read; the `private` paths, which lie at `place`, are not."""

    place: Path
    source: Path
    private: tuple[Path, ...] = ()


# Each is looked for at every start of rustup, which makes the last where it is missing.
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
    # macOS; git dies where it may not look for its settings in `etc`.
    Toolchain("homebrew", "/opt/homebrew", ("var",)),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A folder of the table on some disk: `base` is the home, or the root."""

    toolchain: Toolchain
    base: Path
    folder: Path


@dataclass(frozen=True, slots=True)
class Places:
    """The person's home, if any, and the folders of the system, which are seen whole."""

    home: Path | None
    system: tuple[str, ...]

    def is_system(self, path: Path) -> bool:
        """Returns whether this lies in one of the system's folders, as it is spelled."""
        return ".." not in path.parts and f"{path}/".startswith(tuple(f"{folder}/" for folder in self.system))

    def row_at(self, path: Path) -> Row | None:
        """Returns the row that `path` lies in as it is spelled; pure."""
        found = None if ".." in path.parts else _table(self.home)[0].match(str(path))
        if found is None or found.lastgroup is None:
            return None
        toolchain, base = _table(self.home)[1][int(found.lastgroup[1:])]
        return Row(toolchain, base, Path(found[0]))

    def source_of(self, row: Row) -> Path | None:
        """Returns where the row's folder really is; None where it is missing, or a link to neither its like nor the
        system."""
        real = os.path.realpath(row.folder)
        if not os.path.exists(real):  # noqa: PTH110  a name, for each row before each command
            return None
        if real == os.path.realpath(row.base) + str(row.folder).removeprefix(str(row.base)):
            return Path(real)
        like = self.row_at(Path(real))
        kin = like is not None and like.toolchain.kind == row.toolchain.kind and str(like.folder) == real
        return Path(real) if kin or self.is_system(Path(real)) else None

    def is_shown(self, path: Path) -> bool:
        """Returns whether `path` can be seen inside as it is spelled, for it lies in a folder of the table."""
        row = self.row_at(path)
        return row is not None and self.source_of(row) is not None

    def is_seen(self, path: Path, workspace: Path) -> bool:
        """Returns whether a file is there inside: it, and each link on the way to it."""
        return path.exists() and all(
            hop.is_relative_to(workspace) or self.is_system(hop) or self.is_shown(hop) for hop in follow_links(path)
        )


def home_of(environ: Mapping[str, str]) -> Path | None:
    """Returns the person's home, or None where none is named."""
    home = Path(environ.get("HOME", ""))
    return home if home.is_absolute() and ".." not in home.parts and home != _ROOT else None


def toolchain_mounts(environment: Mapping[str, str], workspace: Path, places: Places) -> tuple[ReadOnlyMount, ...]:
    """Returns what a command in this workspace is shown, by place; what lies in the workspace is seen anyway.

    Its PATH and RUSTUP_HOME lead there, and the interpreter of the project's own virtual environment by its links.
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
    """Returns all folders above any folder of the table, whether there is one or not, outermost first."""
    return parents_of(base / each.folder for each, base in _table(places.home)[1])


def follow_links(path: Path) -> Iterator[Path]:
    """Yields the path, each that its links lead to, 40 at most, and where it really is."""
    for _ in range(40):
        yield path
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / path.readlink()))
    yield path.resolve()


def parents_of(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Returns the folders above them, outermost first."""
    return tuple(sorted({parent for path in paths for parent in path.parents} - {_ROOT}))


@cache
def _table(home: Path | None) -> tuple[re.Pattern[str], tuple[tuple[Toolchain, Path], ...]]:
    """Returns what finds the row of a path, and the rows in that order: below the home as it is named, and as it really
    is."""
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
    """Returns those of the folders that exist, as they are, to be read; of a folder with a stand-in, that."""
    options: list[str] = []
    for folder in folders:
        if Path(folder).is_symlink():
            options += ["--symlink", str(Path(folder).readlink()), folder]
        elif Path(folder).is_dir():
            options += ["--ro-bind", stand_ins.get(folder, folder), folder]
    return options


def existing_folders(names: Iterable[str]) -> Iterator[str]:
    """Returns those that there are; most of those that are looked for are not."""
    return filter(os.path.exists, names)
