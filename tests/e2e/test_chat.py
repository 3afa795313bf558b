"""The chat at a real terminal: what it shows, what its keys do, and what it must never do (CLI-05 to CLI-07)."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from typing import Any

import pytest
from bench_runtime import call, intent
from chat_screen import PATIENCE_S, ChatScreen
from command_line import CommandLine
from messages import SAYS
from small_server import SHAPES

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

MARKDOWN = "Here is **bold** text.\n\n- one\n- two\n\n```python\nx = 1\n```\n\nAnd the end."
SIZES = [(24, 80), (50, 200)]


def writes(path: str, lines: int = 1) -> list[dict[str, Any]]:
    content = "".join(f"line_{n} = {n}\n" for n in range(lines))
    return [
        {"calls": [intent("CODE"), call("write_file", path=path, content=content)]},
        {"text": f"I wrote {path}."},
    ]


@pytest.mark.parametrize("size", SIZES)
def test_CLI_05_an_answer_is_drawn_into_the_scrollback(chat: Any, size: tuple[int, int]) -> None:
    with chat({"text": MARKDOWN}, size=size) as terminal:
        terminal.send("say it\r")
        terminal.until("And the end")
        terminal.until("completed · 0 calls")
        lines = [line.strip() for line in terminal.all_text.splitlines()]
        assert [line for line in lines if line in {"Here is bold text.", "• one", "• two", "x = 1"}] == [
            "Here is bold text.",
            "• one",
            "• two",
            "x = 1",
        ], "each once, and in order"
        assert b"\x1b[?1049h" not in terminal.raw, "no alternate screen"
        assert "❯ say it" in lines
        terminal.send("\x04")
        assert terminal.ended() == 0
        assert SAYS.continues_this_session in terminal.all_text


def test_CLI_05_a_message_that_waits_stands_above_its_own_answer(chat: Any) -> None:
    with chat({"text": "the first answer", "delay_s": 2.0}, {"text": "the second answer"}) as terminal:
        terminal.send("one question\r")
        terminal.until("running")
        terminal.send("another question\r")
        terminal.until("then: another question")
        terminal.until(r"the second answer[^§]*completed")
        said = [line.strip() for line in terminal.all_text.splitlines()]
        wanted = ["❯ one question", "the first answer", "❯ another question", "the second answer"]
        assert [line for line in said if line in wanted] == wanted


@pytest.mark.parametrize("first_change", SHAPES, indirect=True)
def test_MOD_27_from_an_empty_home_to_a_first_accepted_change_on_a_served_model(
    remit: CommandLine, first_change: tuple[str, str]
) -> None:
    """The person types three lines and presses one key."""
    reference, changed = first_change
    environment = {name: value for name, value in remit.environment.items() if name != "REMIT_MODEL"}
    with ChatScreen(remit.workspace, environment, 24, 80) as terminal:
        terminal.until(r"/help\s*$")
        terminal.send(f"/model {reference}\r")
        terminal.until(SAYS.messages_to_it_stay_on)
        terminal.send("call the total subtotal\r")
        terminal.until(r"allow\? \[y\] once")
        terminal.pump(0.6)
        terminal.send("y")
        terminal.until("It is called subtotal.")
        assert (remit.workspace / "src/cart.py").read_text() == changed


def test_CLI_07_a_no_with_words_reaches_the_model_and_is_no_message_to_come_back_to(
    chat: Any, remit: CommandLine
) -> None:
    with chat(*writes("b.py")) as terminal:
        terminal.send("write it\r")
        terminal.until(r"allow\? \[y\] once")
        terminal.pump(0.6)
        terminal.send("N")
        terminal.until("No, because:")
        terminal.send("use a set\r")
        terminal.until("completed|denied|not done")
        assert not (remit.workspace / "b.py").exists()
        (session,) = remit.state.rglob("session-*.jsonl")
        assert "use a set" in session.read_text()
        terminal.until("explore: ")
        terminal.pump(0.5)
        terminal.send("\x1b[A")
        terminal.until(r"❯ write it\s*\n[^❯]*$")


def hold_down(key: str, terminal: Any, shown: str) -> float:
    """Sends a key again and again, and twenty times more after `shown` is on the screen; returns the longest pause in
    seconds."""
    sent, left = [time.monotonic()], 20
    while left:
        assert sent[-1] < sent[0] + PATIENCE_S, f"waited for {shown!r} in vain:\n{terminal.text}"
        terminal.send(key)
        terminal.pump(0.05)
        sent.append(time.monotonic())
        left -= bool(re.search(shown, terminal.text))
    return max(later - earlier for earlier, later in pairwise(sent))


@pytest.mark.parametrize("size", SIZES)
def test_CLI_07_one_key_answers_and_not_too_early(chat: Any, remit: CommandLine, size: tuple[int, int]) -> None:
    with chat(*writes("new.py"), *writes("other.py"), size=size) as terminal:
        terminal.send("write it\r")
        longest = hold_down("y", terminal, r"allow\? \[y\] once")  # earlier keys came before the question
        if longest > 0.2:
            pytest.skip("this machine is too busy to hold a key down")
        assert not (remit.workspace / "new.py").exists()
        terminal.pump(0.6)
        terminal.send("x")
        terminal.pump(0.6)
        terminal.send("y")
        terminal.until("I wrote new.py")
        assert (remit.workspace / "new.py").exists()
        terminal.send("\x15write another\r")
        terminal.until(r"other.py[^§]*allow\?")
        terminal.pump(0.6)
        terminal.send("n")
        terminal.until("denied by you")
        assert not (remit.workspace / "other.py").exists()


def test_CLI_07_escape_is_a_no(chat: Any, remit: CommandLine) -> None:
    with chat(*writes("new.py")) as terminal:
        terminal.send("write it\r")
        terminal.until(r"allow\?")
        terminal.pump(0.6)
        terminal.send("\x1b")
        terminal.until("denied by you")
    assert not (remit.workspace / "new.py").exists()


@pytest.mark.parametrize("size", SIZES)
def test_CLI_07_a_long_question_is_not_allowed_before_its_end_was_shown(
    chat: Any, remit: CommandLine, size: tuple[int, int]
) -> None:
    with chat(*writes("long.py", 300), size=size) as terminal:
        terminal.send("write it\r")
        terminal.until(r"\d+ more lines: \[space\] next page")
        terminal.pump(0.6)
        terminal.send("y")
        terminal.pump(0.8)
        assert not (remit.workspace / "long.py").exists()
        left = re.search(r"(\d+) more lines", terminal.text)
        assert left is not None
        terminal.send(" ")
        terminal.until(rf"(?<!\d)(?!{left[1]} )\d+ more lines")
        terminal.pump(0.6)
        terminal.send("y")
        terminal.pump(0.8)
        assert not (remit.workspace / "long.py").exists()
        terminal.send("g")
        terminal.until(r"line_299[^§]*allow\?")
        terminal.pump(0.6)
        terminal.send("y")
        terminal.until("I wrote long.py")
        assert all(f"+line_{n} = {n}" in terminal.all_text for n in range(300)), "every line was shown"


def test_APP_10_the_edits_of_a_turn_are_asked_about_together(chat: Any, remit: CommandLine) -> None:
    one, other = ({"calls": [intent("CODE"), call("write_file", path=f"{n}.py", content="x = 1\n")]} for n in "ab")
    look = {"calls": [intent("READ_FILE"), call("read_file", path="b.py")]}
    with chat(one, other, look, {"text": "I wrote both."}) as terminal:
        terminal.send("/edits turn\r")
        terminal.until(r"them\s+when\s+the\s+turn\s+ends")
        terminal.send("write them\r")
        terminal.until(r"I wrote both[^§]*allow\?")
        assert not (remit.workspace / "b.py").exists()
        terminal.pump(0.6)
        terminal.send("y")
        terminal.until(r"completed · 4 calls")
        assert [(remit.workspace / name).read_text() for name in ("a.py", "b.py")] == ["x = 1\n"] * 2
        assert terminal.all_text.count("allowed once by you") == 1


def test_CLI_05_ctrl_c_stops_the_turn_and_twice_leaves(chat: Any, remit: CommandLine) -> None:
    with chat(*writes("new.py"), {"text": "again"}) as terminal:
        terminal.send("write it\r")
        terminal.until(r"allow\?")
        terminal.send("\x03")
        terminal.until("stopping")
        terminal.until("cancelled")
        assert not (remit.workspace / "new.py").exists()
        terminal.pump(2.2)
        terminal.send("half a wo")
        terminal.until("half a wo")
        terminal.send("\x03")
        terminal.until(r"\A(?![^§]*half a wo)")
        terminal.pump(2.2)
        terminal.send("\x03")
        terminal.until("press Ctrl-C again or Ctrl-D to leave")
        terminal.send("\x03")
        assert terminal.ended() == 0


def test_CLI_05_a_paste_of_ten_thousand_lines_is_one_word_and_sent_whole(chat: Any, remit: CommandLine) -> None:
    with chat({"text": "read"}) as terminal:
        terminal.paste("\n".join(f"pasted line {n}" for n in range(10_000)))
        terminal.until(r"\[pasted 1: 10,000 lines\]")
        terminal.send("\r")
        terminal.until("completed · 0 calls")
        assert "pasted line 17" not in terminal.all_text
    (record,) = [each for each in remit("session", "export", "--format", "json").lines if each["type"] == "user"]
    assert record["content"].count("\n") == 9_999
    assert record["content"].endswith("pasted line 9999")


def test_CLI_05_resize_completion_and_commands(chat: Any, remit: CommandLine) -> None:
    (remit.workspace / "unusual_name.py").write_text("x = 1\n")
    with chat({"text": "read it"}) as terminal:
        terminal.send("/sta")
        terminal.until("tokens, cost, tools and time")
        terminal.send("\t")
        terminal.until("❯ /status")
        terminal.send("\x15/status\r")
        terminal.until("sent to: nowhere")
        terminal.resize(40, 120)
        terminal.pump(0.5)
        terminal.send("what is @unus\t")
        terminal.until("@unusual_name.py")
        terminal.send("\r")
        terminal.until("completed")
        terminal.resize(24, 60)
        terminal.send("/frobnicate\r")
        terminal.until("there is no command `/frobnicate`")
        terminal.send("/contxt\r")
        terminal.until("the nearest is `/context`")
        terminal.send("/quit\r")
        assert terminal.ended() == 0
    (user,) = [each for each in remit("session", "export", "--format", "json").lines if each["type"] == "user"]
    assert "x = 1" in user["sent"]


def test_CLI_05_a_command_of_the_persons_own_and_undo(chat: Any, remit: CommandLine) -> None:
    with chat(*writes("new.py")) as terminal:
        terminal.send("write it\r")
        terminal.until(r"allow\?")
        terminal.pump(0.6)
        terminal.send("y")
        terminal.until("I wrote new.py")
        terminal.send("/undo\r")
        terminal.until("undone: new.py")
        assert not (remit.workspace / "new.py").exists()
        terminal.send("/redo\r")
        terminal.until("redone: new.py")
        terminal.send("!echo from $((40 + 2))\r")
        terminal.until(r"from 42|allow\?|no sandbox|nothing on this machine")


def test_SES_02_a_chat_is_gone_on_with_and_shows_what_was_said(chat: Any, remit: CommandLine) -> None:
    with chat({"text": "the first answer"}) as terminal:
        terminal.send("the first question\r")
        terminal.until("the first answer")
        terminal.send("\x04")
        terminal.ended()
    with chat({"text": "the second answer"}, words=("session", "resume")) as terminal:
        terminal.until("the first question")
        assert "the first answer" in terminal.all_text
        terminal.send("the second question\r")
        terminal.until("the second answer")
    assert remit("session", "list", "--json").json["turns"] == 2


def test_CLI_05_without_colour_where_none_is_wanted(chat: Any) -> None:
    with chat({"text": MARKDOWN}, NO_COLOR="1") as terminal:
        terminal.send("say it\r")
        terminal.until("And the end")
        assert not re.search(rb"\x1b\[(?:[0-9;]*;)?3[0-7]m", terminal.raw)


def test_CLI_06_a_projects_prompt_is_shown_before_it_is_sent(chat: Any, remit: CommandLine) -> None:
    folder = remit.workspace / ".remit" / "prompts"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text("Review $1 with care.\n")
    assert remit("config", "trust").code == 0
    with chat({"text": "reviewed"}, {"text": "again"}) as terminal:
        terminal.send("/review a.py\r")
        terminal.until("Type it again to send it")
        terminal.send("/review a.py\r")
        terminal.until("reviewed")
        (folder / "review.md").write_text("Delete $1.\n")
        terminal.send("/review a.py\r")
        terminal.until(r"Delete \$1\.[^§]*Type it again")
    said = [each["content"] for each in remit("session", "export", "--format", "json").lines if each["type"] == "user"]
    assert said == ["Review a.py with care."]


def test_CLI_04_without_a_terminal_there_is_no_chat(remit: CommandLine) -> None:
    done = remit("--continue")
    assert done.code in {1, 2}
    done = remit("ask")
    assert (done.code, SAYS.a_chat_needs_a_terminal in done.err) == (2, True)
