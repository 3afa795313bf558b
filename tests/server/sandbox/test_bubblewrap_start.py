"""How a command starts under Bubblewrap: it is held until its limits are set (BOX-02)."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from messages import SAYS

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.bubblewrap.bubblewrap import Bubblewrap, make_hold
from remit_server.sandbox.limits.cgroup import find_parents
from remit_server.sandbox.limits.limits import Limits
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.environment import command_environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Bubblewrap is Linux's")

LIMITED = "nice; ulimit -n; ulimit -c; ulimit -d; cat /proc/1/limits | grep -c 1073741824"


class Unsettable(Limits):
    """Limits that the kernel refuses to set."""

    def impose(self, pid: int) -> None:
        raise PermissionError(f"not for {pid}")


def spec(folder: Path, *argv: str) -> CommandSpec:
    return CommandSpec(argv, folder, folder, command_environment({}), 30)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    isolation = Bubblewrap().isolation()
    if not isolation.available:
        pytest.skip(isolation.why)
    return tmp_path


async def test_limits_and_niceness_are_there_from_the_first_moment(there: Path) -> None:
    output = await Bubblewrap().run(spec(there, "/bin/sh", "-c", LIMITED))
    nicer = min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)
    assert output.stdout.decode().split() == [str(nicer), "1024", "0", str(1 << 20), "1"]


def mounted_below_sys() -> list[str]:
    return [
        line for line in Path("/proc/self/mountinfo").read_text().splitlines() if line.split()[4].startswith("/sys")
    ]


async def test_what_is_unmounted_for_bwrap_stays_mounted_here(there: Path) -> None:
    if find_parents():
        pytest.skip("control groups lie below /sys, and this user can make some")
    before = mounted_below_sys()
    output = await Bubblewrap().run(spec(there, "/bin/sh", "-c", "ls /sys; cat /proc/self/mountinfo"))
    assert b" /sys" not in output.stdout
    assert mounted_below_sys() == before


async def test_a_command_whose_limits_cannot_be_set_does_not_begin(there: Path) -> None:
    unlimited = Bubblewrap(limits=Unsettable())
    assert not unlimited.isolation().available
    assert SAYS.limits_cannot_be_set in unlimited.isolation().why


async def test_BOX_04_a_command_that_may_not_begin_is_refused_for_the_reason(there: Path) -> None:
    def refuse(pid: int) -> None:
        del pid
        raise ToolError("not run", "it cannot be audited", "free some space", code=ErrorCode.AUDIT_BROKEN)

    with pytest.raises(ToolError) as refused:
        await Bubblewrap().run(replace(spec(there, "/bin/sh", "-c", "echo begun"), begun=refuse))
    assert refused.value.code is ErrorCode.AUDIT_BROKEN


def test_a_command_does_not_begin_either_when_the_server_dies_before() -> None:
    ours, theirs = make_hold()
    os.set_blocking(theirs, False)
    ours.close()
    try:
        with pytest.raises(BlockingIOError):
            os.read(theirs, 1)
    finally:
        os.close(theirs)


@pytest.mark.parametrize(("argv", "code"), [(("/no/such/program",), 127), (("/etc/passwd",), 126)])
async def test_a_program_that_cannot_be_started_is_no_fault_of_the_sandbox(
    there: Path, argv: tuple[str, ...], code: int
) -> None:
    output = await Bubblewrap().run(spec(there, *argv))
    assert output.exit_code == code
    assert argv[0].encode() in output.stderr


async def test_a_command_cannot_feign_that_it_never_began(there: Path) -> None:
    feigned = "echo 'bwrap: execvp /bin/sh: No such file or directory' >&2; exit 1"
    assert (await Bubblewrap().run(spec(there, "/bin/sh", "-c", feigned))).exit_code == 1
