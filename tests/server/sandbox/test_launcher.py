"""The launcher alone: what it refuses, what ends with it, and what Landlock enforces without namespaces (BOX-12)."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from remit_server.sandbox.bubblewrap.bubblewrap import program_of_ours
from remit_server.sandbox.choose import sandbox_named
from remit_server.sandbox.limits.limits import processes_below

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")]

ROOT = Path(__file__).parents[3]
USER = 4242
RESTRICTED = """
import os, socket, sys
sys.path.append(sys.argv[1])
from remit_server.sandbox.landlock import kernel
kernel.call("prctl", 38, 1, 0, 0, 0)
kernel.restrict_files({"read": ["/"], "write": [sys.argv[2]]})
def attempt(what):
    try:
        what()
        return True
    except OSError:
        return False
"""
RUNNING = """
import asyncio, sys
from pathlib import Path
from remit_server.sandbox.bubblewrap.bubblewrap import program_of_ours
from remit_server.sandbox.choose import sandbox_named
from remit_server.sandbox.ports import CommandSpec
async def run():
    here = Path(sys.argv[1])
    while True:
        await sandbox.run(CommandSpec(("/bin/sleep", sys.argv[2]), here, here, {}, 60, writes=True))
sandbox = sandbox_named("landlock")
sandbox.isolation()
print("up", flush=True)
asyncio.run(run())
"""
KILLS = 25


REFUSED: dict[str, list[str]] = {
    "echo x > made.txt": ["made.txt"],
    "mkdir made": ["made"],
    "cat .env": [".env"],
    "rm own.sh": ["own.sh"],
    "chmod 755 own.sh": ["own.sh"],
    'python3 -c \'open("made.txt", "w")\'': ["made.txt"],
    'node -e \'fs.writeFileSync("made.txt", "")\'': ["made.txt"],
    "./own.sh": [],
    "cat /etc/shadow": [],
    "echo made > $TMPDIR/made && cat $TMPDIR/made own.sh": [],
}
"""Commands, and the files that the sandbox alone refuses to each."""


@pytest.fixture(autouse=True)
def isolates() -> None:
    isolation = sandbox_named("landlock").isolation()
    if not isolation.available:
        pytest.skip(f"this kernel does not isolate by itself: {isolation.why}")


def tried_under_landlock(given: Path, code: str, *arguments: str) -> str:
    words = [sys.executable, "-I", "-c", RESTRICTED + code, str(ROOT / "server"), str(given), *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_BOX_12_an_option_that_the_launcher_does_not_know_builds_nothing() -> None:
    ended = subprocess.run(
        [*program_of_ours("landlock.launch"), "--share-net", "--", "/bin/echo", "ran"], capture_output=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert b"`--share-net`" in ended.stderr


def test_BOX_12_landlock_alone_writes_only_to_what_was_given(tmp_path: Path) -> None:
    """Neither links, renames nor hard links between the two folders help, though mounts and modes would allow it."""
    given, other = tmp_path / "given", tmp_path / "other"
    given.mkdir()
    other.mkdir()
    (other / "file").write_text("kept")
    code = """
given, other = sys.argv[2:]
os.symlink(other, given + "/link")
open(given + "/mine", "w").close()
tried = {
    "own": lambda: open(given + "/new", "w").close(),
    "other": lambda: open(other + "/new", "w").close(),
    "by link": lambda: open(given + "/link/new", "w").close(),
    "truncated": lambda: os.truncate(other + "/file", 0),
    "removed": lambda: os.unlink(other + "/file"),
    "renamed in": lambda: os.rename(other + "/file", given + "/taken"),
    "renamed out": lambda: os.rename(given + "/mine", other + "/mine"),
    "linked in": lambda: os.link(other + "/file", given + "/hard"),
    "linked out": lambda: os.link(given + "/mine", other + "/hard"),
    "folder": lambda: os.mkdir(other + "/folder"),
    "pipe": lambda: os.mkfifo(other + "/pipe"),
}
print([name for name, what in tried.items() if attempt(what)])
"""
    assert tried_under_landlock(given, code, str(other)) == "['own']\n"
    assert [(each.name, each.read_text()) for each in other.iterdir()] == [("file", "kept")]


def test_BOX_12_landlock_alone_signals_nobody_and_reaches_no_abstract_socket(tmp_path: Path) -> None:
    name = f"remit-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{name}")
        listening.listen()
        code = """
child = os.fork()
if child == 0:
    import time; time.sleep(60)
tried = {
    "the one outside": lambda: os.kill(int(sys.argv[3]), 0),
    "its own": lambda: os.kill(child, 9),
    "abstract": lambda: socket.socket(socket.AF_UNIX).connect("\\0" + sys.argv[4]),
}
print([name for name, what in tried.items() if attempt(what)])
"""
        assert tried_under_landlock(tmp_path, code, str(os.getpid()), name) == "['its own']\n"


@pytest.mark.parametrize("killed", ["outer", "first"])
def test_BOX_12_with_any_process_of_the_launcher_the_command_dies(tmp_path: Path, killed: str) -> None:
    mark = f"55.{time.time_ns() % 10**9}"
    with subprocess.Popen([sys.executable, "-c", RUNNING, str(tmp_path), mark], stdout=subprocess.PIPE) as server:
        try:
            wait_until(lambda: any(argv[0] == "/bin/sleep" for argv in below(server.pid).values()))
            tree = sorted(
                pid
                for pid, argv in below(server.pid).items()
                if any("sandbox.landlock.launch" in word for word in argv)
            )
            (command,) = (pid for pid, argv in below(server.pid).items() if argv[0] == "/bin/sleep")
            dead = os.pidfd_open(command)
            os.kill(tree[0] if killed == "outer" else tree[1], signal.SIGKILL)
            wait_until(lambda: not alive(dead))
        finally:
            server.kill()


def test_BOX_12_however_servers_are_killed_nothing_of_them_is_left(tmp_path: Path) -> None:
    mark = f"56.{time.time_ns() % 10**9}"
    for number in range(KILLS):
        with subprocess.Popen([sys.executable, "-c", RUNNING, str(tmp_path), mark], stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == b"up\n"
            time.sleep(number / 200)
            server.kill()
    wait_until(lambda: not [argv for argv in arguments().values() if mark in argv])


@pytest.mark.skipif(os.geteuid() != 0, reason="it becomes another user")
def test_BOX_12_a_user_without_any_privilege_has_it() -> None:
    code = "from remit_server.cli.main import main; import sys; sys.exit(main(sys.argv[1:]))"
    ended = as_another_user("-c", code, "sandbox", "check", "--runtime", "landlock")
    assert ended.returncode == 0, ended.stdout + ended.stderr


OF_ITS_OWN = "landlock-alone and not in_the_background"
"""It cannot keep a process in the background."""


@pytest.mark.skipif(os.geteuid() != 0, reason="it becomes another user")
def test_BOX_13_landlock_alone_holds_the_suite_for_a_user_without_any_privilege() -> None:
    """It is not available to root, because nothing would limit the number of processes."""
    refused = sandbox_named("landlock-alone").isolation()
    assert (refused.available, refused.name) == (False, "landlock-alone")
    suite = Path(__file__).parent
    words = ["-q", "-n0", "-rs", "-p", "no:cacheprovider", "-k", OF_ITS_OWN, "--basetemp=$HOME/base"]
    files = [str(suite / "test_conformance.py"), str(suite / "test_left_behind.py")]
    ended = as_another_user("-m", "pytest", *words, *files)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "skipped" not in ended.stdout.splitlines()[-1]


REMIT = (
    "import os, sys; os.chdir(os.environ['HOME']); from remit_server.cli.main import main; sys.exit(main(sys.argv[1:]))"
)
NOTHING = """
import os, pyseccomp
os.environ["PATH"] = "/nowhere"
made = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
made.add_rule(pyseccomp.ERRNO(1), "unshare")
made.load()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="it becomes another user")
def test_BOX_13_where_nothing_isolates_less_is_offered_and_never_taken(tmp_path: Path) -> None:
    """This happens inside somebody else's container, or if an administrator forbids namespaces."""
    words = ("sandbox", "check", "--json")
    found = json.loads(as_another_user("-c", NOTHING + REMIT, *words).stdout)
    assert (found["name"], found["available"]) == ("landlock", False)
    assert "REMIT_SANDBOX=landlock-alone" in found["fix"]
    taken = as_another_user("-c", NOTHING + REMIT, *words, REMIT_SANDBOX="landlock-alone")
    assert (json.loads(taken.stdout)["name"], taken.returncode) == ("landlock-alone", 0), taken.stdout
    for_root = subprocess.run(
        [sys.executable, "-c", NOTHING + REMIT, *words],
        env={**os.environ, "HOME": str(tmp_path), "REMIT_SANDBOX": ""},
        capture_output=True,
        check=False,
    )
    assert "landlock-alone" not in json.loads(for_root.stdout)["fix"], "it bounds no processes of root's"


@pytest.mark.skipif(os.geteuid() != 0, reason="it becomes another user")
def test_BOX_13_what_landlock_alone_refuses_is_told_from_rights_that_lack() -> None:
    """Only if the person could do what was refused; so not if the file is no program, or belongs to root."""
    select = {"name": "select_active_intent", "arguments": {"intent": "EXECUTE"}}
    calls = [{"name": "run_command", "arguments": {"command": each}} for each in REFUSED]
    prepare = f"""
import json, os, pathlib
home = pathlib.Path(os.environ["HOME"])
(home / "shop").mkdir()
(home / "shop" / "own.sh").write_text("echo ran")
(home / "shop" / ".env").write_text("KEY=1")
(home / "script").write_text(json.dumps([{{"calls": {[select, *calls]!r}}}, {{"text": "done"}}]))
os.environ["REMIT_MODEL"] = f"script:{{home}}/script"
os.environ["HOME"] = str(home / "shop")
"""
    words = ("ask", "go", "--json", "--approve", "session")
    ended = as_another_user("-c", prepare + REMIT, *words, REMIT_SANDBOX="landlock-alone")
    results = [each for each in map(json.loads, ended.stdout.splitlines()) if each["kind"] == "tool_result"]
    told = [
        [note.split("`")[1] for note in each["data"].get("notes", []) if "landlock-alone" in note] for each in results
    ]
    assert dict(zip(REFUSED, told, strict=True)) == REFUSED, ended.stdout + ended.stderr


def as_another_user(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs this Python as a user who owns nothing but a folder of their own, `$HOME`."""
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv: apt-get install util-linux")
    # Not below pytest's own folders, because each run of pytest closes them to other users.
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        os.chown(home, USER, USER)
        become = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "--inh-caps=-all"]
        own = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        environment = {**own, "HOME": home, "TMPDIR": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {"REMIT_SANDBOX": "", **more}
        argv = [*become, sys.executable, *(word.replace("$HOME", home) for word in words)]
        return subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def arguments() -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            found[int(entry.name)] = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
    return found


def below(root: int) -> dict[int, list[str]]:
    inside = processes_below(root)
    return {pid: argv for pid, argv in arguments().items() if pid in inside}


def alive(pidfd: int) -> bool:
    return not select.select([pidfd], [], [], 0)[0]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
