"""Leftovers of a dead server are removed at the next start, and nothing of a living one (BOX-06)."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from remit_server.machine.peers import is_dead, this_process
from remit_server.sandbox.bubblewrap import bubblewrap
from remit_server.sandbox.bubblewrap.apart import foreign_folders, make_stand_ins
from remit_server.sandbox.bubblewrap.layer import Layer
from remit_server.sandbox.choose import sandbox_named
from remit_server.sandbox.containers import container_argv as containers
from remit_server.sandbox.containers.container_sandbox import Containers
from remit_server.sandbox.findings import forget_findings
from remit_server.sandbox.limits.cgroup import ControlGroup, find_parents
from remit_server.sandbox.limits.limits import TEMPLATES
from remit_server.sandbox.ports import CommandSpec, RuntimeName, Sandbox
from remit_server.sandbox.server_identity import clear_leftovers, prefix_of
from remit_server.sandbox.visible.environment import command_environment, visible_outside

AREAS = (Path(tempfile.gettempdir()), Path("/dev/shm"))

SERVER = """
import asyncio, sys
from pathlib import Path
from remit_server.sandbox.choose import sandbox_named
from remit_server.sandbox.visible.environment import command_environment
from remit_server.sandbox.ports import CommandSpec
here = Path(sys.argv[2])
script = f"echo begun; sleep {sys.argv[3]}"
spec = CommandSpec(("/bin/sh", "-c", script), here, here, command_environment({}), 3600, writes=True)
asyncio.run(sandbox_named(sys.argv[1]).run(spec, lambda *_: print("begun", flush=True)))
"""


BACKGROUND = """
import asyncio, sys
from pathlib import Path
from remit_server.sandbox.choose import sandbox_named
from remit_server.sandbox.network.loopback import Loopback
from remit_server.sandbox.visible.environment import command_environment
from remit_server.sandbox.ports import CommandSpec
here, argv = Path(sys.argv[2]), ("/bin/sh", "-c", sys.argv[3])
spec = CommandSpec(argv, here, here, command_environment({}), 3600, background=True, loopback=Loopback())
asyncio.run(sandbox_named(sys.argv[1]).run(spec, lambda *_: print("begun", flush=True)))
"""


def dead_owner() -> str:
    """Returns the identity of a process that has ended."""
    code = "from remit_server.machine.peers import this_process; print(this_process())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="this system has no /proc")
def test_who_is_dead() -> None:
    assert is_dead(dead_owner())
    assert not is_dead(this_process())
    space, pid, started = this_process().split("-")
    assert is_dead(f"{space}-{pid}-{int(started) + 1}")  # its number belongs to another process now
    assert not is_dead(f"{int(space) + 1}-{pid}-{int(started) + 1}")  # cannot be seen from here
    assert not any(map(is_dead, ("", "x", "0-1-1", "1-", f"{space}-x-1")))


@pytest.mark.skipif(sys.platform != "linux", reason="this system has no /proc")
def test_layers_of_dead_servers_are_removed_and_others_stay(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "kept").write_text("kept")
    mine = Layer.make(tmp_path, workspace, prefix_of("layer"))
    left = Layer.make(tmp_path, workspace, f"remit-layer-{dead_owner()}-")
    (left.upper / "closed").mkdir()
    (left.upper / "closed/deeper").mkdir(mode=0o000)
    (left.upper / "closed").chmod(0o000)
    somebodys = tmp_path / "somebodys"
    somebodys.mkdir(mode=0o755)
    (left.upper / "away").symlink_to(somebodys)
    link = tmp_path / left.folder.name.replace(left.folder.name[-8:], "linklink")
    link.symlink_to(workspace)
    assert clear_leftovers(tmp_path) == [left.folder]
    assert clear_leftovers(tmp_path) == []
    assert mine.folder.is_dir()
    assert somebodys.stat().st_mode & 0o777 == 0o755
    assert (workspace / "kept").read_text() == "kept"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="this system has no /proc")
def test_folders_of_every_kind_go_with_their_server(tmp_path: Path) -> None:
    dead = [tmp_path / f"remit-{kind}-{dead_owner()}-x_1y2z3a" for kind in ("trial", "etc", "containers")]
    mine = Path(tempfile.mkdtemp(prefix=prefix_of("etc"), dir=tmp_path))
    others = [tmp_path / name for name in ("remit-notes", f"remit-{dead_owner()}", f"my-remit-etc-{dead_owner()}-x")]
    for folder in (*dead, *others):
        (folder / "below").mkdir(parents=True)
    assert sorted(clear_leftovers(tmp_path)) == sorted(dead)
    assert sorted(tmp_path.iterdir()) == sorted((mine, *others))


def test_removing_twice_is_the_same_as_once(tmp_path: Path) -> None:
    layer = Layer.make(tmp_path, tmp_path, prefix_of("layer"))
    layer.remove()
    layer.remove()
    assert not layer.folder.exists()


@pytest.mark.slow
@pytest.mark.usefixtures("another_process")
def test_a_killed_server_leaves_nothing_after_the_next_start(runtime: RuntimeName, workspace: Path) -> None:
    seconds = f"33{os.getpid()}"  # the same test may run at the same time
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, runtime, str(workspace), seconds],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout
    assert server.stdout.readline() == "begun\n"
    server.stdout.close()
    server.kill()
    server.wait()
    forget_findings()
    match runtime:
        case "podman" | "docker":
            assert asyncio.run(Containers(runtime).collect()) != []
            assert asyncio.run(Containers(runtime).collect()) == []
            assert Containers(runtime).isolation().available
        case _:
            assert sandbox_named(runtime).isolation().available
    areas = (*AREAS, *find_parents())
    assert [folder for area in areas for folder in area.glob(f"remit-*-*-{server.pid}-*")] == []
    listed = subprocess.run(["ps", "-axo", "args="], capture_output=True, text=True, check=True).stdout
    assert f"sleep {seconds}" not in [line.strip() for line in listed.splitlines()]


@pytest.mark.slow
def test_BG_05_what_goes_on_in_the_background_dies_with_a_server_that_is_killed(
    runtime: RuntimeName, workspace: Path
) -> None:
    """No other server starts, yet the processes are gone, however busy they are and whatever they do to their
    parent."""
    if not sandbox_named(runtime).isolation().background:
        pytest.skip(f"`{runtime}` keeps none in the background")
    mark = f"34{os.getpid()}"
    busy = f"kill -STOP 1; kill -9 1; (trap '' TERM HUP INT; sleep {mark}) & while :; do echo {mark} > /dev/null; done"
    server = subprocess.Popen(
        [sys.executable, "-c", BACKGROUND, runtime, str(workspace), f"echo begun; {busy}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout
    assert server.stdout.readline() == "begun\n"
    server.kill()
    server.wait()
    server.stdout.close()
    deadline = time.monotonic() + 30
    while mark in subprocess.run(["ps", "-axo", "args="], capture_output=True, text=True, check=True).stdout:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def group_tree(tmp_path: Path) -> Path:
    (tmp_path / "cgroup.controllers").write_text("memory pids")
    (tmp_path / "slice/own").mkdir(parents=True)
    return tmp_path


def test_a_control_group_is_made_beside_the_servers_own(tmp_path: Path) -> None:
    mounted = group_tree(tmp_path)
    (tmp_path / "ours").write_text("4:memory:/old\n0::/slice/own\n")
    assert find_parents(tmp_path / "ours", mounted) == (mounted / "slice", mounted / "slice/own")
    (tmp_path / "ours").write_text("4:memory:/old\n")
    assert find_parents(tmp_path / "ours", mounted) == ()


def test_a_folder_that_takes_no_limits_is_no_control_group(tmp_path: Path) -> None:
    assert ControlGroup.make(TEMPLATES["code-executor"], (tmp_path, tmp_path / "none")) is None
    assert list(tmp_path.iterdir()) == []


async def test_a_real_control_group_bounds_a_command(workspace: Path) -> None:
    group = ControlGroup.make(TEMPLATES["code-executor"])
    if group is None:
        pytest.skip("this user can make no control group (cgroups v2 with memory and pids)")
    try:
        script = 'cat /proc/self/cgroup; cat "$0"/cpu.max 2>/dev/null || echo none; cat "$0"/pids.max'
        argv = (*group.joining(), "/bin/sh", "-c", script, str(group.folder))
        process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
        said, _ = await process.communicate()
    finally:
        group.remove()
    assert group.folder.name.encode() in said
    assert said.splitlines()[-2] in {b"100000 100000", b"none"}
    assert said.splitlines()[-1] == b"400"
    assert not group.folder.exists()


@pytest.mark.slow
async def test_nothing_is_left_of_a_command_that_ended(sandbox: Sandbox, runtime: RuntimeName, workspace: Path) -> None:
    spec = CommandSpec(("/bin/sh", "-c", "exit 3"), workspace, workspace, command_environment({}), 60, writes=True)
    await sandbox.run(spec)
    assert containers_of_ours(runtime) == ""


@pytest.mark.slow
async def test_nothing_is_left_of_a_command_that_was_cancelled_at_any_moment(
    sandbox: Sandbox, runtime: RuntimeName, workspace: Path
) -> None:
    """Docker's daemon goes on with the request of a client that was killed."""
    spec = CommandSpec(("/bin/sleep", "4444"), workspace, workspace, command_environment({}), 60, writes=True)
    before = attended(runtime)
    for milliseconds in (0, 1, 2, 3, *range(0, 240, 10), *range(250, 700, 50)):
        running = asyncio.create_task(sandbox.run(spec))
        await asyncio.sleep(milliseconds / 1000)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    await asyncio.sleep(0.5)  # the daemon may still be doing something
    assert containers_of_ours(runtime) == ""
    assert attended(runtime) <= before
    assert [layer for area in AREAS for layer in area.glob(f"{prefix_of('layer')}*")] == []
    assert [group for parent in find_parents() for group in parent.glob("remit-*")] == []
    listed = subprocess.run(["ps", "-axo", "args="], capture_output=True, text=True, check=True).stdout
    assert "sleep 4444" not in listed


async def test_a_cancelled_command_leaves_no_layer_that_was_still_being_filled(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = sandbox_named("bubblewrap")
    spec = CommandSpec(("/bin/true",), workspace, workspace, command_environment({}), 60, writes=True)
    filling, filled, known = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()

    def told_slowly(folders: Iterable[str]) -> Iterator[str]:
        known.call_soon_threadsafe(filling.set)
        time.sleep(0.3)
        yield from folders

    def fill_slowly(layer: Layer, folders: Iterable[str]) -> dict[str, str]:
        try:
            return make_stand_ins(layer, told_slowly(folders))
        finally:
            known.call_soon_threadsafe(filled.set)

    if not (isolation := await asyncio.to_thread(sandbox.isolation)).available:
        pytest.skip(f"bubblewrap does not isolate on this machine: {isolation.why}")
    if foreign_folders(workspace, visible_outside(spec)) is None:
        pytest.skip("another file system lies inside a folder of the system, so no layer lies over it")
    assert (await sandbox.run(spec)).exit_code == 0
    monkeypatch.setattr(bubblewrap, "make_stand_ins", fill_slowly)
    running = asyncio.create_task(sandbox.run(spec))
    await asyncio.wait({running, asyncio.create_task(filling.wait())}, return_when=asyncio.FIRST_COMPLETED)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await filled.wait()
    assert [layer for area in AREAS for layer in area.glob(f"{prefix_of('layer')}*")] == []


def attended(runtime: RuntimeName) -> set[str]:
    """Returns the names of our containers that a process of Podman's supervises, but that Podman does not know."""
    if runtime != "podman":
        return set()
    argv = ["podman", "ps", "--all", "--format", "{{.Names}}"]
    attending = subprocess.run(["ps", "-axo", "args="], capture_output=True, text=True, check=True).stdout
    known = set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())
    named = re.findall(r"^\S*conmon .* -n (remit-[0-9a-f]+) ", attending, re.MULTILINE)
    return set(named) - known


def containers_of(runtime: RuntimeName, pid: int) -> list[str]:
    """Returns the containers of the server that had this pid."""
    if runtime not in {"podman", "docker"}:
        return []
    argv = containers.list_argv("podman" if runtime == "podman" else "docker")
    listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name, owner in map(str.split, listed) if owner.split("-")[1] == str(pid)]


def containers_of_ours(runtime: RuntimeName) -> str:
    if runtime not in {"podman", "docker"}:
        return ""
    mine = f"label=remit.server={this_process()}"
    argv = [runtime, "ps", "--all", "--filter", mine, "--format", "{{.Names}} {{.Status}}"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


REMIT = Path(sys.executable).with_name("remit")


def busy(runtime: RuntimeName, tmp_path: Path, workspace: Path) -> subprocess.Popen[str]:
    """Starts a command line whose command waits in this sandbox; its temporary files are below `tmp_path`."""
    homes = {f"REMIT_{name.upper()}_DIR": str(tmp_path / name) for name in ("config", "state", "data")}
    for name in ("config", "tmp"):
        (tmp_path / name).mkdir(exist_ok=True)
    everything = "version: 1\ncapabilities:\n  - { name: all, match: {}, action: allow }\n"
    (tmp_path / "config/policy.yaml").write_text(everything)
    arguments = ["run-tool", "run_command", '{"command": "echo begun; sleep 3333"}', "--intent", "EXECUTE", "--json"]
    environment = {**os.environ, **homes, "TMPDIR": str(tmp_path / "tmp"), "REMIT_SANDBOX": runtime}
    return subprocess.Popen(
        [REMIT, *arguments],
        cwd=workspace,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def wait_until_begun(process: subprocess.Popen[str]) -> None:
    assert process.stdout
    assert any('"tool_output"' in line for line in process.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_command_line_that_is_ended_leaves_no_folder(
    runtime: RuntimeName, number: signal.Signals, tmp_path: Path, workspace: Path
) -> None:
    """A closed terminal and SIGTERM used to leave the layer behind."""
    with busy(runtime, tmp_path, workspace) as process:
        wait_until_begun(process)
        assert list((tmp_path / "tmp").glob("remit-*"))
        process.send_signal(number)
        assert process.wait(60) != 0
    assert list((tmp_path / "tmp").glob("remit-*")) == []
    assert containers_of(runtime, process.pid) == []


@pytest.mark.slow
def test_what_a_killed_one_left_is_gone_after_the_next_start(
    runtime: RuntimeName, tmp_path: Path, workspace: Path
) -> None:
    """The next start may find any sandbox; here it finds none, and used to remove nothing."""
    with busy(runtime, tmp_path, workspace) as process:
        wait_until_begun(process)
        process.kill()
    question = tmp_path / "state" / next((tmp_path / "state").iterdir()).name / f"remit-question-{dead_owner()}-x"
    question.mkdir()
    assert list((tmp_path / "tmp").glob("remit-*"))
    empty = tmp_path / "empty"
    empty.mkdir()
    homes = {f"REMIT_{name.upper()}_DIR": str(tmp_path / name) for name in ("config", "state", "data")}
    environment = {**os.environ, **homes, "TMPDIR": str(tmp_path / "tmp"), "PATH": str(empty)}
    read = ["run-tool", "list_files", '{"pattern": "*"}', "--intent", "ANALYZE"]
    subprocess.run([REMIT, *read], cwd=workspace, env=environment, stdout=subprocess.DEVNULL, check=True)
    assert list((tmp_path / "tmp").glob("remit-*")) == []
    assert not question.exists()
    if runtime in {"podman", "docker"}:  # the one without a PATH could not know of it
        container = containers_of(runtime, process.pid)
        assert len(container) == 1
        assert asyncio.run(Containers(runtime).collect()) == container
