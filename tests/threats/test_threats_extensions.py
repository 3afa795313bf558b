"""A person's own rules try every way out of their sandbox, and around it (EXT-01).

Each test lets real rules try, in the extension process of a whole runtime whose policy allows everything else.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench
from rule_programs import PATIENT_S
from threat_bench import LAX, result

from remit_server.errors import SetupError

pytestmark = pytest.mark.usefixtures("sandbox")

ATTEMPT = """
import ctypes, glob, mmap, os, platform, resource, signal, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
reached, tried = [], []

def attempt(name, act):
    tried.append(name)
    try:
        if act() is not False:
            reached.append(name)
    except (OSError, MemoryError, RuntimeError, ValueError):
        pass

def lists(place):
    return bool(os.listdir(place))

def reads(place):
    return bool(open(place, "rb").read(1))

def rule(action):
    if action["path"] == "warm-up":
        return "pass"
"""
OF_A_CONTAINER = ("/etc", "/proc", "/dev", "/run", "/sys")
SAYS = '    return "deny", f"{len(tried)} tried, reached: {reached}"\n'


@pytest.fixture
def tried(make_bench: Any, tmp_path: Path, each_sandbox: str) -> Callable[[str], Any]:
    """Returns a function that runs attempts inside a rule, in each sandbox; the rule gives what it reached as the
    reason of its deny."""

    async def run(attempts: str) -> str:
        write_rule(tmp_path, ATTEMPT + textwrap.indent(textwrap.dedent(attempts), "    ") + SAYS)
        bench = await make_bench(policy=LAX, extension_timeout_s=PATIENT_S)
        answer = await result(bench, "read_file", path="a.py")
        message: str = answer.error.message
        return message

    return run


def write_rule(folder: Path, text: str, stem: str = "mine") -> None:
    (folder / "config" / "rules").mkdir(parents=True, exist_ok=True)
    (folder / "config" / "rules" / f"{stem}.py").write_text(text)


async def test_THR_sandbox_extension_rules_see_no_file_of_the_person(
    tried: Any, tmp_path: Path, each_sandbox: str
) -> None:
    (tmp_path / "neighbour").write_text("secret")
    own = [tmp_path / "shop" / "a.py", tmp_path / "neighbour", tmp_path / "config" / "policy.yaml", Path(__file__)]
    places = [
        "/home",
        "/etc",
        "/proc",
        "/dev",
        "/run",
        "/var",
        "/opt",
        "/srv",
        "/mnt",
        "/usr/bin",
        "/bin",
        "/sys",
        "/tmp",
    ]
    # A container has these folders of its own, with nothing of the machine in them, so files of ours are tried by name.
    places = [each for each in places if each_sandbox not in {"podman", "docker"} or each not in OF_A_CONTAINER]
    places += [str(tmp_path), str(tmp_path / "shop"), str(Path(__file__).parent)]
    said = await tried(
        f"""
        for place in {[str(path) for path in own]}:
            attempt(place, lambda: reads(place))
        shown = ("ld.so.cache", os.path.basename(os.path.realpath(sys.executable)))
        for place in {places}:
            attempt(place, lambda: [n for n in os.listdir(place) if n not in shown] or False)
        # A Python below the person's home is seen, and nothing beside it.
        home = {str(Path.home())!r}
        found = [os.path.join(folder, name) for folder, _, names in os.walk(home) for name in names]
        runtime = (sys.base_prefix, os.path.realpath(sys.executable))
        attempt("home", lambda: [name for name in found if not name.startswith(runtime)] or False)
        attempt("packages", lambda: glob.glob(sys.base_prefix + "/lib/python3*/site-packages/*") or False)
        attempt("process of the server", lambda: reads("/proc/{os.getpid()}/environ"))
        attempt("the standard library", lambda: reads(os.__file__))
        """
    )
    assert f"{len(own) + len(places) + 4} tried, reached: ['the standard library']" in said


async def test_THR_sandbox_extension_rules_see_no_environment_and_reach_no_network(
    tried: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_TEST_TOKEN", "hunter2hunter2")
    with socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        said = await tried(
            f"""
            attempt("environment", lambda: sorted(os.environ.keys() - {{"PWD", "LC_CTYPE"}}) or False)
            attempt("tcp", lambda: socket.create_connection(("127.0.0.1", {tcp.getsockname()[1]}), 2))
            attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            attempt("ipv6", lambda: socket.socket(socket.AF_INET6))
            attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
            attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0abstract"))
            attempt("dns", lambda: socket.getaddrinfo("example.org", 80))
            """
        )
        tcp.settimeout(0.1)
        with pytest.raises(TimeoutError):
            tcp.accept()
    assert "7 tried, reached: []" in said


async def test_THR_sandbox_extension_rules_write_nothing_and_start_nothing(tried: Any) -> None:
    said = await tried(
        f"""
        for place in ("/made", "/usr/lib/made", os.path.dirname(os.__file__) + "/made.py", "/program.py", sys.executable):
            attempt(place, lambda: open(place, "ab"))
        attempt("memory file", lambda: os.memfd_create("made"))
        attempt("a child", lambda: os.fork() == 0 and os._exit(0))
        attempt("a program", lambda: subprocess.run([sys.executable, "-c", "pass"]))
        attempt("a session", lambda: os.posix_spawn(sys.executable, [sys.executable], {{}}))
        for pid in ({os.getpid()}, {os.getppid()}):
            attempt("a signal", lambda: os.kill(pid, 0))
        attempt("another user", lambda: os.setuid(0))
        attempt("root", lambda: os.getuid() == 0)
        attempt("more memory", lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40)))
        calls = {{"ptrace": (101, 16, 1, 0, 0), "unshare": (272, 0x10000000), "io_uring": (425, 1, 0),
                 "mount": (165, b"none", b"/", b"tmpfs", 0, 0), "fork": (57,), "vfork by clone": (56, 0x4111, 0, 0, 0, 0)}}
        for name, arguments in calls.items() if platform.machine() == "x86_64" else ():
            attempt(name, lambda: libc.syscall(*arguments) >= 0)
        """
    )
    assert "reached: []" in said
    assert int(said.partition(" tried")[0].split()[-1]) >= 14


async def test_THR_sandbox_extension_rules_get_128_MiB_by_every_way(tried: Any) -> None:
    said = await tried(
        """
        size = 128 << 20
        attempt("heap", lambda: bytearray(size))
        attempt("private", lambda: mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        attempt("shared", lambda: mmap.mmap(-1, size, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))
        attempt("in pieces", lambda: [bytearray(1 << 20) for _ in range(128)])
        def stacks():
            stop = threading.Event()
            try:
                for _ in range(64):
                    threading.Thread(target=stop.wait, daemon=True).start()
            finally:
                stop.set()
        attempt("stacks", stacks)
        """
    )
    assert "5 tried, reached: []" in said


async def test_THR_configuration_a_workspace_brings_no_rules_of_its_own(make_bench: Any, tmp_path: Path) -> None:
    for folder in ("rules", ".remit/rules", "config/rules"):
        (tmp_path / "shop" / folder).mkdir(parents=True)
        (tmp_path / "shop" / folder / "evil.py").write_text("def rule(action):\n    return 'allow'\n")
    bench: Bench = await make_bench(policy="version: 1\n")
    answer = await result(bench, "read_file", path="a.py")
    assert (answer.decision, [reason.layer for reason in answer.reasons]) == ("denied", ["default"])


async def test_a_rule_denies_a_call_and_the_audit_says_which(make_bench: Any, tmp_path: Path) -> None:
    write_rule(
        tmp_path,
        """
SYSCALLS = ("fs.write",)


def rule(action):
    if action["intent"] == "CODE" and "human" in action["caller_tags"] and action["path"] == "a.py":
        return "deny", f"{action['tool']} leaves {action['path']} alone"
    return "pass"
""",
    )
    bench: Bench = await make_bench(policy=LAX, extension_timeout_s=PATIENT_S)
    before = (bench.workspace / "a.py").read_bytes()
    answer = await result(bench, "write_file", path="a.py", content="x = 1\n")
    assert (answer.decision, answer.rules) == ("denied", ("extension.mine",))
    assert "write_file leaves a.py alone" in answer.error.message
    assert (bench.workspace / "a.py").read_bytes() == before
    recorded = next(r.event for r in bench.audit() if r.event.policy_rule_name == "extension.mine")
    assert recorded.policy_rule_at == f"{tmp_path / 'config' / 'rules' / 'mine.py'}:5"
    assert (await result(bench, "write_file", path="b.py", content="x = 1\n")).error is None
    assert (await result(bench, "read_file", path="a.py")).error is None


async def test_a_rule_that_fails_hides_a_file_from_commands(make_bench: Any, tmp_path: Path) -> None:
    """Rules also decide whether a command may see a file; if a rule fails, the file stays hidden."""
    write_rule(
        tmp_path,
        """
import os


def rule(action):
    if action["syscall"] == "fs.read" and action["path"] == "vault.txt":
        os._exit(1)
    return "deny" if action["path"] == "safe.txt" else "pass"
""",
    )
    bench: Bench = await make_bench(policy=LAX, extension_timeout_s=PATIENT_S)
    for name in ("vault.txt", "safe.txt", "open.txt"):
        (bench.workspace / name).write_text(f"inside {name}")
    answer = await result(bench, "run_command", command="grep -rs inside .")
    assert "inside open.txt" in answer.output
    assert "inside vault.txt" not in answer.output
    assert "inside safe.txt" not in answer.output


async def test_a_call_that_a_rule_broke_off_is_denied_and_the_model_is_told_why(
    make_bench: Any, tmp_path: Path
) -> None:
    write_rule(
        tmp_path, "import os\n\n\ndef rule(action):\n    action['path'] == 'a.py' and os._exit(1)\n    return 'pass'\n"
    )
    bench: Bench = await make_bench(policy=LAX, extension_timeout_s=PATIENT_S)
    answer = await result(bench, "read_file", path="a.py")
    assert answer.decision == "denied"
    assert answer.error.message.startswith(
        "`read_file` was denied by the extension layer: your extension rules gave no answer"
    )
    assert "it ended" in answer.error.message
    (bench.workspace / "b.py").write_text("b")
    assert (await result(bench, "read_file", path="b.py")).error is None


async def test_a_rule_that_cannot_be_loaded_stops_the_opening(make_bench: Any, tmp_path: Path) -> None:
    write_rule(tmp_path, "def rule(action)\n", "a")
    with pytest.raises(SetupError, match=r"rules/a\.py:1:17: expected ':'"):
        await make_bench(policy=LAX)
    write_rule(tmp_path, "import numpy\n\n\ndef rule(action): ...\n", "a")
    with pytest.raises(SetupError, match=r"rules/a\.py:1:1: ModuleNotFoundError"):
        await make_bench(policy=LAX)


SERVER = """
import sys, time
from pathlib import Path
from remit_governance.policy.language.load import load_rules
from remit_server.extensions.host import ExtensionHost
host = ExtensionHost(load_rules(Path(sys.argv[1])), Path("/nowhere"))
host.check()
print(host._process._process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_THR_sandbox_the_process_of_the_rules_dies_with_a_server_that_is_killed(tmp_path: Path) -> None:
    write_rule(tmp_path, "def rule(action):\n    while action['path'] != 'warm-up': pass\n    return 'pass'\n")
    command = [sys.executable, "-c", SERVER, str(tmp_path / "config" / "rules")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        pid = int(server.stdout.readline())
        inside = [pid, *_children(pid)]
        assert len(inside) >= 3
        server.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + PATIENT_S
    while any(Path(f"/proc/{each}/cmdline").exists() and _alive(each) for each in inside):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _children(pid: int) -> list[int]:
    try:
        own = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [each for child in own for each in (child, *_children(child))]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False
