"""Background processes: real programs in the real sandbox, started by a scripted model (BG-01)."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from rule_programs import need_sandbox

from remit_governance.audit.record import AuditKind
from remit_server.chat.lines import read_line
from remit_server.chat.replies import Chat
from remit_server.cli.console import draw_event
from remit_server.contract import ApprovalRequired
from remit_server.errors import ToolError
from remit_server.harness.approval.question import question_text
from remit_server.harness.background.printed import MOST_KEPT, Printed
from remit_server.harness.background.processes import MOST_RUNNING
from remit_server.transports.acp.turns import describe

pytestmark = pytest.mark.slow

SHOWN: tuple[Callable[[ApprovalRequired], Iterable[str]], ...] = (
    draw_event,
    lambda asked: [question_text(asked)],
    lambda asked: [describe(asked)],
)
"""How a question is shown in a terminal, as plain text, and by ACP."""
SERVES = "python3 -m http.server 8123"
ASKS = "curl -s http://127.0.0.1:8123/a.py"


def execute(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"calls": [intent("EXECUTE"), *calls]}


def start(command: str, **more: Any) -> dict[str, Any]:
    return call("start_process", command=command, **more)


def near(command: str, process: str = "p1") -> dict[str, Any]:
    return call("run_command", command=command, near=process)


async def played(make_bench: Any, *calls: dict[str, Any], prepare: Callable[[Path], Any] = lambda _: None) -> Bench:
    """Runs a turn whose model makes these calls, one per step, with each question allowed; returns the bench."""
    need_sandbox()
    bench: Bench = await make_bench(*(execute(each) for each in calls), {"text": "done"})
    prepare(bench.workspace)
    assert (await bench.ask("go")).status in {"completed", "failed"}
    return bench


def results(bench: Bench) -> list[Any]:
    return bench.of("tool_result")


async def gone(sought: bytes) -> None:
    """Waits until no process of this machine has this text in its command line."""
    while await asyncio.to_thread(_runs, sought):
        await asyncio.sleep(0.05)


def _runs(sought: bytes) -> bool:
    return any(sought in _words(entry) for entry in Path("/proc").glob("[0-9]*"))


def _words(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


async def test_BG_01_a_dev_server_is_started_asked_edited_under_restarted_and_stopped(make_bench: Any) -> None:
    need_sandbox()
    edit = call("edit_file", path="a.py", old_text="total = 0", new_text="total = 7")
    bench = await make_bench(
        execute(start(SERVES, port=8123), near(ASKS)),
        {"calls": [intent("CODE"), edit]},
        execute(near(ASKS), call("stop_process", process="p1"), start(SERVES, until="Serving")),
        execute(near(ASKS, "p2"), call("list_processes"), call("stop_process", process="p2"), near(ASKS, "p2")),
        {"text": "done"},
    )
    asker = Answering()
    assert (await bench.ask("go", asker=asker)).final_output == "done"
    started, before, _, after, stopped, again, second, listed, _, refused = results(bench)
    assert started.data == {
        "process": "p1",
        "running": True,
        "ports": [8123],
        "exit_code": None,
        "lost": 0,
        "met": True,
        "ready": True,
    }
    assert [("total = 0" in before.output), ("total = 7" in after.output), ("total = 7" in second.output)] == [True] * 3
    assert (stopped.data["running"], again.data["process"], again.data["ready"]) == (False, "p2", True)
    assert [each["running"] for each in listed.data["processes"]] == [False, True]
    assert refused.error.code == "not_found"
    assert [(e.process, e.state) for e in bench.of("process_changed")] == [
        *(("p1", "started"), ("p1", "ready"), ("p1", "ended")),
        *(("p2", "started"), ("p2", "ready"), ("p2", "ended")),
    ]
    assert asker.asked[0].command == SERVES
    told = [each.near for each in asker.asked]
    assert told == [None, "p1, port 8123", None, "p1, port 8123", None, "p2, port 8123"], (
        "a question says what it reaches"
    )
    assert ["p1, port 8123" in "\n".join(shown(asker.asked[1])) for shown in SHOWN] == [True] * len(SHOWN)
    assert asker.asked[0].effect == "execute"


async def test_BG_01_rules_and_answers_about_run_command_hold(make_bench: Any) -> None:
    need_sandbox()
    rules = """
version: 1
capabilities:
  - { name: no-sleep, match: { tool: run_command, syscall: process.exec, command: sleep }, action: deny, reason: "no" }
  - { name: run, match: { syscall: process.exec }, action: require_review, reason: "asked" }
  - { name: read, match: { syscall: [fs.read, fs.list] }, action: allow, reason: "read" }
"""
    steps = (execute(start("sleep 9")), execute(start("true; sleep 7")), execute(start("cat")), {"text": "done"})
    bench = await make_bench(*steps, policy=rules)
    asker = Answering("deny")
    await bench.ask("go", asker=asker)
    assert [each.error.code for each in results(bench)] == ["denied", "denied", "approval_denied"]
    assert bench.of("process_changed") == []
    assert len(asker.asked) == 1


async def test_BG_01_a_process_that_cannot_stay_is_a_failure_that_says_why(make_bench: Any) -> None:
    bench = await played(make_bench, start("echo cannot bind >&2; exit 3", port=8123))
    (ended,) = results(bench)
    assert (ended.error.code, ended.exit_code, "cannot bind" in ended.output) == ("command_failed", 3, True)


async def test_BG_01_it_takes_no_turn_of_commands(make_bench: Any) -> None:
    more = [start(f"sleep 60{n}") for n in range(MOST_RUNNING + 1)]
    bench = await played(make_bench, *more, call("run_command", command="echo seen"))
    *_, last, ran = results(bench)
    assert (last.error.code, ran.ok) == ("limit_reached", True), "BG-05"


@pytest.mark.usefixtures("each_sandbox")
async def test_BG_02_it_changes_nothing_and_scratch_is_thrown_away(make_bench: Any) -> None:
    """THR-background-nothing-is-written."""

    def prepare(root: Path) -> None:
        (root / "cache").mkdir()
        (root / "cache" / "old").write_text("old\n")

    tries = "exec 2>&1; echo x > new.txt; echo y >> a.py; rm a.py; cat cache/old; echo z > cache/new; cat cache/new; sleep 60"
    bench = await played(make_bench, start(tries, scratch=["cache"], until="z"), prepare=prepare)
    (began,) = results(bench)
    refused = ("Read-only file system", "Permission denied")  # the second where a container's root is another user
    assert sum(map(began.output.count, refused)) >= 3
    assert "old\nz" in began.output
    assert {str(each.relative_to(bench.workspace)) for each in bench.workspace.rglob("*")} == {
        "a.py",
        "cache",
        "cache/old",
    }
    (asked,) = bench.of("approval_required")
    assert "cache" in asked.title


async def test_BG_02_a_scratch_folder_outside_is_refused(make_bench: Any) -> None:
    bench = await played(make_bench, start("true", scratch=["../.."]), start("true", scratch=["missing"]))
    assert [each.error.code for each in results(bench)] == ["outside_workspace", "not_found"]


@pytest.mark.parametrize("name", [".env", ".env.local"])
@pytest.mark.parametrize(
    "look", [call("read_process", process="p1", seconds=0), call("run_command", command="true", near="p1")]
)
async def test_BG_02_a_secret_that_comes_or_is_saved_anew_ends_it_before_anything_is_told(
    make_bench: Any, name: str, look: dict[str, Any]
) -> None:
    """THR-background-a-secret-that-comes-later. The mount that hides a file does not hide another file that is renamed
    over it."""
    need_sandbox()
    prints = f"{SERVES} & while true; do cat .env .env.local 2>/dev/null; echo tick; sleep 0.1; done"
    bench = await make_bench(execute(start(prints, until="tick")), {"text": "done"}, execute(look), {"text": "done"})
    (bench.workspace / ".env").write_text("hidden\n")
    await bench.ask("go")
    (bench.workspace / "saved").write_text("laid bare\n")
    (bench.workspace / "saved").rename(bench.workspace / name)
    await bench.ask("read")
    first, last = results(bench)
    assert "hidden" not in first.output
    assert "laid bare" not in last.output
    assert last.data.get("running", False) is False
    assert bench.runtime.status("s").processes[0].running is False


async def test_BG_03_a_read_tells_what_is_new_and_no_secret(make_bench: Any) -> None:
    token = "ghp_" + "a1B2" * 9
    prints = f"echo one; sleep 0.5; echo {token[:20]}''{token[20:]}; echo two; sleep 60"
    reads = (call("read_process", process="p1", until="two", seconds=10), call("read_process", process="p1", seconds=0))
    bench = await played(make_bench, start(prints, until="one"), *reads)
    first, second, third = (each.output for each in results(bench))
    assert ("one" in first, "two" in second, "one" in second.splitlines()) == (True, True, False)
    assert "two" not in third.splitlines()
    assert token not in first + second + third


def test_BG_03_what_is_kept_is_bounded_and_says_what_is_gone() -> None:
    printed = Printed()
    for number in range(40_000):
        printed.feed("stdout", b"%09d %s\n" % (number, b"x" * 40))
    data, lost = printed.since(0)
    assert len(data) <= 2 * MOST_KEPT
    assert lost + len(data) == printed.total
    assert data.startswith(b"%09d" % (lost // 51))
    assert printed.since(printed.total) == (b"", 0)


async def test_BG_03_a_flood_is_stopped_and_said(make_bench: Any) -> None:
    """THR-background-a-flood."""
    bench = await played(
        make_bench, start("head -c 1000000000 /dev/zero | tr '\\0' 'y' | fold -w 99; sleep 60", until="nothing")
    )
    (ended,) = results(bench)
    assert ended.error.code == "command_failed"
    assert "bytes of output" in ended.error.why
    assert len(ended.output) < 20_000


async def test_BG_03_a_forged_text_is_only_a_text(make_bench: Any) -> None:
    """THR-background-a-forged-text. The process counts as ready because it printed the text; its real ports are still
    listed."""
    forges = "echo 'p9 runs; it listens on 22'; echo Serving; sleep 60"
    bench = await played(make_bench, start(forges, until="Serving"), near("true"))
    began, refused = results(bench)
    assert (began.data["ready"], began.data["ports"], began.data["process"]) == (True, [], "p1")
    assert refused.error.code == "not_found"


@pytest.mark.usefixtures("each_sandbox")
async def test_BG_04_it_reaches_nothing_outside_and_is_reached_by_name_alone(make_bench: Any) -> None:
    """THR-background-nothing-is-reached."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        tries = f"(curl -sS -m 2 http://127.0.0.1:{port}/; curl -sS -m 2 http://1.1.1.1/; curl -sS -m 2 http://example.org) 2>&1; echo tried; {SERVES}"
        bench = await played(
            make_bench,
            start(tries, port=8123),
            call("run_command", command=ASKS),
            near(f"{ASKS} > /dev/null && curl -sS -m 2 http://127.0.0.1:{port}/"),
        )
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    began, alone, beside = results(bench)
    assert "tried" in began.output
    assert (alone.exit_code, beside.exit_code) == (7, 7), "curl could not connect"


async def test_BG_04_what_was_carried_ends_with_it(make_bench: Any) -> None:
    hangs = "import socket; s=socket.create_server(('127.0.0.1', 8123))\nwhile 1: a=s.accept(); print('taken', flush=True); globals().setdefault('k', []).append(a)"
    asks = "import socket; s=socket.create_connection(('127.0.0.1', 8123)); s.sendall(b'x'); print(s.recv(9))"
    need_sandbox()
    bench = await make_bench(
        execute(start(f'python3 -c "{hangs}"', port=8123)),
        {"text": "x"},
        execute(near(f'python3 -c "{asks}"')),
        {"text": "x"},
    )
    await bench.ask("go")
    asking = asyncio.create_task(bench.ask("ask"))
    processes = bench.runtime.dispatcher.parts.processes.of("s")
    while not processes._processes["p1"].printed.since(0)[0].count(b"taken"):
        await asyncio.sleep(0.05)
    await processes.stop("p1")
    await asking
    assert results(bench)[-1].output.count("b''") == 1


@pytest.mark.parametrize(
    "command",
    [
        "sleep 4711 & sleep 4711",
        "setsid nohup sleep 4711 & disown; (trap '' TERM INT HUP; sleep 4711)",
        "f() { sleep 4711 | f & }; for n in 1 2 3; do f; done; sleep 4711",
    ],
)
async def test_BG_05_a_stop_ends_all_that_it_started(make_bench: Any, command: str) -> None:
    """THR-background-what-will-not-end."""
    bench = await played(make_bench, start(command), call("stop_process", process="p1"))
    assert len(results(bench)) == 2
    await gone(b"4711")


async def test_BG_05_a_fork_bomb_is_bounded_and_stopped(make_bench: Any) -> None:
    """THR-background-a-fork-bomb."""
    bench = await played(make_bench, start(":(){ :|:& };:; sleep 4712"), call("stop_process", process="p1"))
    assert len(results(bench)) == 2
    await gone(b"4712")


async def test_BG_05_a_turn_that_is_cut_short_while_it_starts_leaves_none(make_bench: Any) -> None:
    need_sandbox()
    bench = await make_bench(execute(start("sleep 4713", until="never")), {"text": "done"})
    asking = asyncio.create_task(bench.ask("go"))
    await bench.until("process_changed")
    bench.runtime.cancel()
    assert (await asking).status == "cancelled"
    assert [each.running for each in bench.runtime.status("s").processes] == [False]
    await gone(b"4713")


async def test_BG_06_an_end_between_turns_is_shown_with_the_next_and_all_is_audited(make_bench: Any) -> None:
    need_sandbox()
    bench = await make_bench(execute(start("sleep 0.5; exit 4")), {"text": "one"}, {"text": "two"})
    await bench.ask("go")
    while bench.runtime.status("s").processes[0].running:
        await asyncio.sleep(0.05)
    assert [each.state for each in bench.of("process_changed")] in (["started"], ["started", "ended"])
    await bench.ask("again")
    assert [each.state for each in bench.of("process_changed")] == ["started", "ended"]
    kinds = [each.event.kind for each in bench.all_audit()]
    assert [kinds.count(each) for each in (AuditKind.PROCESS_STARTED, AuditKind.PROCESS_ENDED)] == [1, 1]


async def test_BG_06_a_session_that_is_taken_up_lists_it_as_ended(make_bench: Any) -> None:
    need_sandbox()
    first = await make_bench(execute(start("sleep 4714")), {"text": "one"})
    await first.ask("go")
    await first.runtime.close()
    await gone(b"4714")
    steps = (execute(call("list_processes"), call("read_process", process="p1"), start("sleep 61")), {"text": "two"})
    second = await make_bench(*steps, script="second.json")
    second.turns = 1
    await second.ask("go on")
    listed, refused, again = results(second)
    assert [(each["process"], each["running"]) for each in listed.data["processes"]] == [("p1", False)]
    assert refused.error.code == "not_found"
    assert again.data["process"] == "p2"


async def test_BG_07_only_the_person_publishes_a_port(make_bench: Any) -> None:
    """THR-background-no-model-publishes."""
    need_sandbox()
    publish = call("publish_port", process="p1", port=8123)
    bench = await make_bench(execute(start(SERVES, port=8123), publish), {"text": "done"})
    await bench.ask("go")
    assert results(bench)[-1].error.code == "unknown_tool"
    chat = Chat(bench.runtime, bench.settings, "s", lambda: "n")
    asker = Answering("deny")
    typed = (await read_line(chat, "/processes publish p1 8123")).parts
    await bench.ask(*typed, asker=asker)
    assert asker.asked == [], "typing it was the answer"
    (address,) = bench.runtime.status("s").processes[0].published
    assert address.startswith("http://127.0.0.1:")
    got = await asyncio.to_thread(lambda: urllib.request.urlopen(f"{address}/a.py", timeout=10).read())
    assert b"total" in got
    if os.geteuid() == 0:  # only root can become another user
        asked = await asyncio.to_thread(subprocess.run, ["/usr/bin/curl", "-s", address], user=65534, check=False)
        assert asked.returncode in {52, 56}, "it was cut without an answer"
    assert [
        each.event.metadata["port"] for each in bench.all_audit() if each.event.kind is AuditKind.PORT_PUBLISHED
    ] == ["8123"]
    await bench.ask(*(await read_line(chat, "/processes stop p1")).parts, asker=asker)
    with pytest.raises(OSError):
        await asyncio.to_thread(lambda: urllib.request.urlopen(f"{address}/a.py", timeout=10).read())


async def test_BG_07_a_rule_that_denies_it_holds_for_the_person_too(make_bench: Any) -> None:
    need_sandbox()
    rules = """
version: 1
capabilities:
  - { name: none, match: { syscall: process.publish }, action: deny, reason: "no port" }
  - { name: run, match: { syscall: process.exec }, action: allow, reason: "run" }
  - { name: read, match: { syscall: [fs.read, fs.list] }, action: allow, reason: "read" }
"""
    bench = await make_bench(execute(start(SERVES, port=8123)), {"text": "done"}, policy=rules)
    await bench.ask("go")
    chat = Chat(bench.runtime, bench.settings, "s", lambda: "n")
    await bench.ask(*(await read_line(chat, "/processes publish p1 8123")).parts)
    assert results(bench)[-1].error.code == "denied"


def command(line: str, **more: Any) -> dict[str, Any]:
    return call("run_command", command=line, **more)


async def running(bench: Bench) -> tuple[asyncio.Task[Any], Chat]:
    """Starts a turn whose command has printed something and goes on; returns the turn, and the chat of its session."""
    asking = asyncio.create_task(bench.ask("go"))
    await bench.until("tool_output")
    return asking, Chat(bench.runtime, bench.settings, "s", lambda: "n")


ALLOWS = """
version: 1
capabilities:
  - { name: run, match: { syscall: [process.exec, net.connect] }, action: allow, reason: "all" }
  - { name: files, match: { syscall: [fs.read, fs.list, fs.write] }, action: allow, reason: "all" }
"""
READS = call("read_process", process="p1", until="later", seconds=30)
OUTLIVES = "echo begun; echo x > made.txt; sleep 3; echo later; sleep 4721"


async def test_BG_08_a_command_that_the_person_sends_there_goes_on(make_bench: Any) -> None:
    need_sandbox()
    bench = await make_bench(
        execute(command(OUTLIVES, timeout=2)),
        # As many commands as may run at once: they can start only if the background command has given back its slot.
        execute(command("echo one"), command("echo two"), READS, near("true"), call("stop_process", process="p1")),
        {"text": "done"},
    )
    asking, chat = await running(bench)
    assert "p1" in (await read_line(chat, "/background")).text
    assert (await asking).status == "completed"
    sent, one, two, read, reached, stopped = results(bench)
    assert (sent.ok, sent.data["process"], sent.changed_files) == (True, "p1", ())
    assert (one.ok, two.ok) == (True, True)
    assert read.output.index("begun") < read.output.index("later"), (
        "what it printed before is kept, and its time is over"
    )
    assert (reached.error.code, stopped.data["running"]) == ("not_found", False)
    await gone(b"4721")
    assert not (bench.workspace / "made.txt").exists(), "what it wrote is thrown away"
    assert [(e.process, e.state) for e in bench.of("process_changed")] == [("p1", "started"), ("p1", "ended")]
    started, ended = (
        [each.event for each in bench.all_audit() if each.event.kind is kind]
        for kind in (AuditKind.PROCESS_STARTED, AuditKind.PROCESS_ENDED)
    )
    assert [each.metadata.get("sent") for each in started] == ["by the person"]
    assert len(ended) == 1


@pytest.mark.parametrize(
    "more", [{"network": ["example.org"]}, {"near": "p1"}], ids=["that reaches hosts", "that reaches a process"]
)
async def test_BG_08_a_command_is_not_sent_there(make_bench: Any, more: dict[str, Any]) -> None:
    need_sandbox()
    before = [start(SERVES, port=8123)] if "near" in more else []
    steps = (execute(*before, command("echo begun; sleep 2; echo x > made.txt", **more)), {"text": "done"})
    bench = await make_bench(*steps, policy=ALLOWS)
    asking, chat = await running(bench)
    with pytest.raises(ToolError, match="reaches"):
        await read_line(chat, "/background")
    await asking
    assert results(bench)[-1].changed_files == ("made.txt",), "it went on as it was"


async def test_BG_08_where_no_command_runs_none_is_sent(make_bench: Any) -> None:
    bench = await make_bench(execute(command("echo one")), {"text": "done"})
    chat = Chat(bench.runtime, bench.settings, "s", lambda: "n")
    for _ in range(2):
        with pytest.raises(ToolError) as error:
            await read_line(chat, "/background")
        assert error.value.code == "not_found"
        await bench.ask("go")


async def test_BG_08_one_more_than_there_may_be_stays_where_it_is(make_bench: Any) -> None:
    need_sandbox()
    more = [start(f"sleep 60{n}") for n in range(MOST_RUNNING)]
    bench = await make_bench(execute(*more, command("echo begun; sleep 2; echo x > made.txt")), {"text": "done"})
    asking, chat = await running(bench)
    with pytest.raises(ToolError) as error:
        await read_line(chat, "/background")
    assert error.value.code == "limit_reached"
    await asking
    assert results(bench)[-1].changed_files == ("made.txt",)


async def test_BG_08_what_was_sent_there_outlives_its_turn_and_ends_with_the_server(make_bench: Any) -> None:
    """THR-background-a-command-that-was-sent."""
    need_sandbox()
    bench = await make_bench(execute(command("echo begun; sleep 4722")), execute(command("sleep 60")), {"text": "done"})
    asking, chat = await running(bench)
    await read_line(chat, "/background")
    bench.runtime.cancel()
    assert (await asking).status == "cancelled"
    assert [each.running for each in bench.runtime.status("s").processes] == [True]
    await bench.runtime.close()
    await gone(b"4722")


async def test_BG_08_a_secret_that_comes_ends_what_was_sent_there(make_bench: Any) -> None:
    need_sandbox()
    bench = await make_bench(
        execute(command("echo begun; while ! test -e .env; do sleep 0.1; done; cat .env; sleep 4723")),
        execute(call("read_process", process="p1", until="TOKEN", seconds=30)),
        {"text": "done"},
    )
    asking, chat = await running(bench)
    await read_line(chat, "/background")
    (bench.workspace / ".env").write_text("TOKEN=words\n")
    await asking
    assert "TOKEN" not in results(bench)[-1].output
    await gone(b"4723")


async def test_BG_05_a_person_says_how_many_run_at_once(make_bench: Any) -> None:
    need_sandbox()
    bench = await make_bench(execute(start("sleep 601"), start("sleep 602")), {"text": "done"}, background=1)
    await bench.ask("go")
    assert sorted(each.error.code if each.error else "" for each in results(bench)) == ["", "limit_reached"]
