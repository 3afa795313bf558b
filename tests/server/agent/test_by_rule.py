"""MOD-28: what a fixed pattern can do is done before one of the smallest models is asked, and the built-in model is
named as the one that did it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from command_line import CommandLine, Done
from messages import SAYS
from small_server import small_server

from remit_server.models.built_in.answers import LINES_LEFT_OUT

pytestmark = pytest.mark.slow

CART = "total = 1\nprint(total)\n"
ANSWER = {"answer": "It is one."}


@pytest.fixture
def remit(tmp_path: Path) -> CommandLine:
    folder = tmp_path / "shop"
    (folder / "lib").mkdir(parents=True)
    (folder / "cart.py").write_text(CART)
    (folder / "lib/tax.py").write_text("RATE = 1\n\n\ndef tax():\n    return RATE\n")
    (folder / "long.txt").write_text("line\n" * 4_000)
    subprocess.run(["git", "init", "-q", folder], check=True)
    return CommandLine.alone(folder, tmp_path)


def ask(remit: CommandLine, reference: str, *words: str, approve: str = "session") -> Done:
    return remit("ask", "--json", "--approve", approve, "--model", reference, *words)


def called(done: Done) -> list[str]:
    return [event["tool"] for event in done.of("tool_call") if event["tool"] != "select_active_intent"]


def result(done: Done) -> tuple[str, str]:
    (ended,) = done.of("run_completed")
    return ended["result"]["status"], ended["result"]["final_output"]


@pytest.mark.parametrize(
    ("sentence", "tools", "files"),
    [
        ("rename total to subtotal in cart.py", ["edit_file"], {"cart.py": CART.replace("total", "subtotal")}),
        ("set RATE to 2 in lib/tax.py", ["read_file", "edit_file"], {"lib/tax.py": "RATE = 2\n"}),
        ("RATE in lib/tax.py has to go up a bit, 2", ["read_file", "edit_file"], {"lib/tax.py": "RATE = 2\n"}),
        ("delete cart.py", ["delete_file"], {"cart.py": None}),
        ("show cart.py", ["read_file"], {}),
        ("git status", ["git_status"], {}),
    ],
)
def test_MOD_28_a_rule_does_it_and_the_model_is_not_asked(
    remit: CommandLine, sentence: str, tools: list[str], files: dict[str, str | None]
) -> None:
    asked: list[bytes] = []
    with small_server(ANSWER, trial=False, asked=asked) as reference:
        done = ask(remit, reference, sentence)
    status, said = result(done)
    assert (done.code, status, called(done), asked) == (0, "completed", tools, [])
    assert SAYS.the_built_in_model_did in said
    for name, text in files.items():
        file = remit.workspace / name
        assert file.read_text().startswith(text) if text else not file.exists()
    assert len(done.of("intent_selected")) == len(tools), "each step declares"


@pytest.mark.parametrize(
    "sentence",
    [
        "what does tax do?",
        "write a test for lib/tax.py",
        "rename total",
        "rename total to subtotal in cart.py and explain why",
    ],
)
def test_MOD_28_what_no_rule_does_the_model_is_asked(remit: CommandLine, sentence: str) -> None:
    asked: list[bytes] = []
    with small_server(ANSWER, trial=False, asked=asked) as reference:
        done = ask(remit, reference, sentence)
    assert (result(done), len(asked)) == (("completed", "It is one."), 1)
    assert sentence in json.loads(asked[0])["messages"][-1]["content"] or "tool" in asked[0].decode()


def test_MOD_28_a_model_goes_on_with_what_a_rule_found(remit: CommandLine) -> None:
    """The file is longer than a rule reads: the read is kept, and the model answers."""
    asked: list[bytes] = []
    with small_server(ANSWER, trial=False, asked=asked) as reference:
        done = ask(remit, reference, "add the line 'end' at the end of long.txt")
    assert (called(done), len(asked), result(done)[1]) == (["read_file"], 1, "It is one.")
    assert b"long.txt" in asked[0]
    assert b"line" in asked[0]


def test_MOD_28_a_person_is_shown_more_than_the_models_window_holds(remit: CommandLine) -> None:
    """The next request to the model contains only what fits."""
    text = "".join(f"value_{n} = {n}\n" for n in range(200))
    (remit.workspace / "values.py").write_text(text)
    asked: list[bytes] = []
    with small_server(ANSWER, trial=False, asked=asked) as reference:
        first = remit(
            *("ask", "--json", "--approve", "session", "--model", reference, "show values.py"),
            REMIT_CONTEXT_TOKENS="2048",
        )
        (session,) = {event["session_id"] for event in first.lines if event.get("session_id")}
        second = remit(
            *("ask", "--json", "--model", reference, "--resume", session, "and what is it good for?"),
            REMIT_CONTEXT_TOKENS="2048",
        )
    assert "value_199 = 199" in result(first)[1]
    assert (result(second), len(asked)) == (("completed", "It is one."), 1)
    assert len(asked[0]) < 12_000


def test_MOD_28_what_is_left_out_is_said(remit: CommandLine) -> None:
    with small_server(trial=False) as reference:
        (_, long), (_, part), (_, whole) = (
            result(ask(remit, reference, f"show {words}")) for words in ("long.txt", "lines 1-2 of cart.py", "cart.py")
        )
    last = long.count("line\n")
    assert LINES_LEFT_OUT.format(first=1, last=last, all=4_000) in long
    assert LINES_LEFT_OUT.partition("{")[0] not in part + whole


def test_MOD_28_the_persons_no_to_a_rules_call_ends_the_turn(remit: CommandLine) -> None:
    asked: list[bytes] = []
    with small_server(ANSWER, trial=False, asked=asked) as reference:
        done = ask(remit, reference, "delete cart.py", approve="never")
    assert (result(done)[0], asked, (remit.workspace / "cart.py").exists()) == ("denied", [], True)


def test_MOD_28_what_stands_beside_the_sentence_is_read_by_the_model(remit: CommandLine) -> None:
    asked: list[bytes] = []
    with small_server(ANSWER, trial=False, asked=asked) as reference:
        done = ask(remit, reference, "rename total to subtotal in cart.py, see @lib/tax.py")
        again = ask(remit, reference, "--attach", "lib/tax.py", "rename total to subtotal in cart.py")
    assert len(asked) == 2
    assert "edit_file" not in called(done) + called(again)


def test_MOD_28_help_is_of_rules_and_the_model(remit: CommandLine) -> None:
    with small_server(trial=False) as reference:
        _, said = result(ask(remit, reference, "what can you do?"))
    assert "/status" in said
    assert SAYS.the_built_in_model_did not in said


def test_MOD_28_the_next_message_may_follow_a_rules_turn(remit: CommandLine) -> None:
    """The conversation contains calls, though the model was never offered a tool."""
    asked: list[bytes] = []
    with small_server(ANSWER, ANSWER, trial=False, asked=asked) as reference:
        first = ask(remit, reference, "git status")
        (session,) = {event["session_id"] for event in first.lines if event.get("session_id")}
        second = ask(remit, reference, "--resume", session, "and what is the total?")
    assert (called(first), result(second), len(asked)) == (["git_status"], ("completed", "It is one."), 1)
