"""Which folders in a person's home a command may read; a project only chooses among them (BOX-02)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from home_bench import SECRETS, home_with_toolchains
from hypothesis import given
from hypothesis import strategies as st

from remit_server.sandbox.bubblewrap.bubblewrap_options import find_credentials
from remit_server.sandbox.visible.environment import SYSTEM_FOLDERS, command_environment
from remit_server.sandbox.visible.shims import is_hollow
from remit_server.sandbox.visible.toolchains import TOOLCHAINS, Places, home_of, toolchain_mounts

_PARTS = {part for each in TOOLCHAINS for part in PurePosixPath(each.folder).parts}
NAMES = sorted(_PARTS - {"/"} | {"bin", "..", ".ssh", "go1", "[a]"})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path.resolve() / "home"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    return tmp_path.resolve() / "shop"


def seen(home: Path, workspace: Path, path: str = "") -> list[str]:
    """Returns the folders of the home that a command with this PATH can see, relative to the home."""
    shown = toolchain_mounts({"PATH": path}, workspace, Places(home, SYSTEM_FOLDERS))
    return [each.place.relative_to(home).as_posix() for each in shown]


def test_no_folder_of_the_table_is_one_that_holds_credentials_or_holds_one() -> None:
    home = Path("/home/me")
    above = (".cargo", ".config", ".local/share", ".local/bin")
    private = [*map(Path, find_credentials(str(home))), *(home / name for name in above)]
    for each in TOOLCHAINS:
        folder = home / each.folder
        assert not any(path.is_relative_to(folder) for path in private), each
        assert home != folder


@given(st.lists(st.sampled_from(NAMES), max_size=6))
def test_a_path_of_the_home_is_in_the_table_or_nowhere(parts: list[str]) -> None:
    home = Path("/home/m[e]")
    row = Places(home, ()).row_at(home.joinpath(*parts))
    while "/" in parts[1:]:  # an absolute part starts the path anew
        parts = parts[parts.index("/", 1) :]
    folders = [
        each
        for each in TOOLCHAINS
        if ".." not in parts and PurePosixPath(*parts[: each.folder.count("/") + 1]).match(each.folder)
    ]
    assert (row is not None) == bool(folders)
    if row:
        assert home.joinpath(*parts).is_relative_to(row.folder)


def test_path_leads_to_toolchains_and_shims_to_what_is_behind_them(home: Path, shop: Path) -> None:
    path = f"{home_with_toolchains(home)}:{home}/.ssh:{home}:{home}/.pyenv/versions/../../.ssh:/usr/bin"
    environment = command_environment({"PATH": path, "HOME": str(home)})
    kept = (".pyenv/versions/3/bin", ".cargo/bin", ".nvm/versions/node/v20/bin")
    assert environment["PATH"] == ":".join((*(f"{home}/{name}" for name in kept), "/usr/bin"))
    assert environment["RUSTUP_HOME"] == f"{home}/.rustup"
    shown = toolchain_mounts(environment, shop, Places(home, SYSTEM_FOLDERS))
    assert [each.place.relative_to(home).as_posix() for each in shown] == [
        *(".cargo/bin", ".nvm/versions", ".pyenv/versions", ".rustup/settings.toml", ".rustup/toolchains")
    ]
    covered = {path.relative_to(home).as_posix() for each in shown for path in each.private}
    assert covered == set(SECRETS[-3:])


def test_without_a_home_or_a_toolchain_path_is_the_systems(home: Path) -> None:
    path = home_with_toolchains(home)
    for environ in ({}, {"HOME": "home"}, {"HOME": "/"}, {"HOME": f"{home}/.."}, {"HOME": "/nowhere"}):
        given = command_environment({"PATH": f"{path}:/usr/bin", **environ})
        assert (given["PATH"], "RUSTUP_HOME" in given) == ("/usr/bin", False)
    assert home_of({"HOME": str(home)}) == home


@pytest.mark.parametrize(
    ("shims", "settings", "text", "kept"),
    [
        (".pyenv/shims", ".pyenv/version", "3.12.1 system ../../../.ssh\n", [".pyenv/versions/3.12.1/bin"]),
        (".pyenv/shims", ".pyenv/version", "..\n", []),
        (".volta/bin", ".volta/tools/user/platform.json", '{"node": {"runtime": "20.1.0"}}', [".volta/tools/image/node/20.1.0/bin"]),
        (".volta/bin", ".volta/tools/user/platform.json", '{"node": {"runtime": "../../../../.ssh"}}', []),
        (".volta/bin", ".volta/tools/user/platform.json", "[]", []),
        (".asdf/shims", ".tool-versions", "# mine\nnodejs 20.1.0 # lts\nx ../y\n", [".asdf/installs/nodejs/20.1.0/bin"]),
    ],
)  # fmt: skip
def test_shims(home: Path, shims: str, settings: str, text: str, kept: list[str]) -> None:
    (home / settings).parent.mkdir(parents=True, exist_ok=True)
    (home / settings).write_text(text)
    for name in (".pyenv/versions", ".volta/tools/image", ".asdf/installs", ".ssh"):
        (home / name).mkdir(parents=True, exist_ok=True)
    given = command_environment({"PATH": f"{home}/{shims}:/bin", "HOME": str(home)})
    assert given["PATH"].split(":") == [*(f"{home}/{name}" for name in kept), "/bin"]


def test_a_stand_in_of_rustups_counts_only_with_the_real_program_behind_it(home: Path) -> None:
    home_with_toolchains(home)
    programs, real = home / ".cargo/bin", home / ".rustup/toolchains/stable/bin"
    (programs / "rust-analyzer").hardlink_to(programs / "rustup")
    (programs / "gopls").write_text("#!/bin/sh\n")
    environment = command_environment({"PATH": str(programs), "HOME": str(home)})
    assert is_hollow(programs / "rust-analyzer", environment)
    assert not is_hollow(programs / "gopls", environment)
    real.mkdir(parents=True)
    (real / "rust-analyzer").touch()
    assert not is_hollow(programs / "rust-analyzer", environment)


def test_a_project_chooses_a_toolchain_by_its_interpreter_alone(home: Path, shop: Path) -> None:
    home_with_toolchains(home)
    (shop / ".venv/bin").mkdir(parents=True)
    (shop / ".venv/pyvenv.cfg").write_text(f"home = {home}/.ssh\n")
    python = shop / ".venv/bin/python3"
    places = Places(home, SYSTEM_FOLDERS)
    for target in (
        ".ssh/id_rsa",
        ".cargo/credentials.toml",
        ".pyenv/token",
        ".pyenv",
        ".",
        ".cargo/bin/../config.toml",
    ):
        python.unlink(missing_ok=True)
        python.symlink_to(home / target)
        assert (seen(home, shop), places.is_seen(python, shop)) == ([], False), target
    python.unlink()
    python.symlink_to(home / ".pyenv/versions/3/bin/tool")
    assert (seen(home, shop), places.is_seen(python, shop)) == ([".pyenv/versions"], True)


def test_each_link_on_the_way_to_an_interpreter_has_to_be_there(home: Path, shop: Path) -> None:
    home_with_toolchains(home)
    (home / ".local/bin").mkdir(parents=True)
    (home / ".local/bin/python3").symlink_to(home / ".pyenv/versions/3/bin/tool")
    (shop / ".venv/bin").mkdir(parents=True)
    (shop / ".venv/bin/python3").symlink_to(home / ".local/bin/python3")
    assert not Places(home, SYSTEM_FOLDERS).is_seen(shop / ".venv/bin/python3", shop)


@pytest.mark.parametrize(
    ("link", "target", "is_shown"),
    [
        (".pyenv/versions", ".ssh", False),
        (".pyenv/versions", ".", False),
        (".pyenv", ".ssh", False),
        (".nvm/versions", ".config/nvm/versions", True),
        (".nvm/versions", ".cargo/bin", False),
        (".cargo/bin", "/usr/bin", True),
        (".cargo/bin", "/etc", False),
        (".cargo/bin", "/", False),
    ],
)
def test_a_toolchain_that_is_a_link_leads_to_its_like_or_the_systems(
    home: Path, shop: Path, link: str, target: str, is_shown: bool
) -> None:
    for name in (".ssh/versions", ".config/nvm/versions", *([] if link == ".cargo/bin" else [".cargo/bin"])):
        (home / name).mkdir(parents=True)
    (home / link).parent.mkdir(exist_ok=True)
    (home / link).symlink_to(home / target)
    folder = next(each for each in (".pyenv/versions", ".nvm/versions", ".cargo/bin") if each.startswith(link))
    assert seen(home, shop, f"{home}/{folder}") == ([folder] if is_shown else [])


def test_settings_behind_a_link_are_covered_where_they_lie(home: Path, shop: Path) -> None:
    version = home / ".pyenv/versions/3"
    (version / "kept").mkdir(parents=True)
    (version / "kept/real").write_text("password")
    (version / "pip.conf").symlink_to("kept/real")
    (version / "envs/out").mkdir(parents=True)
    (version / "envs/out/pip.conf").symlink_to(home / ".pypirc")
    (shown,) = toolchain_mounts({"PATH": f"{version}/bin"}, shop, Places(home, SYSTEM_FOLDERS))
    assert shown.private == (version / "kept/real",)


def test_a_home_that_is_a_link_shows_its_toolchains_by_its_name(home: Path, shop: Path) -> None:
    home_with_toolchains(home)
    named = shop.parent / "named"
    named.symlink_to(home)
    environment = command_environment({"PATH": f"{named}/.cargo/bin", "HOME": str(named)})
    assert environment["PATH"] == f"{named}/.cargo/bin"
    shown = toolchain_mounts(environment, shop, Places(named, SYSTEM_FOLDERS))
    assert (shown[0].place, shown[0].source) == (named / ".cargo/bin", home / ".cargo/bin")


def test_what_lies_in_the_workspace_is_seen_as_part_of_it(home: Path) -> None:
    path = home_with_toolchains(home)
    assert seen(home, home, path) == []
    assert seen(home, home / ".cargo", path) == [".nvm/versions"]
