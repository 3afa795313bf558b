"""HOK-07: a resident process gives the same answers as a plain one, and if it does not answer, the plain one does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from command_line import Done
from examples import rounds
from hooked import Hooked, word_of

from remit_server.cli.commands.governance.hook import AGENT_NAMES
from remit_server.hooks.formats.agents import AGENTS as AGENT_ROWS
from remit_server.hooks.resident.client import AGENTS, pack, receive, socket_place, stamp
from remit_server.machine.peers import unix_peer
from remit_server.runtime.own_files.places import state_folder


@pytest.fixture
def hooked(tmp_path: Path) -> Iterator[Hooked]:
    hooked = Hooked.made(tmp_path)
    yield hooked
    with suppress(OSError):
        os.kill(resident(hooked, patience_s=0), signal.SIGKILL)


def resident(hooked: Hooked, patience_s: float = 60) -> int:
    """Waits until the resident process listens, and returns its pid. Raises OSError."""
    folder, name = socket_place(hooked.remit.environment)
    until = time.monotonic() + patience_s
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(f"{folder}/{name}")
                return unix_peer(connection).pid
        except OSError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.05)


def ask(hooked: Hooked, command: str) -> str:
    done = hooked.remit.from_nothing("hook", "claude-code", stdin=json.dumps(hooked.bash(command)))
    return word_of("claude-code", done)


@pytest.mark.slow
def test_HOK_07_the_answers_and_records_are_those_of_a_plain_process(hooked: Hooked) -> None:
    lines = ("ls", "make", "echo x > .env", "cat *")
    plain = [ask(hooked, line) for line in lines]
    pid = resident(hooked)
    assert [ask(hooked, line) for line in lines] == plain == ["allow", "ask", "deny", "ask"]
    assert resident(hooked) == pid
    records = [
        {key: record.get(key) for key in ("kind", "tool_name", "policy_rule_name", "actions", "reasons", "metadata")}
        for record in hooked.records()
        if record["kind"] in {"tool_intent", "tool_outcome"}
    ]
    half = len(records) // 2
    assert records[:half] == records[half:]
    assert hooked.remit("audit", "verify").code == 0


@pytest.mark.slow
def test_HOK_07_an_event_that_is_named_beside_its_text_is_answered_the_same(hooked: Hooked) -> None:
    event = json.dumps({"sessionId": "s", "cwd": str(hooked.root), "toolName": "bash", "toolArgs": {"command": "make"}})
    words = ("hook", "copilot", "--event", "preToolUse")
    plain = hooked.remit.from_nothing(*words, stdin=event)
    resident(hooked)
    assert hooked.remit.from_nothing(*words, stdin=event) == plain
    assert word_of("copilot", plain) == "ask"


@pytest.mark.slow
def test_HOK_07_calls_at_once_are_all_answered_and_recorded(hooked: Hooked) -> None:
    ask(hooked, "ls")
    resident(hooked)
    with ThreadPoolExecutor(8) as pool:
        words = list(pool.map(lambda number: ask(hooked, "ls" if number % 2 else "echo x > .env"), range(16)))
    assert words == ["deny", "allow"] * 8
    assert sum(record["kind"] == "tool_intent" for record in hooked.records()) == 17
    assert hooked.remit("audit", "verify").code == 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_HOK_07_thousands_of_calls_are_all_answered_and_recorded_and_it_does_not_grow(hooked: Hooked) -> None:
    """THR-hooks-thousands-of-calls: each as the client sends it, over the socket, eight at a time."""
    calls = rounds(10_000, 300)
    ask(hooked, "ls")
    pid = resident(hooked)
    here = [stamp(), "claude-code", "", str(hooked.root)]
    head = [part.encode() for part in (*here, *(f"{k}={v}" for k, v in hooked.remit.environment.items()))]
    place = "/".join(socket_place(hooked.remit.environment))

    def word(number: int) -> str:
        event = json.dumps(hooked.bash("ls" if number % 2 else "echo x > .env", call=f"c{number}")).encode()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(place)
            connection.sendall(pack((event, *head)))
            code, out, err = (part.decode() for part in receive(connection))
        return word_of("claude-code", Done(int(code), out, err))

    def held() -> tuple[int, int]:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") >> 20, sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(word, range(100)))
        mib, files = held()
        words = list(pool.map(word, range(100, calls)))
    assert words == [("allow" if number % 2 else "deny") for number in range(100, calls)]
    assert resident(hooked) == pid
    assert held()[0] <= mib + 32
    assert held()[1] <= files + 2
    kinds = Counter(record["kind"] for record in hooked.remit("audit", "log", "--json", "-n", "1000000").lines)
    assert (kinds["tool_intent"], kinds["tool_outcome"]) == (calls + 1, calls // 2)
    assert hooked.remit("audit", "verify").code == 0


@pytest.mark.slow
def test_HOK_07_clients_that_say_nothing_hold_up_no_call(hooked: Hooked) -> None:
    """THR-hooks-silent-clients."""
    ask(hooked, "ls")
    resident(hooked)
    with ExitStack() as held:
        for _ in range(rounds(64, 8)):
            silent = held.enter_context(socket.socket(socket.AF_UNIX))
            silent.connect("/".join(socket_place(hooked.remit.environment)))
        assert [ask(hooked, line) for line in ("ls", "echo x > .env")] == ["allow", "deny"]


@pytest.mark.slow
def test_HOK_07_a_change_of_the_rules_counts_at_once(hooked: Hooked) -> None:
    ask(hooked, "ls")
    resident(hooked)
    assert ask(hooked, "ls") == "allow"
    hooked.remit.config.mkdir(exist_ok=True)
    rules = hooked.remit.config / "policy.yaml"
    rules.write_text("version: 1\ncapabilities:\n  - {name: no, match: {syscall: process.exec}, action: deny}\n")
    assert ask(hooked, "ls") == "deny"
    rules.write_text("nonsense: [")
    assert ask(hooked, "ls") == "deny"
    rules.unlink()
    assert ask(hooked, "ls") == "allow"
    (hooked.remit.config / "permissions.yaml").write_text("version: 1\ndeny:\n  - command: [ls]\n")
    assert ask(hooked, "ls") == "deny"


@pytest.mark.slow
def test_HOK_07_one_that_is_killed_or_hangs_in_mid_call_does_not_matter(hooked: Hooked) -> None:
    ask(hooked, "ls")
    pid = resident(hooked)
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(1.0, os.kill, (pid, signal.SIGKILL)).start()
    assert ask(hooked, "ls") == "allow"
    second = resident(hooked)
    assert second != pid
    os.kill(second, signal.SIGSTOP)
    try:
        assert ask(hooked, "echo x > .env") == "deny"
    finally:
        os.kill(second, signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.parametrize("said", [b"", b"x" * 100, b"\xff" * 4, b"\0\0\0\3\0\0\0\1\0\0\0\0\0\0\0\0x"])
def test_HOK_07_what_answers_nonsense_is_not_believed(said: bytes, hooked: Hooked) -> None:
    """THR-hooks-impostor."""
    folder, name = socket_place(hooked.remit.environment)
    Path(folder).mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/{name}")
        listening.listen()

        def answer() -> None:
            with suppress(OSError):
                connection, _ = listening.accept()
                connection.sendall(said)
                connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        assert ask(hooked, "echo x > .env") == "deny"
        thread.join()


@pytest.mark.slow
def test_HOK_07_it_serves_no_other_environment_and_goes_with_its_socket(hooked: Hooked) -> None:
    ask(hooked, "ls")
    pid = resident(hooked)
    demanded = hooked.remit.from_nothing(
        "hook", "claude-code", stdin=json.dumps(hooked.bash("ls")), REMIT_HOOKS_INTENT="required"
    )
    assert word_of("claude-code", demanded) == "deny"
    folder, name = socket_place(hooked.remit.environment)
    (Path(folder) / name).unlink()
    until = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_HOK_07_the_client_knows_every_agent() -> None:
    assert AGENTS == AGENT_ROWS.keys() == set(AGENT_NAMES)


def test_HOK_07_the_client_imports_next_to_nothing_and_knows_the_state_folder(tmp_path: Path) -> None:
    given = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    for more in ({}, {"XDG_STATE_HOME": "/x/state"}, {"REMIT_STATE_DIR": "/y"}):
        code = "import os;from remit_server.runtime.own_files.places import state_folder as s;print(s(os.environ))"
        own = subprocess.run([sys.executable, "-c", code], env=given | more, capture_output=True, text=True, check=True)
        assert socket_place(given | more)[0] == f"{own.stdout.strip()}/hooks"
    code = "import sys, remit_server.start, remit_server.hooks.resident.client; print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in names if name.startswith("remit_")} == {
        *("remit_server", "remit_server.start", "remit_server.hooks"),
        *("remit_server.hooks.resident", "remit_server.hooks.resident.client"),
    }
    assert not {"typing", "collections", "json", "argparse", "subprocess", "pathlib", "dataclasses"} & set(names)
    assert state_folder({"REMIT_STATE_DIR": "/y"}) == Path("/y")
