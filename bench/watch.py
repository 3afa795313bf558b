"""What everyday work costs, in calls of functions: without a clock, so that other work on the machine does not matter.

`python bench/watch.py` does each work once to warm up, does it again with other inputs, and counts the functions that
Python calls meanwhile, its own and those written in C, in all threads of the process. Programs that it starts are not
counted, nor is the work of C between two calls: a regular expression on a long text is one call. `--check` compares
with `watch.json` and fails if a work takes over a tenth more or less; `--write` writes that table. If you write it, say
in the commit what grew or shrank, and why.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from bench_runtime import benches, call, intent

from remit_governance.audit.reading.query import AuditFilter, query_audit
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.secrets.redaction import Redactor
from remit_governance.values import Action
from remit_server.contract import ModelConfig
from remit_server.harness.approval.review import unified
from remit_server.harness.commands.live_output import LiveOutput
from remit_server.models.ports import UserMessage
from remit_server.sessions.recorder import Recorder
from remit_server.sessions.session_file import SessionFile
from remit_server.tools.spec import FileChange
from remit_server.workspace.content.files import image_of
from remit_server.workspace.paths.workspace_path import WorkspacePath

TABLE = Path(__file__).with_suffix(".json")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
MOST, MOST_IN_SANDBOX = 0.1, 0.2
"""How much more or less than the table a work may take; one that waits for a program checks on it more often on a busy
machine."""
IN_SANDBOX = frozenset({"git_status of 300", "run_command, with a yes"})
FILES, CALLS = 300, 10

Round = Callable[[int], Awaitable[object]]
"""Does a work once; the number makes its inputs differ from those of other rounds."""
Work = Callable[[Path], AbstractAsyncContextManager[Round]]


class Calls:
    """Counts calls while it is `on`, in every thread that was started after it was made."""

    def __init__(self) -> None:
        self.on, self.count = False, 0
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    async def of(self, work: Round) -> int:
        """Returns the calls in the second round of a work; the first round fills the caches."""
        await work(1)
        gc.collect()
        self.count, self.on = 0, True
        try:
            await work(2)
        finally:
            self.on = False
        return self.count

    def _note(self, _frame: FrameType, event: str, _argument: object) -> None:
        if self.on and event in {"call", "c_call"}:
            self.count += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the table")
    parser.add_argument("--write", action="store_true", help="write the table")
    told = parser.parse_args()
    kept = json.loads(TABLE.read_text())
    if told.check and kept["python"] != PYTHON:
        print(f"the table is of Python {kept['python']}: nothing to compare with {PYTHON}")
        return
    modules = {f"modules: {words}": count_modules(words) for words in STARTS}
    found = {**asyncio.run(measure()), **modules}
    print(table(found, kept["works"]))
    if told.write:
        written = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "python": PYTHON, "works": found}
        TABLE.write_text(json.dumps(written, indent=2) + "\n")
    if told.check and (other := ", ".join(differing(found, kept["works"]))):
        sys.exit(f"others than in {TABLE.name}: {other}\nRun `python bench/watch.py --write`; say why in the commit.")


async def measure() -> dict[str, int]:
    calls = Calls()
    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        # A sandbox looks at each place of PATH, below HOME and in variables; what a person has there must not count.
        os.environ.clear()
        os.environ |= {"HOME": folder, "PATH": os.defpath, "LANG": "C.UTF-8"}
        for name, work in {**IN_A_TURN, **ALONE}.items():
            place = Path(folder) / name.replace(" ", "-")
            place.mkdir()
            async with work(place) as round_:
                found[name] = await calls.of(round_)
    return found


def differing(found: Mapping[str, int], kept: Mapping[str, int]) -> list[str]:
    """Returns the names of works that are new, gone, or differ by more than they may."""
    return [
        name
        for name in sorted({*found, *kept})
        if name not in found or name not in kept or abs(found[name] - kept[name]) > _most(name) * kept[name]
    ]


def _most(name: str) -> float:
    return MOST_IN_SANDBOX if name in IN_SANDBOX else MOST


def table(found: Mapping[str, int], kept: Mapping[str, int]) -> str:
    lines = [f"{'':40}{'calls':>12}{'in the table':>14}{'':>8}"]
    for name, calls in found.items():
        share = f"{calls / kept[name] - 1:+8.1%}" if name in kept else ""
        lines.append(f"{name:40}{calls:>12,}{kept.get(name, ''):>14}{share}")
    return "\n".join(lines)


def in_a_turn(make: Callable[[int], Mapping[str, Any]], declared: str) -> Work:
    """A turn of a scripted model that makes a few calls of one tool, in a repository of some hundred files; `make(n)`
    gives the arguments of call `n`, with its tool as `tool`."""

    @asynccontextmanager
    async def work(folder: Path) -> AsyncIterator[Round]:
        steps = [
            step
            for turn in (1, 2)
            for step in (
                {
                    "calls": [
                        intent(declared),
                        *(
                            call(**{"name" if k == "tool" else k: v for k, v in make(turn * CALLS + n).items()})
                            for n in range(CALLS)
                        ),
                    ]
                },
                {"text": "done"},
            )
        ]
        async with benches(folder) as open_bench:
            bench = await open_bench(*steps)
            fill(bench.workspace)

            async def ask(number: int) -> None:
                result = await bench.ask(f"go on: {number}")
                wrong = [event.summary for event in bench.of("tool_result") if not event.ok]
                assert (result.status, wrong) == ("completed", [])

            yield ask

    return work


def fill(workspace: Path) -> None:
    for number in range(FILES):
        file = workspace / f"src/part_{number % 10}/file_{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"value_{number} = {number}\n" * 20)
    git = ["git", "-C", str(workspace), "-c", "user.name=n", "-c", "user.email=e@x"]
    for words in (["init", "-q", "--template="], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], check=True)


def path_of(number: int) -> str:
    return f"src/part_{number % 10}/file_{number}.py"


IN_A_TURN: Mapping[str, Work] = {
    "read_file": in_a_turn(lambda n: {"tool": "read_file", "path": path_of(n)}, "ANALYZE"),
    "write_file, with a yes": in_a_turn(
        lambda n: {"tool": "write_file", "path": f"new_{n}.py", "content": "x = 1\n" * 50}, "CODE"
    ),
    "edit_file, with a yes": in_a_turn(
        lambda n: {
            "tool": "edit_file",
            "path": path_of(n),
            "old_text": f"value_{n} = {n}",
            "new_text": "other = 1",
            "line": 3,
        },
        "CODE",
    ),
    "list_files of 300": in_a_turn(lambda n: {"tool": "list_files", "pattern": f"**/*{n % 10}.py"}, "ANALYZE"),
    "search_files in 300": in_a_turn(lambda n: {"tool": "search_files", "pattern": f"value_{n}\\b"}, "ANALYZE"),
    "git_status of 300": in_a_turn(lambda n: {"tool": "git_status"}, "ANALYZE"),
    "run_command, with a yes": in_a_turn(lambda n: {"tool": "run_command", "command": f"echo {n}"}, "EXECUTE"),
}
"""Each works ten times in one turn."""


def alone(make: Callable[[Path], Callable[[int], object]]) -> Work:
    """A work without a runtime; `make` prepares it."""

    @asynccontextmanager
    async def work(folder: Path) -> AsyncIterator[Round]:
        do = make(folder)

        async def round_(number: int) -> None:
            do(number)

        yield round_

    return work


def decisions(_: Path) -> Callable[[int], object]:
    rules = [
        {"name": f"r{n}", "match": {"syscall": ["fs.write"], "path_glob": [f"packages/p{n}/**"]}, "action": "allow"}
        for n in range(100)
    ]
    policy = compile_policy([Source("watch", json.dumps({"version": 1, "capabilities": rules}))])

    def decide(number: int) -> None:
        for n in range(500):
            form = {"syscall": "fs.write", "path": f"packages/p{n % 120}/src/{number}_{n}.py", "intent": "CODE"}
            evaluate(policy, parse_action(form))

    return decide


def commands(_: Path) -> Callable[[int], object]:
    policy = compile_policy([Source("watch", json.dumps({"version": 1, "capabilities": []}))])
    lines = (
        "cd src && python -m pytest -q tests/test_{n}.py | tail -n 5",
        "for f in *.py; do sed -i 's/a{n}/b/' \"$f\"; done",
        "git log --oneline -n {n} -- src && npm run build:{n}",
        "find . -name '*_{n}.pyc' -exec rm {{}} +",
    )

    def judge(number: int) -> None:
        for n in range(40):
            script = lines[n % len(lines)].format(n=number * 100 + n)
            evaluate(policy, Action("process.exec", script=script))

    return judge


EVENT = AuditEvent(
    AuditKind.TOOL_INTENT, caller="model", session_id="s", turn_id="1", step=1, tool_call_id="c", tool_name="read_file"
)


def appends(folder: Path) -> Callable[[int], object]:
    log = AuditLog(folder / "audit.sqlite3")

    def append(number: int) -> None:
        for n in range(200):
            log.write(replace(EVENT, tool_call_id=f"{number}-{n}"))

    return append


def queries(folder: Path) -> Callable[[int], object]:
    path = folder / "audit.sqlite3"
    appends(folder)(0)

    def query(number: int) -> None:
        for n in range(20):
            assert query_audit(path, AuditFilter(tool_call_id=f"0-{number * 20 + n}", limit=50))

    return query


def redacted(_: Path) -> Callable[[int], object]:
    redactor = Redactor()
    words = ["value", "token", "https://example.org/a?b=c", "AKIA", "key:", "-----", "x" * 40]

    def redact(number: int) -> None:
        choose = random.Random(number)
        for _ in range(100):
            redactor.redact(" ".join(choose.choice(words) for _ in range(300)))

    return redact


def floods(_: Path) -> Callable[[int], object]:
    def flood(number: int) -> None:
        live = LiveOutput(lambda _: None, Redactor().redact)
        for _ in range(16):
            live.feed("stdout", f"{number}\n".encode() * 32_768)
        live.finish()

    return flood


def diffs(_: Path) -> Callable[[int], object]:
    def diff(number: int) -> None:
        choose = random.Random(number)
        old = [f"    value_{n} = {choose.random()}\n" for n in range(10_000)]
        new = list(old)
        for at in choose.sample(range(len(old)), 300):
            new[at] = "    changed = 1\n"
        path = WorkspacePath("x.py", Path())
        unified(FileChange(path, image_of("".join(old).encode()), "".join(new).encode()))

    return diff


def sessions(folder: Path) -> Callable[[int], object]:
    model = ModelConfig(provider="watch", model="watch")

    def take_up(number: int) -> None:
        path = folder / f"{number}.jsonl"
        for turn in ("one", "two"):
            recorder = Recorder(SessionFile(path), "watch", "/w", "0", Redactor().redact_json)
            recorder.begin(turn, model)
            for n in range(100):
                recorder.keep(UserMessage(f"message {n} of {turn}"), f"message {n}")
            recorder.file.close()

    return take_up


ALONE: Mapping[str, Work] = {
    "500 decisions, 100 rules": alone(decisions),
    "40 command lines judged": alone(commands),
    "200 audit records": alone(appends),
    "20 audit queries in 200": alone(queries),
    "180 kB redacted": alone(redacted),
    "a megabyte of short lines": alone(floods),
    "300 hunks in 10,000 lines": alone(diffs),
    "a session kept, and taken up": alone(sessions),
}
STARTS = ("--help", "session list", "policy check", "ask hello", "serve")


def count_modules(words: str) -> int:
    """Returns the number of modules that a command imports; they are what its start costs."""
    with tempfile.TemporaryDirectory() as folder:
        own = {f"XDG_{name}_HOME": folder for name in ("CONFIG", "STATE", "DATA", "CACHE")}
        command = [sys.executable, "-X", "importtime", "-m", "remit_server.cli.main", *words.split()]
        plain = {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}
        done = subprocess.run(
            command, cwd=folder, env={**plain, **own}, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    return sum(line.startswith(b"import time:") for line in done.stderr.splitlines()) - 1


if __name__ == "__main__":
    main()
