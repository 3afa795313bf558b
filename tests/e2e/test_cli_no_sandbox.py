"""What happens if no program can isolate a command: the kernel's own means do, and otherwise the person is told what to
install (BOX-02, BOX-12)."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest
from command_line import CommandLine

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")]

TOUCH = ("run-tool", "run_command", '{"command": "touch made"}', "--intent", "EXECUTE", "--json")
INSTALLS = {"debian": "apt install", "ubuntu": "apt install", "fedora": "dnf install", "arch": "pacman -S"}


def installed_by() -> str:
    """Returns the command that installs bubblewrap on this system, or only its name if the test does not know the
    system."""
    system = platform.freedesktop_os_release()
    known = [INSTALLS[each] for each in (system["ID"], *system.get("ID_LIKE", "").split()) if each in INSTALLS]
    return f"`{known[0]} bubblewrap" if known else "bubblewrap"


def programs(tmp_path: Path, *broken: str) -> str:
    """Returns a PATH with nothing but these programs, each of which fails as if its daemon were missing."""
    there = tmp_path / "bin"
    there.mkdir()
    for name in broken:
        (there / name).write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2\nexit 1\n")
        (there / name).chmod(0o755)
    return str(there)


@pytest.mark.parametrize("broken", [(), ("docker",), ("podman", "docker"), ("bwrap", "unshare")])
def test_BOX_12_where_no_program_isolates_the_kernel_does(tmp_path: Path, broken: tuple[str, ...]) -> None:
    """A docker(1) without its daemon, or a bwrap without namespaces, used to prevent every command."""
    (tmp_path / "shop").mkdir()
    remit = CommandLine.alone(tmp_path / "shop", tmp_path)
    path = programs(tmp_path, *broken)
    checked = remit("sandbox", "check", "--json", PATH=path)
    (found,) = checked.lines
    assert (found["name"], found["available"], found["layers"]) == ("landlock", True, True)
    assert [each for each in found["properties"] if not each["holds"]] == []
    (ran,) = remit("sandbox", "run", "--json", "--", "/usr/bin/touch", "made", PATH=path).lines
    assert (ran["runtime"], ran["exit_code"], [each["path"] for each in ran["discarded"]]) == ("landlock", 0, ["made"])
    assert not (tmp_path / "shop" / "made").exists()


@pytest.mark.parametrize("runtime", ["bubblewrap", "docker"])
def test_B12_a_sandbox_that_was_named_and_is_not_there_is_replaced_by_no_other(tmp_path: Path, runtime: str) -> None:
    (tmp_path / "shop").mkdir()
    remit = CommandLine.alone(tmp_path / "shop", tmp_path)
    nothing = {"PATH": programs(tmp_path), "REMIT_SANDBOX": runtime}
    (error,) = (result["error"] for result in remit(*TOUCH, **nothing).of("tool_result"))
    assert error["code"] == "sandbox_unavailable"
    installs = installed_by() if runtime == "bubblewrap" else "install docker"
    assert installs in error["fix"]
    assert installs in remit("sandbox", "check", **nothing).out
    assert not (tmp_path / "shop" / "made").exists()
