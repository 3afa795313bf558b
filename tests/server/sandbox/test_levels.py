"""A command's writes and connections, with each adapter that has layers and a proxy: the results are the same (BOX-05,
BOX-03)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from echo_service import echo

from remit_server.errors import ToolError
from remit_server.sandbox.bubblewrap.layer import LayerChange
from remit_server.sandbox.limits.limits import TEMPLATES, Template
from remit_server.sandbox.network.doors import PORT
from remit_server.sandbox.network.proxy import Attempt
from remit_server.sandbox.policy_profile import runtime_folders
from remit_server.sandbox.ports import CommandSpec, Sandbox
from remit_server.sandbox.server_identity import prefix_of
from remit_server.sandbox.visible.environment import command_environment

pytestmark = pytest.mark.slow

PATIENT_S = 60.0
LINK = "it is a link, a pipe or a device"


def of(workspace: Path, script: str, **more: object) -> CommandSpec:
    given = {"cwd": workspace, "workspace": workspace, "environment": command_environment({}), "timeout_s": PATIENT_S}
    return CommandSpec(("/bin/sh", "-c", script), **{**given, **more})  # type: ignore[arg-type]


def python(workspace: Path, program: str, *arguments: str, **more: object) -> CommandSpec:
    interpreter = runtime_folders()
    argv = (str(interpreter[0]), "-I", "-S", "-B", "-c", program, *arguments)
    return replace(of(workspace, "", **more), argv=argv, readable=interpreter)


def put(folder: Path, **files: str) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True, parents=True)
        path.parent.chmod(0o755)
        path.write_text(content)
        path.chmod(0o644)


@pytest.fixture
def layered(sandbox: Sandbox) -> Sandbox:
    if not sandbox.isolation().layers:
        pytest.skip(f"it has no layers: {sandbox.isolation().read_only}")
    return sandbox


@pytest.fixture
def online(sandbox: Sandbox) -> Sandbox:
    if not sandbox.isolation().hosts:
        pytest.skip(f"it has no proxy: {sandbox.isolation().offline}")
    return sandbox


def changed(*left: LayerChange) -> dict[str, object]:
    return {each.path: each.odd or each.folder or each.data for each in left}


async def test_BOX_05_every_kind_of_change_is_read_as_it_is(layered: Sandbox, workspace: Path) -> None:
    put(
        workspace, kept="kept", changed="old", gone="gone", script="x", folder__a="a", folder__deep__b="b", moved__c="c"
    )
    put(workspace, anew__old="old", file="file", dir__d="d")
    script = (
        "echo new > changed; echo made > made; rm gone; chmod 755 script; rm -r folder; mv moved renamed;"
        "rm -r anew; mkdir anew; echo n > anew/new; mkdir empty; ln -s /etc/passwd link; mkfifo pipe;"
        "rm file; mkdir file; echo i > file/in; rm -r dir; echo f > dir; ln kept hard; touch kept;"
        "echo back > put; rm put; mkdir -p deep/er/est; mknod dev c 1 3; echo s > set; chmod 4755 set; true"
    )
    output = await layered.run(of(workspace, script, writes=True))
    assert output.exit_code == 0
    assert changed(*output.left) == {
        "changed": b"new\n",
        "made": b"made\n",
        "gone": None,
        "script": b"x",
        "set": b"s\n",
        "hard": b"kept",
        "folder": "removed",
        "folder/a": None,
        "folder/deep": "removed",
        "folder/deep/b": None,
        "moved": "removed",
        "moved/c": None,
        "renamed/c": b"c",
        "anew/old": None,
        "anew/new": b"n\n",
        "empty": "made",
        "deep/er/est": "made",
        "link": LINK,
        "pipe": LINK,
        "file": None,
        "file/in": b"i\n",
        "dir": b"f\n",
        "dir/d": None,
    }
    assert {each.path for each in output.left if each.executable} == {"script", "set"}
    assert sorted(os.listdir(workspace)) == [  # noqa: PTH208  names
        *("anew", "changed", "dir", "file", "folder", "gone", "kept", "moved", "script")
    ]
    assert (workspace / "script").stat().st_mode & 0o777 == 0o644


async def test_BOX_05_what_it_wrote_is_seen_by_itself_and_by_nobody_after_it(layered: Sandbox, workspace: Path) -> None:
    put(workspace, a="a\n")
    script = "cat a; echo b > a; cat a"
    first = await layered.run(of(workspace, script, writes=True))
    second = await layered.run(of(workspace, script, writes=True))
    assert first.stdout == second.stdout == b"a\nb\n"
    assert first.left == second.left == (LayerChange("a", b"b\n"),)


async def test_BOX_05_odd_names_and_other_places_have_a_layer_too(layered: Sandbox, tmp_path: Path) -> None:
    odd = (tmp_path / "a,b \"d\" 'e' $f").resolve()
    (odd / "sub").mkdir(parents=True)
    for folder in (odd, odd / "sub"):
        folder.chmod(0o755)
    output = await layered.run(of(odd, "echo x > 'n,=: \"m'; echo y > ../up", cwd=odd / "sub", writes=True))
    assert changed(*output.left) == {'sub/n,=: "m': b"x\n", "up": b"y\n"}


async def test_BOX_05_hidden_files_stay_hidden_where_a_command_may_write(layered: Sandbox, workspace: Path) -> None:
    put(workspace, secret="secret", vault__key="key", seen="seen")
    script = (
        "cat secret; ls vault; cat vault/key; echo x > vault/new; echo x > secret; rm -r vault; rm secret;"
        "mv vault other; cat other/key; ln vault/key got; cat seen; true"
    )
    hidden = (workspace / "secret", workspace / "vault")
    output = await layered.run(of(workspace, script, writes=True, hidden=hidden))
    assert output.stdout == b"seen"
    assert output.left == ()


async def test_BG_02_what_is_written_to_scratch_folders_is_thrown_away(layered: Sandbox, workspace: Path) -> None:
    put(workspace, build__old="old\n", src__a="a\n")
    script = "cat build/old; echo x > build/new; rm build/old; ls build; echo x > src/a; echo x > b"
    spec = of(workspace, script)
    output = await layered.run(replace(spec, scratch=(workspace / "build",)))
    assert output.stdout == b"old\nnew\n"
    assert output.left == ()
    assert sorted(each.name for each in (workspace / "build").iterdir()) == ["old"]
    assert (workspace / "src/a").read_text() == "a\n"
    assert not (workspace / "b").exists()


async def test_BOX_05_another_commands_layer_is_out_of_reach(layered: Sandbox, workspace: Path) -> None:
    """THR-sandbox-layer: a command sees neither the folder of layers nor another command's mount."""
    seen = f"{tempfile.gettempdir()}/*/upper /dev/shm/*/upper /tmp/remit-* /proc/*/root/tmp/remit-*"
    script = f"echo mine > mine; sleep 1; ls -d {seen}; cat mine"
    one, two = await asyncio.gather(*(layered.run(of(workspace, script.replace("mine", n), writes=True)) for n in "ab"))
    for output, name in ((one, b"a"), (two, b"b")):
        assert output.stdout == name + b"\n"
        assert output.left == (LayerChange(name.decode(), name + b"\n"),)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="as root on Linux")
async def test_BOX_05_another_file_system_in_the_workspace_is_seen_and_not_written_to(
    layered: Sandbox, workspace: Path
) -> None:
    inner = workspace / "inner"
    inner.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(inner)], check=True)
    try:
        put(inner, seen="seen\n")
        if layered.name == "landlock":  # its user namespace may not show what is below the mount: docs/sandbox.md
            with pytest.raises(ToolError):
                await layered.run(of(workspace, "cat inner/seen", writes=True))
            return
        output = await layered.run(of(workspace, "cat inner/seen; echo x > inner/new; echo x > made", writes=True))
        assert (output.stdout, changed(*output.left)) == (b"seen\n", {"made": b"x\n"})
        assert os.listdir(inner) == ["seen"]  # noqa: PTH208  names
    finally:
        subprocess.run(["umount", str(inner)], check=True)


async def test_BOX_05_what_a_command_closed_is_read_all_the_same(layered: Sandbox, workspace: Path) -> None:
    put(workspace, folder__a="a", b="b")
    script = "echo x > b; mkdir c; echo x > c/d; echo x > folder/e; chmod 000 b c folder ."
    output = await layered.run(of(workspace, script, writes=True))
    assert changed(*output.left) == {"b": b"x\n", "c/d": b"x\n", "folder/e": b"x\n"}
    assert [found for area in areas_of_layers() for found in area.glob(f"{prefix_of('layer')}*")] == []


BUSY = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    n = 0
    while True:
        n += 1
        with open("late", "w") as file:
            file.write(str(n))
time.sleep(0.5)
print("end")
"""


async def test_BOX_05_nothing_writes_any_more_when_the_layer_is_read(layered: Sandbox, workspace: Path) -> None:
    """A process outlives its command, and writes as fast as it can."""
    output = await layered.run(python(workspace, BUSY, writes=True))
    assert (output.exit_code, output.stdout) == (0, b"end\n")
    assert {each.path for each in output.left} <= {"late"}
    assert [found for area in areas_of_layers() for found in area.glob(f"{prefix_of('layer')}*")] == []


def areas_of_layers() -> tuple[Path, ...]:
    return Path(tempfile.gettempdir()), Path("/dev/shm")


MANY = """
import os
for folder in range(60):
    os.mkdir(str(folder))
    for name in range(100):
        open(f"{folder}/{name}", "w").close()
print("ALL")
import time; time.sleep(30)
"""
LARGE = """
block = b"x" * (1 << 20)
for name in "abc":
    with open(name, "wb") as file:
        for _ in range(200):
            file.write(block)
print("ALL")
import time; time.sleep(30)
"""


FEWER_FILES = 2_000
"""A lower limit of files: to make 50,000 takes minutes in some sandboxes."""


@pytest.mark.parametrize(("program", "limit"), [(MANY, f"{FEWER_FILES} files"), (LARGE, "512 MiB")])
async def test_BOX_04_a_layer_that_grows_too_large_ends_the_command(
    layered: Sandbox, workspace: Path, program: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = replace(TEMPLATES["code-executor"].limits, layer_files=FEWER_FILES)
    monkeypatch.setattr(Template, "limits", most)
    output = await layered.run(python(workspace, program, writes=True, timeout_s=280))
    assert output.exit_code is None
    assert limit in (output.stopped or "")


SPARSE = """
import os
os.truncate(os.open("huge", os.O_RDWR | os.O_CREAT), 200 << 20)
for path, name in ((".", "user.overlay.opaque"), ("folder", "user.overlay.opaque"), ("folder", "user.overlay.redirect"),
                   ("folder", "trusted.overlay.opaque"), ("folder/a", "user.overlay.metacopy")):
    try:
        os.setxattr(path, name, b"y")
    except OSError:
        pass
try:
    os.mknod("whiteout", 0o020000, 0)
    print("made")
except OSError:
    pass
"""


async def test_BOX_05_no_mark_of_an_overlay_can_be_forged(layered: Sandbox, workspace: Path) -> None:
    """An opaque folder would mean that all its files were removed, and a whiteout that one was; a sparse file has no
    bytes."""
    put(workspace, folder__a="a", b="b")
    output = await layered.run(python(workspace, SPARSE, writes=True))
    assert output.stdout == b""
    assert {each.path for each in output.left} == {"huge"}
    (huge,) = output.left
    assert huge.odd


CONNECT = """
import socket, sys
for target in sys.argv[1:]:
    host, port = target.rsplit(":", 1)
    try:
        one = socket.create_connection((host, int(port)), timeout=5)
        one.sendall(b"hello\\n")
        one.shutdown(socket.SHUT_WR)
        print(b"".join(iter(lambda: one.recv(99), b"")).decode(), end="")
    except OSError as error:
        print("refused")
try:
    socket.socket(socket.AF_UNIX)
    print("unix")
except OSError:
    pass
"""


async def test_BOX_03_a_listed_port_of_this_machine_is_reached_and_no_other(online: Sandbox, workspace: Path) -> None:
    attempts: list[Attempt] = []
    with echo() as (port, heard), echo() as (other, unheard):
        targets = (f"localhost:{port}", f"127.0.0.1:{other}")
        spec = python(workspace, CONNECT, *targets, local=(port,), attempted=attempts.append)
        output = await online.run(spec)
        assert (output.exit_code, output.stdout) == (0, b"HELLO\nrefused\n"), output.stderr
        assert (heard, unheard) == ([b"hello\n"], [])
    assert attempts == [Attempt(f"localhost:{port}", allowed=True)]
    (attempt,) = attempts
    assert attempt.by


ASK = f"""
import socket, sys
for host in sys.argv[1:]:
    one = socket.create_connection(("127.0.0.1", {PORT}), timeout=5)
    one.sendall(f"CONNECT {{host}} HTTP/1.1\\r\\n\\r\\n".encode())
    print(one.recv(12).decode())
"""


async def test_BOX_03_the_proxy_leads_to_listed_hosts_alone(online: Sandbox, workspace: Path) -> None:
    """THR-sandbox-network: a host that is not listed, a listed one at another port, and a socket of the system."""
    attempts: list[Attempt] = []
    hosts = ("evil.example:443", "listed.invalid:80", "/run/docker.sock", "127.0.0.1:22", "listed.invalid:443")
    output = await online.run(
        python(workspace, ASK, *hosts, network=("listed.invalid",), attempted=attempts.append, writes=True)
    )
    assert output.stdout.decode().splitlines() == ["HTTP/1.1 403"] * 5, output.stderr
    assert [each.allowed for each in attempts] == [False] * 5


async def test_BOX_09_who_is_beside_the_sandbox_is_not_served(online: Sandbox, workspace: Path) -> None:
    """Two commands run at once; each has its own proxy, at the same port of its own loopback."""
    attempts: dict[str, list[Attempt]] = {"a.invalid": [], "b.invalid": []}
    specs = [
        python(workspace, ASK, "a.invalid:443", "b.invalid:443", network=(host,), attempted=noted.append)
        for host, noted in attempts.items()
    ]
    await asyncio.gather(*map(online.run, specs))
    whys = {host: [(each.target, each.why) for each in noted] for host, noted in attempts.items()}
    assert [target for target, why in whys["a.invalid"] if why == "it is not listed"] == ["b.invalid"]
    assert [target for target, why in whys["b.invalid"] if why == "it is not listed"] == ["a.invalid"]


@pytest.mark.parametrize("code", [0, 3, 125, 126, 127])
async def test_BOX_03_a_command_with_hosts_ends_as_one_without(online: Sandbox, workspace: Path, code: int) -> None:
    script = f"grep -h SigIgn /proc/self/status; ls /run/remit/door; id -u; exit {code}"
    without = await online.run(of(workspace, script))
    output = await online.run(of(workspace, script, network=("example.org",)))
    assert (output.exit_code, output.stdout) == (without.exit_code, without.stdout)


async def test_BOX_03_a_program_that_is_not_there_is_127_with_hosts_too(online: Sandbox, workspace: Path) -> None:
    spec = replace(of(workspace, "", network=("example.org",)), argv=("/no/such/program",))
    output = await online.run(spec)
    assert output.exit_code == 127
    assert b"/no/such/program" in output.stderr


async def test_BOX_03_nothing_is_left_of_its_way(online: Sandbox, workspace: Path) -> None:
    spec = of(workspace, "sleep 60", network=("example.org",), writes=online.isolation().layers)
    for seconds in (0.0, 0.1, 0.4, 1.0):
        running = asyncio.create_task(online.run(spec))
        await asyncio.sleep(seconds)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    found = [
        each for area in areas_of_layers() for kind in ("door", "layer") for each in area.glob(f"{prefix_of(kind)}*")
    ]
    assert found == []


@pytest.mark.skipif(sys.platform != "linux", reason="as root on Linux")
async def test_BOX_05_the_server_leaves_no_mount(layered: Sandbox, workspace: Path) -> None:
    await layered.run(of(workspace, "echo x > x", writes=True))
    mounted = await asyncio.to_thread(Path("/proc/self/mountinfo").read_text)
    assert prefix_of("layer") not in mounted
