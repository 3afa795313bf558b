"""Which settings of the system a sandbox shows; none of them can be changed (BOX-02)."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from pathlib import Path

import pytest

from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap
from remit_server.sandbox.bubblewrap.bubblewrap_options import ETC, GROUP, HOSTS, PASSWD
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


def test_files_of_etc_are_what_is_there(tmp_path: Path) -> None:
    places = [place for place in (f"/etc/{name}" for name in ETC) if Path(place).is_file()]
    for place in ("/etc/nsswitch.conf", "/etc/manpath.config"):
        assert place in places or not Path(place).is_file()
    seen = asyncio.run(told(tmp_path, "/usr/bin/sha256sum", *places)).splitlines()
    assert seen == [f"{hashlib.sha256(Path(place).read_bytes()).hexdigest()}  {place}" for place in places]


async def test_nothing_else_of_etc_is_there(tmp_path: Path) -> None:
    seen = (await told(tmp_path, "/bin/sh", "-c", "cd /etc && find . -mindepth 1 -maxdepth 1")).splitlines()
    named = {"./passwd", "./group", "./hosts", *(f"./{Path(name).parts[0]}" for name in ETC)}
    assert "./passwd" in seen
    assert set(seen) <= named
    assert (
        await told(tmp_path, "/bin/cat", "/etc/passwd", "/etc/group", "/etc/hosts")
    ).encode() == PASSWD + GROUP + HOSTS


def test_a_link_of_etc_is_one_inside(tmp_path: Path) -> None:
    if not str(Path("/etc/localtime").resolve()).startswith("/usr/"):
        pytest.skip("this system has no link there")
    assert asyncio.run(told(tmp_path, "/usr/bin/readlink", "/etc/localtime")) == f"{Path('/etc/localtime').resolve()}\n"


def test_folders_of_etc_are_seen_as_well(tmp_path: Path) -> None:
    mounted = {name: sorted(path.name for path in Path("/etc", name).glob("*")) for name in ("alternatives", "fonts")}
    for name, names in mounted.items():
        listed = asyncio.run(told(tmp_path, "/bin/sh", "-c", f"ls /etc/{name} 2>/dev/null")).splitlines()
        assert sorted(listed) == [each for each in names if not each.startswith(".")]


@pytest.mark.parametrize("folder", ["remit-test", "fonts", "ssl/remit-test"])
def test_a_workspace_below_etc_is_seen(folder: str) -> None:
    """Some people keep their system's settings in a repository."""
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
