"""Secrets on every way out of a running server: its messages, whatever is asked, and the files that it keeps
(SEC-01)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from lsp_pipe import Json
from running_server import RunningServer, what_is_kept
from threat_bench import own

pytestmark = pytest.mark.slow

TOKEN = "ghp_" + "a1B2" * 9
LINES = [f"MIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRge{n:04d}" for n in range(20)]
KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *LINES, "-----END RSA PRIVATE KEY-----"])
PIECES = (TOKEN, TOKEN[:12], *(line[4:40] for line in LINES))


class Watched:
    """A server all of whose events are kept."""

    def __init__(self, server: RunningServer) -> None:
        self.server, self.events = server, list[Json]()
        self._turns = 0

    def ask(self, part: Json) -> list[Json]:
        """Runs a turn, allows whatever the server asks, and returns all its events."""
        self._turns += 1
        name = f"turn-{self._turns}"
        found = self.server.client.turn(name, self.server.client.run(name, part), "allow")
        self.events += found
        return found

    def own(self, tool: str, **arguments: Any) -> Json:
        """Runs a call of the person's own and returns its `tool_result`."""
        (result,) = (event for event in self.ask(own(tool, **arguments)) if event["kind"] == "tool_result")
        return result

    def nowhere(self, *pieces: str) -> None:
        """Ends the server, and asserts that no event and no file of its state contains one of the pieces."""
        self.server.client.exit()
        said = json.dumps(self.events)
        kept = [path.read_bytes() for path in what_is_kept(self.server.folder / "state")]
        assert kept
        for piece in pieces:
            assert piece not in said, piece
            assert not any(piece.encode() in each for each in kept), piece


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """A server with secrets in a file of its workspace."""
    with RunningServer(tmp_path) as server:
        (server.workspace / "conf.py").write_text(f"first = 1\nTOKEN = '{TOKEN}'\n{KEY}\nlast = 2\n")
        yield Watched(server)


def test_THR_redaction_a_key_read_line_by_line_from_a_running_server(watched: Watched) -> None:
    """THR-redaction-key-server: a single line of a key looks like any other line; only the first one says that it is a
    key."""
    for offset in range(1, 26):
        watched.own("read_file", path="conf.py", offset=offset, limit=1)
    assert "last = 2" in watched.own("read_file", path="conf.py", offset=25, limit=1)["output"]
    for line in LINES[3:6]:
        watched.own("search_files", pattern="^MIIE", context_lines=5)
        for given in (" ".join(line), line[:20].lower()):
            watched.own("edit_file", path="conf.py", old_text=given, new_text="x")
    watched.nowhere(*PIECES)


def test_THR_redaction_a_running_servers_search_confirms_no_guess(watched: Watched) -> None:
    """THR-redaction-search-server: no search confirms a guess, and what the person searches for is not in the kept
    files."""
    for guess in (
        *(TOKEN[:length] for length in range(5, 14)),
        f"^TOKEN = '{TOKEN[:5]}",
        "TOKEN = 'ghp_a",
        LINES[4][:12],
    ):
        assert watched.own("search_files", pattern=guess)["output"].startswith("0 matches"), guess
    assert watched.own("search_files", pattern="TOKEN = ")["output"].startswith("1 match ")


@pytest.mark.usefixtures("sandbox")
def test_THR_redaction_a_running_server_cuts_nothing_before_it_looks(watched: Watched) -> None:
    """THR-redaction-cut-server: the secret lies across every place where a line or an output is cut, also while it is
    printed."""
    shop = watched.server.workspace
    for before in (200, 282, 299, 300, 1_982, 2_000, 9_990):
        (shop / "long.txt").write_text("x" * (before - 1) + " " + TOKEN + " " + "y" * 20_000 + "\n")
        watched.own("read_file", path="long.txt")
        watched.own("search_files", pattern="y$|^x|ghp_", path="long.txt")
    for secret in (TOKEN, KEY):
        for lead in (8_000, 9_995, 12_000):
            (shop / "out.txt").write_text("x\n" * (lead // 2) + secret + "\n" + ("y" * 94 + "\n") * 100)
            watched.own("run_command", command="cat out.txt; cat out.txt >&2")
    watched.own("run_command", command=f"printf %s {TOKEN[:9]}; sleep 1; printf %s {TOKEN[9:]}")
    assert "tool_output" in {event["kind"] for event in watched.events}
    watched.nowhere(TOKEN, *PIECES[2:])


def test_THR_redaction_whatever_a_running_servers_model_puts_into_a_call(tmp_path: Path) -> None:
    """THR-redaction-calls-server: the secret is a tool, an intent, a key, a value, a path, or an argument of the wrong
    type."""
    calls = [
        call(TOKEN),
        call("select_active_intent", intent=TOKEN),
        intent("READ_FILE"),
        call("read_file", path=f"no/{TOKEN}"),
        call("read_file", **{TOKEN: {"deep": [TOKEN, {TOKEN: TOKEN}]}}),
        call("select_active_intent", intent="CODE", justification=f"because {TOKEN}"),
        call("edit_file", path=f"missing/{TOKEN}", old_text=TOKEN, new_text="x"),
        call("run_command", command=f"echo {TOKEN}"),
    ]
    (tmp_path / "script.json").write_text(json.dumps([{"calls": calls}, {"text": "done"}]))
    with RunningServer(tmp_path, REMIT_MODEL=f"script:{tmp_path / 'script.json'}") as server:
        watched = Watched(server)
        watched.ask({"type": "text", "text": "go"})
        assert sum(event["kind"] == "tool_result" for event in watched.events) == 6  # not the two intents
        watched.nowhere(TOKEN)
