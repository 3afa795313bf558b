"""What a person is told where no sandbox is there, by the program itself (BOX-02)."""

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
    """How bubblewrap is installed on this machine, as far as this test knows its system."""
    system = platform.freedesktop_os_release()
    known = [INSTALLS[each] for each in (system["ID"], *system.get("ID_LIKE", "").split()) if each in INSTALLS]
    return f"`{known[0]} bubblewrap" if known else "bubblewrap"


@pytest.mark.parametrize("program", [None, "docker", "podman"])
def test_B12_without_bubblewrap_it_comes_before_a_daemon(tmp_path: Path, program: str | None) -> None:
    """Where docker(1) was there and its daemon was not, only that daemon was named."""
    (tmp_path / "shop").mkdir()
    remit = CommandLine.alone(tmp_path / "shop", tmp_path)
    there = tmp_path / "bin"
    there.mkdir()
    if program is not None:
        (there / program).write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2\nexit 1\n")
        (there / program).chmod(0o755)
    (error,) = (result["error"] for result in remit(*TOUCH, PATH=str(there)).of("tool_result"))
    assert error["code"] == "sandbox_unavailable"
    assert error["why"].startswith("there is no sandbox: there is no program `bwrap`")
    assert ("daemon" in error["why"] or program == "podman") is (program is not None)
    assert error["fix"].startswith("install bubblewrap")
    assert installed_by() in error["fix"].partition("daemon")[0]
    checked = remit("sandbox", "check", PATH=str(there)).out
    assert "fix: install bubblewrap" in checked
    assert installed_by() in checked
    assert not (tmp_path / "shop" / "made").exists()
