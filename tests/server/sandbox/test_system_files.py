"""What of the system is copied into a sandbox rather than mounted, and stays as it was (003 §Container Manager)."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from pathlib import Path

import pytest

from remit_server.sandbox.bubblewrap import Bubblewrap
from remit_server.sandbox.environment import command_environment
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.system import copy, settings

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


def copied(source: Path) -> tuple[bool, int]:
    """Whether it is copied, and how many descriptors stay open for it."""
    opened: list[int] = []
    options = copy(str(source), "/place", opened)
    assert (options is None) == (opened == []) or source.is_dir()
    for descriptor in opened:
        os.close(descriptor)
    return options is not None, len(opened)


async def test_nothing_of_etc_can_be_changed_by_any_way(tmp_path: Path) -> None:
    assert await told(tmp_path, "/usr/bin/python3", "-I", "-c", ATTACK) == "tried 1000\n"


def test_what_is_copied_is_what_is_there(tmp_path: Path) -> None:
    opened: list[int] = []
    options = settings(opened)
    for descriptor in opened:
        os.close(descriptor)
    places = [options[i + 2] for i, option in enumerate(options) if option == "--file"]
    assert "/etc/nsswitch.conf" in places or not Path("/etc/nsswitch.conf").is_file()
    seen = asyncio.run(told(tmp_path, "/usr/bin/sha256sum", *places)).splitlines()
    assert seen == [f"{hashlib.sha256(Path(place).read_bytes()).hexdigest()}  {place}" for place in places]


async def test_what_tells_of_the_kernel_cannot_be_read(tmp_path: Path) -> None:
    seen = await told(
        tmp_path, "/bin/sh", "-c", f"cd /proc && cat {' '.join(SECRETS_OF_PROC)} 2>/dev/null | head -c 99"
    )
    assert seen == ""


def test_a_small_file_and_a_folder_of_few_are_copied(tmp_path: Path) -> None:
    (tmp_path / "few").mkdir()
    for name in ("few/a", "few/b", "one"):
        (tmp_path / name).write_text(name)
    assert copied(tmp_path / "one") == (True, 1)
    assert copied(tmp_path / "few") == (True, 2)


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
    before = list(Path("/proc/self/fd").iterdir())
    assert copied(tmp_path / "it") == (False, 0)
    assert copied(tmp_path) == (False, 0)
    assert len(list(Path("/proc/self/fd").iterdir())) == len(before)
