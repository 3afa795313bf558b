"""What every adapter promises, tested with each one that this machine has (BOX-02)."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from home_bench import PROGRAMS, SECRETS, files_below, home_with_toolchains

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.extensions.process import RuleProcess
from remit_server.sandbox.choose import rule_sandboxes
from remit_server.sandbox.ports import CommandOutput, CommandSpec, RuntimeName, Sandbox, StreamName
from remit_server.sandbox.probe import broken_of, probe
from remit_server.sandbox.visible.environment import command_environment
from remit_server.scheduling.runner import Freezer

pytestmark = pytest.mark.slow

PATIENT_S = 60.0
ROOT = Path(__file__).parents[3]


def of(workspace: Path, script: str, **more: object) -> CommandSpec:
    given = {"cwd": workspace, "workspace": workspace, "environment": command_environment({}), "timeout_s": PATIENT_S}
    return CommandSpec(("/bin/sh", "-c", script), **{**given, **more})  # type: ignore[arg-type]


async def told(sandbox: Sandbox, workspace: Path, script: str, **more: object) -> str:
    output = await sandbox.run(of(workspace, script, **more))
    return output.stdout.decode()


def running(mark: str) -> list[str]:
    """Returns the processes of this machine whose command line contains the mark."""
    listed = subprocess.run(["ps", "-axo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if mark in line and "ps -axo" not in line]


async def test_BOX_14_every_property_that_the_probe_tries_is_as_the_table_tells(
    sandbox: Sandbox, runtime: RuntimeName
) -> None:
    found = await asyncio.to_thread(lambda: asyncio.run(probe(sandbox, Path.home(), os.getpid())))
    assert broken_of(found, sandbox.isolation()) == ()
    tried = {each.name for each in found}
    assert {"network", "workspace", "system", "home", "user", "environment", "limits", "layer", "sockets"} <= tried
    assert {"capabilities", "seccomp", "processes", "itself"} <= tried or sys.platform == "darwin"
    table = levels_told()
    isolation = sandbox.isolation()
    assert {row: cells[runtime] for row, cells in table.items() if row in tried} == {
        each.name: "yes" if each.holds else "no" for each in found
    }
    assert table["changes"][runtime] == ("yes" if isolation.layers else "no")
    assert table["hosts"][runtime] == ("yes" if isolation.hosts else "no")
    assert table["background"][runtime] == ("yes" if isolation.background else "no")
    assert table["plugins"][runtime] == ("yes" if isolation.channel else "no")
    assert table["rules"][runtime] == ("yes" if await asyncio.to_thread(has_rules, runtime) else "no")


def has_rules(runtime: RuntimeName) -> bool:
    """Returns whether the process of a person's own rules can be started with this runtime."""
    sandboxes = [each for each in rule_sandboxes(environment={"REMIT_SANDBOX": runtime}) if each.name == runtime]
    for each in sandboxes:
        RuleProcess.start(each).close()
    return sandboxes != []


def levels_told() -> dict[str, dict[str, str]]:
    """Returns the table of docs/sandbox.md, by property and by sandbox."""
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|\n").split("|")]
        for line in (ROOT / "docs/sandbox.md").read_text().splitlines()
        if line.startswith("| `")
    ]
    head = next(row for row in rows if "bubblewrap" in row)
    return {row[0]: dict(zip(head[2:], row[2:], strict=True)) for row in rows if row is not head}


async def test_BOX_14_hosts_are_refused_where_nothing_leads_to_them(sandbox: Sandbox, workspace: Path) -> None:
    if sandbox.isolation().hosts:
        pytest.skip("this one has the proxy")
    with pytest.raises(ToolError) as refused:
        await sandbox.run(of(workspace, "true", network=("example.org",)))
    assert refused.value.code == ErrorCode.SANDBOX_UNAVAILABLE


@pytest.fixture(params=["/tmp", "/var/tmp", "/dev/shm"])
def lying_in(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A workspace in a folder that has a file system of its own in Linux or in the sandbox."""
    area: str = request.param
    if not os.access(area, os.W_OK):
        pytest.skip(f"this user may not write to {area}")
    with tempfile.TemporaryDirectory(dir=area) as made:
        folder = Path(made).resolve()
        folder.chmod(0o755)
        (folder / "a").write_text("hello\n")
        yield folder


async def test_a_workspace_is_seen_wherever_it_lies(sandbox: Sandbox, lying_in: Path) -> None:
    output = await sandbox.run(of(lying_in, 'pwd; cat a; cd "$TMPDIR" && echo > b && ls b'))
    assert output == CommandOutput(0, f"{lying_in}\nhello\nb\n".encode(), b"")


@pytest.mark.parametrize("code", [0, 1, 3, 125, 126, 127, 255])
async def test_the_exit_code_is_the_commands_own(sandbox: Sandbox, workspace: Path, code: int) -> None:
    output = await sandbox.run(of(workspace, f"echo out; echo err >&2; exit {code}"))
    assert output == CommandOutput(code, b"out\n", b"err\n")


async def test_a_program_that_is_not_there_is_127_and_said(sandbox: Sandbox, workspace: Path) -> None:
    output = await sandbox.run(CommandSpec(("/no/such/program",), workspace, workspace, {}, PATIENT_S))
    assert output.exit_code == 127
    assert b"/no/such/program" in output.stderr


async def test_arguments_and_environment_arrive_as_they_are(sandbox: Sandbox, workspace: Path) -> None:
    odd = ["a b", "", "'\"", "$HOME", "*", "ü\n", "--", "x=y"]
    argv = ("/bin/sh", "-c", 'printf "%s|" "$@"; printf %s "$ODD"', "sh", *odd)
    environment = {"PATH": "/usr/bin:/bin", "ODD": "a b'\"$x\n="}
    output = await sandbox.run(CommandSpec(argv, workspace, workspace, environment, PATIENT_S))
    assert output.stdout.decode() == "|".join(odd) + "|" + environment["ODD"]


async def test_nothing_of_the_servers_environment(
    sandbox: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "servers-secret")
    monkeypatch.setenv("DOCKER_HOST", os.environ.get("DOCKER_HOST", ""))
    seen = await told(sandbox, workspace, "env; cat /proc/*/environ 2>/dev/null; true")
    assert "servers-secret" not in seen
    names = {line.partition("=")[0] for line in (await told(sandbox, workspace, "env")).splitlines()}
    assert names <= {*command_environment({}), "PWD", "OLDPWD", "SHLVL", "_"}


async def test_a_time_out_ends_the_whole_tree(sandbox: Sandbox, workspace: Path) -> None:
    mark = f"31.{uuid.uuid4().int % 10**9}"
    script = f"(setsid sleep {mark} &) ; sleep {mark} & echo begun; sleep {mark}"
    output = await sandbox.run(of(workspace, script, timeout_s=1.5))
    assert (output.exit_code, output.timed_out) == (None, True)
    assert running(mark) == []


async def test_what_a_command_leaves_running_ends_with_it(sandbox: Sandbox, workspace: Path) -> None:
    mark = f"32.{uuid.uuid4().int % 10**9}"
    output = await sandbox.run(of(workspace, f"setsid sleep {mark} >/dev/null 2>&1 & echo begun"))
    assert (output.exit_code, output.stdout) == (0, b"begun\n")
    assert running(mark) == []


async def test_cancelling_ends_the_whole_tree(sandbox: Sandbox, workspace: Path) -> None:
    mark = f"33.{uuid.uuid4().int % 10**9}"
    begun = asyncio.Event()
    task = asyncio.create_task(
        sandbox.run(of(workspace, f"sleep {mark} & echo begun; sleep {mark}"), lambda *_: begun.set())
    )
    await asyncio.wait_for(begun.wait(), PATIENT_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert running(mark) == []


async def test_cancelling_before_it_has_begun_leaves_nothing(sandbox: Sandbox, workspace: Path) -> None:
    mark = f"34.{uuid.uuid4().int % 10**9}"
    for wait in (0.0, 0.02, 0.1):
        task = asyncio.create_task(sandbox.run(of(workspace, f"sleep {mark}")))
        await asyncio.sleep(wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert running(mark) == []


async def test_output_is_bounded_and_endless_output_ends(sandbox: Sandbox, workspace: Path) -> None:
    """THR-sandbox-endless-output."""
    output = await sandbox.run(of(workspace, "seq 1 5000", max_output_bytes=1000))
    assert (output.exit_code, output.truncated) == (0, True)
    assert len(output.stdout) < 1200
    assert output.stdout.startswith(b"1\n")
    assert output.stdout.endswith(b"5000\n")
    endless = await sandbox.run(of(workspace, "yes", max_output_bytes=10_000))
    assert (endless.exit_code, endless.timed_out, endless.truncated) == (None, False, True)
    assert endless.stopped == "more than 640000 bytes of output"


async def test_progress_is_told_as_it_comes(sandbox: Sandbox, workspace: Path) -> None:
    told: list[tuple[StreamName, bytes]] = []
    script = "echo one; sleep 0.3; echo two >&2; sleep 0.3; echo three"
    await sandbox.run(of(workspace, script), lambda stream, chunk: told.append((stream, chunk)))
    assert told == [("stdout", b"one\n"), ("stderr", b"two\n"), ("stdout", b"three\n")]


async def test_no_network_not_even_this_machines(sandbox: Sandbox, workspace: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("0.0.0.0", 0))
        listening.listen()
        port = listening.getsockname()[1]
        script = (
            f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && echo REACHED; getent hosts example.org && echo REACHED"
        )
        seen = await told(sandbox, workspace, f"{script}; echo end")
    assert seen == "end\n"


async def test_a_program_finds_its_own_machine_by_name(sandbox: Sandbox, workspace: Path) -> None:
    script = "python3 -c 'import socket; print(socket.gethostbyname(\"localhost\"))'"
    assert await told(sandbox, workspace, script) == "127.0.0.1\n"


async def test_nothing_is_written_outside_and_nothing_of_it_read(
    sandbox: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "neighbour").write_text("neighbour-secret")
    (workspace / "out").symlink_to(tmp_path)
    script = (
        f"cat {tmp_path}/neighbour out/neighbour /etc/shadow; ls {Path.home()} /var/run/docker.sock /run/podman; "
        f"for f in /usr/made /etc/made /made /proc/sys/kernel/domainname; do echo x > $f && echo WROTE $f; done; "
        f"echo x > out/made; echo x > {tmp_path}/made; true"
    )
    output = await sandbox.run(of(workspace, script))
    assert (output.exit_code, output.stdout) == (0, b"")
    assert not (tmp_path / "made").exists()


async def test_the_workspace_keeps_its_content(sandbox: Sandbox, workspace: Path) -> None:
    (workspace / "kept").write_text("kept")
    output = await sandbox.run(of(workspace, "echo new > made; echo changed > kept; echo end", writes=True))
    assert not (workspace / "made").exists()
    assert (workspace / "kept").read_text() == "kept"
    if sandbox.isolation().layers:
        assert {left.path: left.data for left in output.left} == {"made": b"new\n", "kept": b"changed\n"}
    else:
        assert output.left == ()
        assert any(said in output.stderr for said in (b"ead-only", b"not permitted", b"ermission denied"))


async def test_scratch_is_fresh_each_time(sandbox: Sandbox, workspace: Path) -> None:
    script = 'test ! -e "$TMPDIR/made" && echo x > "$TMPDIR/made" && cat "$TMPDIR/made"'
    assert await told(sandbox, workspace, script) == "x\n"
    assert await told(sandbox, workspace, script) == "x\n"


async def test_hidden_files_and_folders_are_empty(sandbox: Sandbox, runtime: RuntimeName, workspace: Path) -> None:
    (workspace / "a,b").mkdir()
    for name in ("secret", "a,b/inner", "seen", ".npmrc"):
        (workspace / name).write_text(f"content of {name}")
        (workspace / name).chmod(0o644)
    (workspace / "a,b").chmod(0o755)
    script = "cat secret seen .npmrc; ls 'a,b'; cat 'a,b/inner'; true"
    seen = await told(sandbox, workspace, script, hidden=(workspace / "secret", workspace / "a,b"))
    # Landlock grants a folder with everything below it; if it is used alone, names in there can be listed.
    assert seen == "content of seen" + ("inner\n" if runtime == "landlock-alone" else "")


async def test_what_a_tool_names_outside_is_read_and_nothing_beside_it(
    sandbox: Sandbox, workspace: Path, tmp_path: Path
) -> None:
    beside = tmp_path / "beside"
    (beside / "seen").mkdir(parents=True)
    for name in ("seen/file", "one", "other"):
        (beside / name).write_text(f"{name}\n")
    script = f"cd {beside}; cat seen/file one; cat other; ls; echo x > one; echo x > seen/new; rm one; true"
    seen = await told(sandbox, workspace, script, readable=(beside / "seen", beside / "one"))
    assert seen.splitlines()[:2] == ["seen/file", "one"]
    assert "other" not in seen
    assert (beside / "one").read_text() == "one\n"
    assert not (beside / "seen" / "new").exists()


async def test_toolchains_are_read_and_nothing_else_of_the_home(
    sandbox: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = workspace.parent / "my, home"
    path = home_with_toolchains(home)
    monkeypatch.setenv("HOME", str(home))
    environment = command_environment({"HOME": str(home), "PATH": f"{path}:/usr/bin:/bin"})
    secrets = " ".join(shlex.quote(str(home / name)) for name in SECRETS)
    places = " ".join(shlex.quote(str((home / name).parent)) for name in PROGRAMS)
    script = (
        f"tool; rustup; node-tool; cat {secrets}; for p in {places}; do touch $p/new && echo WROTE; done; "
        f"cd {shlex.quote(str(home))} && ls -A; ls -A .cargo .ssh; true"
    )
    script = script.replace("$p", '"$p"')
    output = await sandbox.run(of(workspace, script, environment=environment))
    said = output.stdout.decode().splitlines()
    assert said[:3] == [f"ran {name}" for name in PROGRAMS]
    # A runtime that makes the folders on the way to a mount itself shows their names, but no others.
    assert {*said[3:]} <= {"", ".cargo:", ".cargo", ".pyenv", ".nvm", ".rustup", "bin"}
    assert not [path for path in files_below(home) if path.name == "new"]


async def test_odd_names_of_a_workspace(sandbox: Sandbox, tmp_path: Path) -> None:
    odd = (tmp_path / "a,b:c \"d\" 'e' $f").resolve()
    (odd / "sub folder").mkdir(parents=True)
    (odd / "file").write_text("it")
    for folder in (odd, odd / "sub folder"):
        folder.chmod(0o755)
    output = await sandbox.run(of(odd, "pwd; cat ../file", cwd=odd / "sub folder"))
    assert output.stdout.decode() == f"{odd}/sub folder\nit"


@pytest.mark.slow
async def test_memory_and_a_fork_bomb_end_and_the_next_command_works(
    sandbox: Sandbox, runtime: RuntimeName, workspace: Path
) -> None:
    """THR-sandbox-fork-bomb."""
    if runtime == "seatbelt":
        pytest.skip("macOS bounds no command's memory")
    hog = "kept = [bytearray(b'x') * (64 << 20) for _ in range(64)]; print('ALL')"
    output = await sandbox.run(CommandSpec(("python3", "-c", hog), workspace, workspace, command_environment({}), 60))
    assert output.exit_code != 0
    assert b"ALL" not in output.stdout
    bomb = await sandbox.run(of(workspace, "b() { b | b & b; }; b", timeout_s=3.0))
    assert bomb.exit_code != 0
    assert await told(sandbox, workspace, "echo works") == "works\n"


ESCAPES = """
import ctypes, os, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
outside, server, descriptor, abstract = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
scratch = os.environ["TMPDIR"]
def opens(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags))
def by_link():
    os.symlink(outside, scratch + "/link")
    opens(scratch + "/link")
def hard_link():
    os.link(outside, scratch + "/hard")
def renamed():
    os.rename(outside, scratch + "/renamed")
def moved_in():
    open(scratch + "/mine", "w").close()
    os.rename(scratch + "/mine", outside + ".moved")  # the folder may be one of the sandbox's own
    raise OSError
def changed_mode():
    os.chmod(outside, 0o777)
def changed_times():
    os.utime(outside, (1, 1))
def inherited():
    os.fstat(descriptor)
    os.read(descriptor, 1)
def by_root_of_another():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if os.path.exists(f"/proc/{pid}/root{outside}"):
            return
    raise OSError
def by_descriptor_of_another():
    opens(f"/proc/{server}/fd/{descriptor}")
def memory_of_another():
    for pid in {*filter(str.isdigit, os.listdir("/proc"))} - {"1", str(os.getpid())}:
        try:
            return opens(f"/proc/{pid}/mem")
        except OSError:
            pass
    raise OSError
def call(number, *arguments):
    if libc.syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")
def traced():
    call({"x86_64": 101, "aarch64": 117}[os.uname().machine], 16, os.getppid(), 0, 0)
def io_uring():
    call(425, 4, ctypes.create_string_buffer(120))
def memory_file():
    os.memfd_create("program")
def namespaces():
    os.unshare(os.CLONE_NEWUSER) if hasattr(os, "unshare") else call(272, 0x10000000)
def signalled():
    os.kill(server, 0)
def descriptor_taken():
    call(438, os.pidfd_open(os.getppid()), 0, 0)
def abstract_socket():
    socket.socket(socket.AF_UNIX).connect("\\0" + abstract)
def datagram_pair():
    first, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    first.sendto(b"x", "\\0" + abstract + "-datagrams")
def mounted():
    if libc.mount(b"tmpfs", scratch.encode(), b"tmpfs", 0, None) < 0:
        raise OSError
def rooted():
    os.setuid(0)
def handle():
    call(304, -100, ctypes.create_string_buffer(128), 0)
def limits_raised():
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
def raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
def priority_of_another():
    os.setpriority(os.PRIO_PROCESS, server, 19)
def limits_of_another():
    import resource
    resource.prlimit(server, resource.RLIMIT_CORE, (0, 0))
def memory_by_number():
    if libc.shmget(0x52454D49, 4096, 0o1600) < 0 and libc.shmat(0, None, 0) == -1:
        raise OSError
def packet_socket():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
def set_user_id():
    open(scratch + "/sh", "wb").write(open("/bin/sh", "rb").read())
    os.chmod(scratch + "/sh", 0o4755)
    if "Uid:\t0" in os.popen(scratch + "/sh -p -c 'cat /proc/self/status'").read():
        return
    raise OSError
for name, attempt in list(globals().items()):
    if callable(attempt) and getattr(attempt, "__module__", "") == "__main__" and name not in ("opens", "call"):
        try:
            attempt()
        except Exception:
            continue
        print(name)
print("end")
"""


async def test_BOX_12_no_way_that_is_known_leads_out(sandbox: Sandbox, workspace: Path, tmp_path: Path) -> None:
    """Links, renames, modes and times of files outside, other processes' roots, memory and descriptors, new namespaces,
    io_uring, files in memory, abstract and raw sockets, and the rights of a program with another user's mode."""
    outside, name = tmp_path / "outside", f"remit-{uuid.uuid4().hex}"
    outside.write_text("outside")
    outside.chmod(0o644)
    os.utime(outside, (5, 5))
    before = outside.stat()
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        if sys.platform == "linux":  # other systems have no abstract names
            listening.bind(f"\0{name}")
            listening.listen()
            datagrams.bind(f"\0{name}-datagrams")
        with outside.open() as inherited:
            os.set_inheritable(inherited.fileno(), True)
            argv = ("python3", "-c", ESCAPES, str(outside), str(os.getpid()), str(inherited.fileno()), name)
            output = await sandbox.run(
                CommandSpec(argv, workspace, workspace, command_environment({}), PATIENT_S, writes=True)
            )
    assert output.stdout.decode() == "end\n", output.stderr
    assert outside.read_text() == "outside"
    assert (outside.stat().st_mode, outside.stat().st_mtime) == (before.st_mode, before.st_mtime)
    assert not (tmp_path / "outside.moved").exists()


OWN_FILES = """
import os, sys
given, scratch = sys.argv[1], os.environ["TMPDIR"]
own = scratch + "/own"
open(own, "w").close()
def refused(what):
    try:
        what()
        return False
    except OSError:
        return True
os.chmod(own, 0o4711)
print(oct(os.stat(own).st_mode & 0o777))
fd = os.open(own, os.O_RDONLY)
os.fchmod(fd, 0o640)
print(oct(os.stat(own).st_mode & 0o777))
os.utime(own, (5, 6))
print(os.stat(own).st_mtime)
os.utime(fd)
print(os.stat(own).st_mtime > 6)
os.chdir(scratch)
os.chmod("own", 0o600)
os.symlink(given, "link")
os.mkdir("folder")
os.chmod("folder", 0o711)
print(oct(os.stat("folder").st_mode & 0o777))
others = os.open(given, os.O_RDONLY)
tried = (lambda: os.chmod(given, 0o777), lambda: os.chmod("link", 0o777), lambda: os.fchmod(others, 0o777),
         lambda: os.utime("link", (7, 7)), lambda: os.utime(others, (7, 7)), lambda: os.chmod(given + "/..", 0o777),
         lambda: os.chown(given, os.getuid(), -1), lambda: os.setxattr(given, "user.x", b"x"))
print([refused(each) for each in tried])
"""


async def test_BOX_13_modes_and_times_are_set_of_its_own_files_alone(sandbox: Sandbox, workspace: Path) -> None:
    """Landlock does not cover them: without a read-only mount, the process that supervises the command sets them."""
    if not hasattr(os, "setxattr"):
        pytest.skip("this system has no setxattr")
    given = workspace / "given"
    given.write_text("x")
    given.chmod(0o644)
    os.utime(given, (5, 5))
    argv = ("python3", "-c", OWN_FILES, str(given))
    output = await sandbox.run(CommandSpec(argv, workspace, workspace, command_environment({}), PATIENT_S))
    assert output.stdout.decode().splitlines() == ["0o711", "0o640", "6.0", "True", "0o711", f"{[True] * 8}"]
    assert (given.stat().st_mode & 0o7777, given.stat().st_mtime) == (0o644, 5)


async def test_BOX_12_a_command_is_paused_with_all_that_it_started_and_goes_on(
    sandbox: Sandbox, workspace: Path
) -> None:
    heard: list[bytes] = []
    freezer = Freezer()
    script = "count() { while :; do echo $1; sleep 0.02; done; }; count a & count b"
    running = asyncio.create_task(
        sandbox.run(of(workspace, script, freezer=freezer), lambda _, chunk: heard.append(chunk))
    )

    async def until(holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENT_S):
            while not holds():
                await asyncio.sleep(0.02)

    await until(lambda: {b"a", b"b"} <= set(b"".join(heard).split()))
    freezer.freeze()
    before = -1
    while len(heard) != before:  # output may be on its way, and a container's program takes some time
        before = len(heard)
        await asyncio.sleep(1.5)
    heard.clear()
    freezer.thaw()
    await until(lambda: {b"a", b"b"} <= set(b"".join(heard).split()))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_many_at_once_do_not_meet(sandbox: Sandbox, workspace: Path) -> None:
    specs = [of(workspace, f'echo {n} > "$TMPDIR/n"; sleep 0.1; cat "$TMPDIR/n"') for n in range(4)]
    outputs = await asyncio.gather(*(sandbox.run(spec) for spec in specs))
    assert [output.stdout for output in outputs] == [b"0\n", b"1\n", b"2\n", b"3\n"]
