"""What a sandbox has of the system's settings: copies that are what is there, and stay so (BOX-02)."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from remit_server.sandbox.bubblewrap import etc
from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap
from remit_server.sandbox.bubblewrap.etc import settings, small_files
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.environment import command_environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Bubblewrap is Linux's")

ATTACK = """
import os
ways = {
    "write": lambda path: open(path, "w"), "add": lambda path: open(path, "a"), "mode": lambda path: os.chmod(path, 0o666),
    "times": os.utime, "replace": lambda path: os.rename(path, path + ".old"), "remove": os.unlink,
    "link": lambda path: os.link(path, path + ".too"), "beside": lambda path: open(path + ".new", "w"),
}
for folder, _, names in os.walk("/etc"):
    for path in [f"{folder}/{name}" for name in names if not os.path.islink(f"{folder}/{name}")]:
        for way, act in ways.items():
            try:
                act(path)
                print("REACHED", way, path)
            except OSError:
                pass
print("tried", os.getuid())
"""
SECRETS_OF_PROC = (
    *("kcore", "keys", "key-users", "kmsg", "kallsyms", "timer_list", "sched_debug"),
    *("kpagecount", "kpageflags", "kpagecgroup", "slabinfo"),
)


async def told(folder: Path, *argv: str) -> str:
    if not Bubblewrap().isolation().available:
        pytest.skip(Bubblewrap().isolation().why)
    output = await Bubblewrap().run(CommandSpec(argv, folder, folder, command_environment({}), 60))
    return (output.stdout + output.stderr).decode(errors="replace")


async def test_nothing_of_etc_can_be_changed_by_any_way(tmp_path: Path) -> None:
    assert await told(tmp_path, "/usr/bin/python3", "-I", "-c", ATTACK) == "tried 1000\n"


def folder_of(options: list[str]) -> Path:
    """What is bound over /etc."""
    assert options[0] == "--ro-bind"
    assert options[2] == "/etc"
    return Path(options[1])


def test_what_is_copied_is_what_is_there(tmp_path: Path) -> None:
    copy = folder_of(settings())
    files = [path for path in copy.rglob("*") if path.is_file() and not path.is_symlink()]
    places = sorted(f"/etc/{path.relative_to(copy)}" for path in files if path.name not in ("passwd", "group"))
    assert "/etc/nsswitch.conf" in places or not Path("/etc/nsswitch.conf").is_file()
    seen = asyncio.run(told(tmp_path, "/usr/bin/sha256sum", *places)).splitlines()
    assert seen == [f"{hashlib.sha256(Path(place).read_bytes()).hexdigest()}  {place}" for place in places]


def test_what_is_too_large_to_copy_is_seen_as_well(tmp_path: Path) -> None:
    mounted = {name: sorted(path.name for path in Path("/etc", name).glob("*")) for name in ("alternatives", "fonts")}
    for name, names in mounted.items():
        listed = asyncio.run(told(tmp_path, "/bin/sh", "-c", f"ls /etc/{name} 2>/dev/null")).splitlines()
        assert sorted(listed) == [each for each in names if not each.startswith(".")]


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system whose settings are ours to change."""
    folder = tmp_path / "system"
    (folder / "ld.so.conf.d").mkdir(parents=True)
    (folder / "ld.so.conf.d/one.conf").write_text("/one")
    (folder / "nsswitch.conf").write_text("hosts: files")
    (folder / "localtime").symlink_to("/usr/share/zoneinfo/Etc/UTC")
    (folder / "zone").write_text("UTC")
    (folder / "timezone").symlink_to("zone")
    (folder / "fonts").mkdir()
    monkeypatch.setattr(etc, "_SYSTEM", str(folder))
    monkeypatch.setattr(etc, "_made", {})
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file written anew": lambda system: (system / "nsswitch.conf").write_text("hosts: dns"),
    "one of the same size": lambda system: (system / "nsswitch.conf").write_text("hosts: elifs"),
    "another in its place": lambda system: shutil.copy(system / "zone", system / "x").rename(system / "nsswitch.conf"),
    "a file removed": lambda system: (system / "nsswitch.conf").unlink(),
    "a file that was not there": lambda system: (system / "services").write_text("ssh 22"),
    "a file in a folder": lambda system: (system / "ld.so.conf.d/one.conf").write_text("/two"),
    "one more in a folder": lambda system: (system / "ld.so.conf.d/two.conf").write_text("/two"),
    "what a link leads to": lambda system: (system / "zone").write_text("CET"),
    "a link that leads elsewhere": lambda system: relinked(system / "timezone", "nsswitch.conf"),
    "a folder that was not there": lambda system: (system / "alternatives").mkdir(),
    "the copy cleared away": lambda _: cleared(folder_of(settings())),
}


def settled() -> None:
    """Past the moment that a file system's clock takes for one."""
    time.sleep(0.02)


def relinked(link: Path, target: str) -> None:
    link.unlink()
    link.symlink_to(target)


def cleared(folder: Path) -> None:
    """As what clears old files in /tmp does."""
    for path in (path for path in folder.rglob("*") if path.is_file()):
        path.unlink()


@pytest.mark.parametrize("change", CHANGES)
def test_it_is_made_again_when_anything_has_changed(system: Path, change: str) -> None:
    first = settings()
    before = contents(folder_of(first))
    assert settings() == first
    settled()
    CHANGES[change](system)
    again = settings()
    assert folder_of(again) != folder_of(first)
    assert settings() == again
    copied = contents(folder_of(again))
    assert {name: copied[name] for name in ("passwd", "group")} == {name: before[name] for name in ("passwd", "group")}
    for name, text in contents(system).items():
        assert name == "zone" or copied[name] == text
    assert set(copied) - {"passwd", "group", "localtime"} == set(contents(system)) - {"zone", "localtime"}
    assert ("/etc/alternatives" in again) == (system / "alternatives").exists()
    assert "/etc/fonts" in again


def test_a_copy_that_is_in_use_stays_when_there_is_another(system: Path) -> None:
    first = folder_of(settings())
    settled()
    (system / "nsswitch.conf").write_text("hosts: dns")
    assert folder_of(settings()) != first
    assert contents(first)["nsswitch.conf"] == "hosts: files"


@pytest.mark.usefixtures("system")
def test_it_goes_with_the_server(tmp_path: Path) -> None:
    there = """
import os
from remit_server.sandbox.bubblewrap.etc import settings
folder = settings()[1]
if (child := os.fork()) == 0:
    raise SystemExit
os.waitpid(child, 0)
assert os.listdir(folder)
print(folder)
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", there], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout.startswith(f"{tmp_path}/remit-etc-")
    assert not Path(ran.stdout.strip()).parent.exists()


@pytest.mark.parametrize("folder", ["remit-test", "fonts", "ssl/remit-test"])
def test_a_workspace_below_etc_is_seen(folder: str) -> None:
    """Somebody keeps their system's settings in a repository."""
    workspace = Path("/etc", folder)
    made = not workspace.exists()
    if made and not os.access("/etc", os.W_OK):
        pytest.skip("only root may make a folder there")
    if made:
        workspace.mkdir(parents=True)
    try:
        names = sorted(path.name for path in workspace.iterdir() if not path.name.startswith("."))
        assert asyncio.run(told(workspace, "/bin/sh", "-c", "pwd; ls")).splitlines() == [str(workspace), *names]
    finally:
        if made:
            workspace.rmdir()


async def test_what_tells_of_the_kernel_cannot_be_read(tmp_path: Path) -> None:
    seen = await told(
        tmp_path, "/bin/sh", "-c", f"cd /proc && cat {' '.join(SECRETS_OF_PROC)} 2>/dev/null | head -c 99"
    )
    assert seen == ""


def test_a_small_file_and_a_folder_of_few_are_copied(tmp_path: Path) -> None:
    (tmp_path / "few").mkdir()
    for name in ("few/a", "few/b", "one"):
        (tmp_path / name).write_text(name)
    assert small_files(str(tmp_path / "one")) == [str(tmp_path / "one")]
    assert sorted(small_files(str(tmp_path / "few")) or ()) == [str(tmp_path / "few/a"), str(tmp_path / "few/b")]


def strange(folder: Path, kind: str) -> None:
    match kind:
        case "pipe":
            os.mkfifo(folder / "it")
        case "large":
            with (folder / "it").open("wb") as file:
                file.truncate(1 << 40)
        case "program":
            (folder / "it").touch(0o755)
        case "device":
            (folder / "it").symlink_to("/dev/zero")
        case "link that leads nowhere":
            (folder / "it").symlink_to("nowhere")
        case "folder":
            (folder / "it" / "deeper").mkdir(parents=True)
        case _:
            (folder / "it").mkdir()
            for name in range(20):
                (folder / "it" / str(name)).touch()


@pytest.mark.parametrize(
    "kind", ["pipe", "large", "program", "device", "link that leads nowhere", "folder", "folder of many"]
)
def test_what_is_strange_is_not_copied_nor_waited_for(tmp_path: Path, kind: str) -> None:
    strange(tmp_path, kind)
    assert small_files(str(tmp_path / "it")) is None
    assert small_files(str(tmp_path)) is None
