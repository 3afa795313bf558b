"""Commands try every way out of the sandbox, and to exhaust the machine (BOX-02).

Each test runs real commands through the whole dispatcher, with a policy and a person that allow everything.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench
from threat_bench import LAX, own, result, script

from remit_server.contract import ErrorCode

pytestmark = pytest.mark.usefixtures("sandbox")


@pytest.fixture
async def bench(make_bench: Any) -> Bench:
    made: Bench = await make_bench(policy=LAX)
    return made


async def _python(bench: Bench, program: str, timeout: int = 60) -> str:
    """Runs `program` in the sandbox with the system's Python, and returns its output."""
    (bench.workspace / "program.py").write_text(textwrap.dedent(program))
    answer = await result(
        bench, "run_command", command="/usr/bin/python3 program.py", timeout=timeout, asker=Answering()
    )
    assert answer.error is None, answer.error
    output: str = answer.output
    return output


ATTEMPT = """
    def attempt(name, act):
        try:
            print("REACHED" if act() is not False else "refused", name, flush=True)
        except (OSError, MemoryError) as error:
            print("refused", name, error, flush=True)
"""


async def test_THR_sandbox_no_network_by_any_family_address_or_relay(bench: Bench, tmp_path: Path) -> None:
    with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        udp.bind(("127.0.0.1", 0))
        output = await _python(
            bench,
            ATTEMPT
            + f"""
    import socket, struct, subprocess, urllib.request
    def tcp(family, address):
        socket.create_connection(address, timeout=2) if family is None else socket.socket(family).connect(address)
    port = {tcp.getsockname()[1]}
    attempt("by address", lambda: tcp(None, ("127.0.0.1", port)))
    attempt("by name", lambda: tcp(None, ("localhost", port)))
    attempt("ipv6", lambda: tcp(socket.AF_INET6, ("::1", port)))
    attempt("dns", lambda: socket.getaddrinfo("example.org", 80))
    # It arrives, on the loopback of the sandbox's own.
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {udp.getsockname()[1]}))
    attempt("away", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)))
    attempt("http", lambda: urllib.request.urlopen("http://127.0.0.1:%d" % port, timeout=2))
    attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
    attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
    attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4))
    attempt("interfaces", lambda: [name for _, name in socket.if_nameindex() if name != "lo"] or False)
    # A new address for the loopback: what lists interfaces may not change them.
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    link.send(struct.pack("=IHHIIBBBBIHHI", 32, 20, 0x505, 1, 0, 2, 8, 0, 0, 1, 8, 2, 0x0A000001))
    attempt("interface", lambda: struct.unpack_from("=i", link.recv(4096), 16)[0] == 0)
    attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM).connect((2, port)))
    attempt("alg", lambda: socket.socket(38, socket.SOCK_SEQPACKET))
    attempt("bash", lambda: subprocess.run(["bash", "-c", "echo x > /dev/tcp/127.0.0.1/%d" % port]).returncode == 0)
    """,
        )
        tcp.settimeout(0.2)
        udp.settimeout(0.2)
        with pytest.raises(TimeoutError):
            tcp.accept()
        with pytest.raises(TimeoutError):
            udp.recv(1)
    assert "REACHED" not in output
    assert _count_refused(output) == 14


def _count_refused(output: str) -> int:
    return sum(line.startswith("refused ") for line in output.splitlines())


OWN = """
    import multiprocessing, os, socket, threading, urllib.request
    from http.server import BaseHTTPRequestHandler, HTTPServer
    def talks(family, address, kind=socket.SOCK_STREAM):
        one, two = socket.socket(family, kind), socket.socket(family, kind)
        one.bind(address)
        if kind == socket.SOCK_STREAM:
            one.listen()
        two.connect(one.getsockname())
        two.send(b"x")
        return (one if kind == socket.SOCK_DGRAM else one.accept()[0]).recv(1) == b"x"
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
    def serves():
        server = HTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return urllib.request.urlopen("http://127.0.0.1:%d/" % server.server_port, timeout=20).status == 200
    attempt("ipv4", lambda: talks(socket.AF_INET, ("127.0.0.1", 0)))
    attempt("ipv6", lambda: talks(socket.AF_INET6, ("::1", 0)))
    attempt("datagrams", lambda: talks(socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM))
    attempt("http", serves)
    attempt("interfaces", lambda: [name for _, name in socket.if_nameindex()] == ["lo"])
    for name in ("/tmp/own", "/dev/shm/own", "own", "\\0own"):
        attempt("unix " + name, lambda: talks(socket.AF_UNIX, name))
    attempt("unix datagrams", lambda: talks(socket.AF_UNIX, "/tmp/other", socket.SOCK_DGRAM))
    attempt("manager", lambda: multiprocessing.Manager().list([1])[0] == 1)
    """


@pytest.mark.parametrize("hosts", [[], ["example.org"]])
async def test_BOX_11_a_program_talks_to_itself_with_and_without_a_network(make_bench: Any, hosts: list[str]) -> None:
    bench: Bench = await make_bench(policy=LAX + "  - { name: net, match: { syscall: net.connect }, action: allow }\n")
    (bench.workspace / "program.py").write_text(textwrap.dedent(ATTEMPT + OWN))
    command = "/usr/bin/python3 program.py"
    answer = await result(bench, "run_command", command=command, network=hosts, asker=Answering())
    assert "refused" not in answer.output
    assert answer.output.count("REACHED") == 11


async def test_BOX_11_the_tests_of_a_project_that_serves_itself_are_green(bench: Bench) -> None:
    (bench.workspace / "test_serves.py").write_text(
        textwrap.dedent("""
    import threading, unittest, urllib.request
    from http.server import HTTPServer, SimpleHTTPRequestHandler

    class Serves(unittest.TestCase):
        def test_it(self):
            with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                place = f"http://127.0.0.1:{server.server_port}/"
                self.assertEqual(urllib.request.urlopen(place, timeout=20).status, 200)
                server.shutdown()
    """)
    )
    answer = await result(bench, "run_tests", runner="unittest", asker=Answering())
    assert answer.error is None, answer.error
    assert "1 passed" in answer.output


async def test_THR_sandbox_no_socket_of_the_host_that_appears_while_a_command_runs(bench: Bench) -> None:
    """The socket is made while the command runs, so it was not hidden; neither its name, nor a link, nor another way
    reaches it."""
    running = asyncio.create_task(
        _python(
            bench,
            ATTEMPT
            + """
    import os, socket, subprocess, time
    open("begun", "w").close()
    print("begun", flush=True)
    for _ in range(600):
        if "late" in os.listdir():  # a look at the name itself would be remembered
            break
        time.sleep(0.05)
    print(os.path.exists("late"), flush=True)
    def connects(name, kind=socket.SOCK_STREAM):
        socket.socket(socket.AF_UNIX, kind).connect(name)
    folder = os.open(".", os.O_PATH)
    attempt("stream", lambda: connects("late"))
    attempt("by a descriptor", lambda: connects("/proc/self/fd/%d/late" % folder))
    attempt("by the root of another", lambda: connects("/proc/1/root" + os.path.abspath("late")))
    attempt("seqpacket", lambda: connects("late", socket.SOCK_SEQPACKET))
    attempt("datagram", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "late datagram"))
    one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    attempt("by a pair", lambda: one.sendto(b"x", "late datagram"))
    os.link("late", "linked")
    attempt("linked", lambda: connects("linked"))
    os.symlink("late", "pointing")
    attempt("pointing", lambda: connects("pointing"))
    os.chmod("late", 0o777)
    attempt("changed", lambda: connects("late"))
    os.rename("late", "moved")
    attempt("moved", lambda: connects("moved"))
    os.unlink("late datagram")
    """,
        )
    )
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        async with asyncio.timeout(60):
            await bench.until("tool_output")
        os.chdir(bench.workspace)  # the path of a socket may have at most 108 bytes
        try:
            datagrams.bind("late datagram")
            listening.bind("late")
        finally:
            os.chdir(here)
        listening.listen()
        output = await running
        datagrams.setblocking(False)
        with pytest.raises(BlockingIOError):
            datagrams.recv(1)
    assert "True" in output
    assert "REACHED" not in output
    assert _count_refused(output) == 10


async def test_THR_sandbox_no_socket_or_pipe_that_lies_in_the_workspace(bench: Bench) -> None:
    """A read-only mount prevents neither connecting to a socket nor writing into a pipe."""
    os.mkfifo(bench.workspace / "pipe")
    (bench.workspace / "deep").mkdir()
    os.mkfifo(bench.workspace / "deep" / "pipe")
    reading = os.open(bench.workspace / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(bench.workspace)  # the path of a socket may have at most 108 bytes
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        listening.listen()
        output = await _python(
            bench,
            ATTEMPT
            + """
    import os, socket
    attempt("pipe", lambda: os.write(os.open("pipe", os.O_WRONLY | os.O_NONBLOCK), b"evil"))
    attempt("deep pipe", lambda: os.open("deep/pipe", os.O_RDWR | os.O_NONBLOCK))
    attempt("stream", lambda: socket.socket(socket.AF_UNIX).connect("socket"))
    attempt("seqpacket", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect("socket"))
    attempt("datagram", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "socket"))
    attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0abstract"))
    """,
        )
    try:
        assert os.read(reading, 10) == b""
    finally:
        os.close(reading)
    assert "REACHED" not in output
    assert _count_refused(output) == 6


async def test_THR_sandbox_sees_nothing_outside_the_workspace(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "neighbour").write_text("neighbour-secret")
    (bench.workspace / "out").symlink_to(tmp_path / "neighbour")
    places = [
        "/root",
        "/home",
        "/etc/shadow",
        "/etc/ssh",
        "/run",
        "/var/run",
        "/var/lib",
        "/opt",
        "/srv",
        "/boot",
        "/mnt",
    ]
    output = await _python(
        bench,
        ATTEMPT
        + f"""
    import glob, os
    def seen(path):
        return os.listdir(path) and True if os.path.isdir(path) else open(path, "rb").read() and True
    for place in {[*places, str(tmp_path / "neighbour"), str(bench.settings.audit_database), str(Path.home())]}:
        attempt(place, lambda: seen(place))
        attempt("/proc/self/root" + place, lambda: seen("/proc/self/root" + place))
        attempt("/proc/1/root" + place, lambda: seen("/proc/1/root" + place))
    attempt("link", lambda: seen("out"))
    attempt("kernel memory", lambda: seen("/proc/kcore"))
    attempt("key ring", lambda: seen("/proc/keys"))
    attempt("disks", lambda: [p for p in glob.glob("/dev/*") if os.path.basename(p)[:2] in ("sd", "vd", "nv", "dm", "me")] or False)
    attempt("server", lambda: os.path.exists("/proc/{os.getpid()}/cmdline"))
    print(len(glob.glob("/proc/[0-9]*")), "processes")
    """,
    )
    assert "REACHED" not in output
    assert "neighbour-secret" not in output
    assert int(output.split(" processes")[0].splitlines()[-1]) < 10


SIGNALS = """
    import ctypes, fcntl, os, platform, signal
    libc = ctypes.CDLL(None, use_errno=True)
    for pid in PIDS:
        attempt("kill %d" % pid, lambda: os.kill(pid, 0))
        attempt("memory of %d" % pid, lambda: open("/proc/%d/mem" % pid, "r+b"))
    attempt("terminal", lambda: open("/dev/tty", "w"))
    attempt("capabilities", lambda: any(int(l.split()[1], 16) for l in open("/proc/self/status") if l[:3] == "Cap"))
    attempt("set-user-id", lambda: os.setuid(0))
    attempt("lease", lambda: fcntl.fcntl(os.open("program.py", os.O_RDONLY), 1024, 0) == 0)
    calls = {"ptrace": (101, 16, 1, 0, 0), "process_vm_readv": (310, 1, 0, 0, 0, 0, 0), "unshare": (272, 0x10000000),
             "mount": (165, b"none", b"/tmp", b"tmpfs", 0, 0), "io_uring": (425, 1, 0), "bpf": (321, 0, 0, 0)}
    for name, arguments in calls.items() if platform.machine() == "x86_64" else ():
        attempt(name, lambda: libc.syscall(*arguments) >= 0)
    os.kill(-1, signal.SIGTERM) if os.fork() == 0 else os.wait()
    """


async def test_THR_sandbox_signals_and_debuggers_reach_nobody_outside(bench: Bench) -> None:
    victim = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        pids = (victim.pid, os.getpid(), os.getppid())
        output = await _python(bench, ATTEMPT + SIGNALS.replace("PIDS", str(pids)))
        assert victim.returncode is None
    finally:
        victim.kill()
        await victim.wait()
    assert "refused capabilities" in output
    assert "REACHED" not in output


async def test_THR_sandbox_children_that_detach_themselves_die_with_the_call(bench: Bench) -> None:
    mark = f"6{os.getpid()}"
    command = (
        f"(setsid nohup sleep {mark}1 >/dev/null 2>&1 </dev/null &); "
        f"python3 -c \"import os; os.fork() or os.setsid() or os.fork() or os.execlp('sleep','sleep','{mark}2')\"; "
        f"trap '' TERM HUP INT; sleep {mark}3 & echo started"
    )
    answer = await script(bench, command)
    assert "started" in answer.output
    assert _running(mark) == []


async def test_THR_sandbox_a_cancelled_call_leaves_no_process(bench: Bench) -> None:
    mark = f"7{os.getpid()}"
    call = own("run_command", command=f"setsid sleep {mark} & sleep {mark}")
    running = asyncio.create_task(bench.ask(call))
    async with asyncio.timeout(30):
        while len(_running(mark)) < 2:
            await asyncio.sleep(0.05)
    began = time.monotonic()
    bench.runtime.cancel()
    assert (await running).status == "cancelled"
    assert _running(mark) == []
    assert time.monotonic() - began < 10


def _running(mark: str) -> list[str]:
    """Returns the pids of processes named `sleep` with this number; a process that is ending has no command line any
    more."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"sleep") and any(mark.encode() in word for word in words[1:]):
            found.append(entry.parent.name)
    return found


@pytest.mark.slow
async def test_THR_sandbox_a_command_dies_with_a_server_that_is_killed(tmp_path: Path) -> None:
    mark = f"8{os.getpid()}"
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text(LAX)
    (tmp_path / "shop").mkdir()
    environment = os.environ | {
        "REMIT_STATE_DIR": str(tmp_path / "state"),
        "REMIT_CONFIG_DIR": str(tmp_path / "config"),
    }
    arguments = f'{{"command": "setsid sleep {mark} & sleep {mark}"}}'
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "remit_server.cli.main", "run-tool", "run_command", arguments, "--intent", "EXECUTE"),
        *("--workspace", str(tmp_path / "shop"), "--approve", "session"),
        env=environment,
        stdout=asyncio.subprocess.DEVNULL,
    )
    async with asyncio.timeout(60):
        while len(_running(mark)) < 2:
            await asyncio.sleep(0.05)
    server.send_signal(signal.SIGKILL)
    await server.wait()
    async with asyncio.timeout(30):
        while _running(mark):
            await asyncio.sleep(0.05)


LIMITED = {
    "processes": """
        for _ in range(600):
            if os.fork() == 0:
                time.sleep(60)
        """,
    "threads": """
        threading.stack_size(32768)
        for _ in range(3000):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        """,
    "MiB of memory": """
        for _ in range(12):
            if os.fork() == 0:
                memory = mmap.mmap(-1, 400 << 20)
                memory.write(b"x" * (400 << 20))
                time.sleep(60)
        """,
    "bytes of output": """
        while True:
            print("y" * 60000)
        """,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITED)
async def test_THR_sandbox_what_takes_more_than_its_share_is_stopped(bench: Bench, name: str) -> None:
    began = time.monotonic()
    program = "import mmap, os, threading, time\n" + textwrap.dedent(LIMITED[name]) + "time.sleep(60)\n"
    (bench.workspace / "program.py").write_text(program)
    answer = await result(bench, "run_command", command="/usr/bin/python3 program.py", timeout=50, asker=Answering())
    if answer.error is None:
        # For an ordinary user the kernel itself refuses more threads, before Remit's watch has to act.
        assert any(words in answer.output for words in ("can't start new thread", "Resource temporarily unavailable"))
    else:
        assert answer.error.code == ErrorCode.STOPPED
        assert name in (answer.error.why or "")
    assert time.monotonic() - began < 45
    assert (await _python(bench, "print('fine again')")).endswith("fine again")


@pytest.mark.slow
async def test_THR_sandbox_no_memory_or_disk_beyond_the_limits(bench: Bench) -> None:
    output = await _python(
        bench,
        ATTEMPT
        + """
    import ctypes, os
    libc = ctypes.CDLL(None, use_errno=True)
    attempt("one process", lambda: bytearray(1200 << 20))
    attempt("memory file", lambda: os.memfd_create("x"))
    attempt("segments that nobody maps", lambda: libc.shmget(0, 64 << 20, 0o1600) >= 0)
    attempt("queues", lambda: libc.msgget(0, 0o1600) >= 0)
    def fill(folder):
        block, written = b"x" * (1 << 20), 0
        for number in range(8):
            with open(f"{folder}/big{number}", "wb", buffering=0) as file:
                for _ in range(100):
                    written += file.write(block)
        return True
    attempt("scratch", lambda: fill("/tmp"))
    attempt("shared", lambda: fill("/dev/shm"))
    for folder in ("/", "/var", "/usr", "/etc", "/dev", "/proc"):
        attempt(folder, lambda: open(os.path.join(folder, "new"), "w"))
    """,
    )
    assert "REACHED" not in output
    assert output.count("refused") == 12


async def test_THR_sandbox_no_program_of_the_project_builds_the_sandbox(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of the project on PATH must not make Remit run the project's own `bwrap` outside the sandbox."""
    tools = bench.workspace / "node_modules" / ".bin"
    tools.mkdir(parents=True)
    for name in ("bwrap", "nice", "unshare", "prlimit", "mount"):
        (tools / name).write_text(f"#!/bin/sh\ntouch {bench.workspace}/escaped\nexit 0\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"node_modules/.bin:.:{tools}:{os.environ['PATH']}")
    monkeypatch.chdir(bench.workspace)
    answer = await result(bench, "run_command", command="echo inside", asker=Answering())
    assert "inside" in answer.output
    assert not (bench.workspace / "escaped").exists()


async def test_THR_sandbox_the_whole_file_system_is_no_workspace_for_commands(tmp_path: Path) -> None:
    from remit_server.errors import ToolError
    from remit_server.sandbox.choose import choose_sandbox
    from remit_server.sandbox.ports import CommandSpec
    from remit_server.sandbox.visible.environment import command_environment

    spec = CommandSpec(("/bin/cat", "/etc/shadow"), Path("/"), Path("/"), command_environment({}), 10)
    with pytest.raises(ToolError, match="whole file system"):
        await choose_sandbox().run(spec)


async def test_THR_sandbox_a_workspace_too_large_to_look_through_runs_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the files that must be hidden cannot all be found, the command does not run."""
    monkeypatch.setattr("remit_server.workspace.trees.known_folders.MAX_ENTRIES", 3)
    for name in range(5):
        (bench.workspace / f"{name}.txt").write_text("x")
    answer = await result(bench, "run_command", command="cat .env", asker=Answering())
    assert answer.error is not None
    assert answer.error.code == "limit_reached"


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="there is no bash on this machine")
async def test_CMD_07_a_line_for_bash_does_what_bash_does(bench: Bench) -> None:
    line = (
        "set -o pipefail; mkdir -p src/{a,b} && touch src/{a,b}/x; [[ -d src/a ]] && cat <<< yes; echo -e 'one\\ttwo'"
    )
    answer = await result(bench, "run_command", command=line, asker=Answering())
    assert answer.error is None, answer.error
    assert "yes" in answer.output
    assert "one\ttwo" in answer.output
    assert [(bench.workspace / "src" / name / "x").exists() for name in "ab"] == [True, True]
