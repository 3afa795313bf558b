"""What a chat reads and draws, without a terminal (CLI-05 to CLI-07)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import SAYS
from rows import rows

from remit_governance.visible import visible_again
from remit_server.chat.commands import ALIASES, COMMANDS, complete_command, run_command
from remit_server.chat.lines import read_line
from remit_server.chat.mentions import find_unknown, read_message
from remit_server.chat.prompts import fill_prompt
from remit_server.chat.replies import Chat, NotUnderstood
from remit_server.cli.chat.transcript import MOST_BARS, MOST_DRAWN, Blocks, draw_markdown
from remit_server.cli.question import FOR_GOOD, QUIET_S, Question
from remit_server.contract import MOST_ATTACHED, ApprovalRequired, CallInput, Scope, TextInput
from remit_server.errors import RemitError
from remit_server.harness.approval.shown_parts import Part

PIECES = st.lists(
    st.sampled_from(["a", "\n", "\n\n", "```\n", "```py\n", "- x\n", "1. y\n", "  z\n", "# h\n", "~~~\n", " ", "`"]),
    max_size=40,
)


@given(PIECES, st.randoms(use_true_random=False))
@settings(max_examples=examples(500), deadline=None)
def test_CLI_05_blocks_are_the_same_in_whatever_pieces_they_come(pieces: list[str], choose: Any) -> None:
    text = "".join(pieces)
    at_once, in_pieces = Blocks(), Blocks()
    whole = [*at_once.take(text), *at_once.finish()]
    found: list[str] = []
    at = 0
    while at < len(text):
        end = at + choose.randint(1, 5)
        found += in_pieces.take(text[at:end])
        at = end
    found += in_pieces.finish()
    assert found == whole
    assert "".join("".join(found).split()) == "".join(text.split()), "nothing is lost"


@rows(
    ("text", "blocks"),
    [
        ("one\n\ntwo", ["one", "two"]),
        ("- a\n\n- b\n\nafter\n", ["- a\n\n- b", "after"]),
        ("```\nx\n\ny\n```\nafter\n", ["```\nx\n\ny\n```", "after"]),
        ("````\n```\n````\n", ["````\n```\n````"]),
        ("```\nnever closed\n\n", ["```\nnever closed"]),
    ],
)
def test_CLI_05_blocks_by_hand(text: str, blocks: list[str]) -> None:
    taker = Blocks()
    assert [*taker.take(text), *taker.finish()] == blocks


def test_CLI_05_a_block_that_would_take_seconds_to_draw_is_shown_as_it_was_written() -> None:
    row = "| **a** | b |\n"
    assert "**" not in draw_markdown(row * 2 + "|--|--|\n" + row, 80)
    long = "| a | b |\n|--|--|\n" + row * (MOST_DRAWN // len(row)) + "\u202e"
    assert draw_markdown(long, 80) == visible_again(long)
    cells = "|a|b|\n|-|-|\n" + "|1|2|\n" * (MOST_BARS // 3)
    assert draw_markdown(cells, 80) == cells


def test_CLI_05_what_hides_text_is_spelled_out() -> None:
    drawn = draw_markdown("a\u202eb [x](https://example.org)", 80)
    assert "\u202e" not in drawn
    assert "\x1b]8" not in drawn


def kind(path: str) -> str | None:
    return {"a.py": "file", "src": "folder", "src/": "folder", "with space.txt": "file"}.get(path)


def test_CLI_05_a_message_that_attaches_more_than_it_may_is_not_understood() -> None:
    assert len(attached("@a.py " * MOST_ATTACHED)) == MOST_ATTACHED
    with pytest.raises(NotUnderstood) as refused:
        read_message("@a.py " * (MOST_ATTACHED + 1), kind)
    assert refused.value.code == "invalid_request"


def attached(text: str) -> list[str]:
    parts = read_message(text, kind)
    said = parts[-1]
    assert isinstance(said, TextInput)
    assert said.text == text
    calls = [f"{part.tool} {part.arguments}" for part in parts if isinstance(part, CallInput)]
    return [*calls, *(str(each.model_dump(exclude={"pinned"})) for each in said.attachments)]


@rows(
    ("text", "found"),
    [
        ("what is @a.py?", ["{'type': 'file', 'path': 'a.py'}"]),
        ('@"with space.txt" please', ["{'type': 'file', 'path': 'with space.txt'}"]),
        ("look at @src/ now", ["list_files {'pattern': '**', 'path': 'src'}"]),
        ("@diff", ["git_diff {}"]),
        ("@diagnostics:a.py", ["{'type': 'diagnostics', 'path': 'a.py'}"]),
        ("@symbol:total.", ["{'type': 'symbol', 'name': 'total'}"]),
        ("mail me@a.py or @nobody", []),
    ],
)
def test_CLI_05_mentions(text: str, found: list[str]) -> None:
    assert attached(text) == found


@rows(
    ("text", "unknown"),
    [
        ("why does @nosuch.txt fail, and @src/gone/?", ["nosuch.txt", "src/gone/"]),
        ("@a.py @src/ @nobody @diff @symbol:a.b me@a.b", []),
        ("!cat @nosuch.txt", []),
        ("@nosuch.MD and @.env", ["nosuch.MD", ".env"]),
        ('@app.route and @app.route("/x.py") and @pytest.mark.slow', []),
    ],
)
def test_CLI_09_a_mention_that_names_nothing_is_found(text: str, unknown: list[str]) -> None:
    assert find_unknown(text, kind) == unknown


def test_CLI_05_a_command_of_the_persons_own() -> None:
    (part,) = read_message("! git log -3", kind)
    arguments = {"command": "git log -3", "network": []}
    assert part == CallInput(tool="run_command", arguments=arguments, intent="EXECUTE", typed=True)  # type: ignore[arg-type]
    (part,) = read_message("!--host a.example --timeout=5 --host b.example:8443 pip download --host x", kind)
    arguments = {"command": "pip download --host x", "timeout": 5, "network": ["a.example", "b.example:8443"]}
    assert part == CallInput(tool="run_command", arguments=arguments, intent="EXECUTE", typed=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["!  ", "!--timeout 60", "!--timeout x true", "!--timeout 0 true", "!--hosts a true"])
def test_CLI_05_a_command_that_says_something_else_is_not_run(text: str) -> None:
    with pytest.raises(NotUnderstood):
        read_message(text, kind)


@rows(
    ("text", "words", "filled"),
    [
        ("Review $1 and $2.", "a 'b c'", "Review a and b c."),
        ("Say $ARGUMENTS!", "a b", "Say a b!"),
        ("Look.", "at a", "Look.\n\nat a"),
        ("Look $1", "", "Look"),
        ("It's $1", "don't", "It's don't"),
    ],
)
def test_CLI_06_prompts_are_filled(text: str, words: str, filled: str) -> None:
    assert fill_prompt(text, words) == filled


@given(
    st.lists(
        st.tuples(st.sampled_from(["y", "s", "f", "a", "e", "n", "x", "?", " ", "escape"]), st.floats(0, 1)),
        max_size=30,
    )
)
@settings(max_examples=examples(300), deadline=None)
def test_CLI_07_no_yes_without_quiet_and_without_the_end(keys: list[tuple[str, float]]) -> None:
    asked = ApprovalRequired.model_construct(approval_id="a", digest="d", scopes=(*Scope,))
    question, now, pressed = Question(asked, [f"{n}" for n in range(5)], 0.0, details=["its rule"]), 0.0, 0.0
    detailed = False
    for key, wait in keys:
        now += wait
        if key == " " and question.unseen:
            detailed |= "its rule" in question.next_page(2, lambda line: 1, now)
            pressed = now
            continue
        answer = question.press(key, now)
        if answer is not None:
            assert now - pressed >= QUIET_S
            assert answer.decision == "deny" or not question.unseen
            assert answer.scope not in FOR_GOOD or detailed
        pressed = now


def in_parts() -> Question:
    asked = ApprovalRequired.model_construct(approval_id="a", digest="d", scopes=("once", "session"))
    parts = {Part("a.py", 0): ["1"], Part("a.py", 1): ["2"], Part("b.png", None): ["3"]}
    question = Question(asked, ["all"], 0.0, parts)
    question.next_page(9, lambda line: 1, 0.0)
    return question


@rows(
    ("keys", "left_out"),
    [
        ("pyxy", [("a.py", 1)]),
        ("pxr", [("a.py", 0)]),
        ("pxxx", [("a.py", 0), ("a.py", 1), ("b.png", None)]),
        ("pyyy", []),
        ("pzyyx", [("b.png", None)]),
        ("y", []),
        ("pyn", None),
        ("pn", None),
    ],
)
def test_APP_09_parts_are_taken_key_by_key(keys: str, left_out: list[Any] | None) -> None:
    question, answers = in_parts(), list[Any]()
    for number, key in enumerate(keys, 1):
        answers.append(question.press(key, float(number)))
        while question.unseen:
            question.next_page(9, lambda line: 1, float(number))
    assert answers[:-1] == [None] * (len(keys) - 1)
    assert answers[-1].decision == ("deny" if left_out is None else "allow")
    assert answers[-1].scope == "once"
    assert [(part.path, part.hunk) for part in answers[-1].left_out] == (left_out or [])


def test_APP_09_a_key_answers_for_a_part_only_once_it_was_seen() -> None:
    question = in_parts()
    assert question.press("p", 1.0) is None
    assert question.unseen == ["1"]
    question.press("x", 2.0)
    assert (question.left_out, question.ahead[0]) == ([], Part("a.py", 0))
    question.next_page(9, lambda line: 1, 3.0)
    question.press("x", 3.1)
    assert question.left_out == []
    assert "part 1 of 3?" in question.line
    assert len(question.line) <= 80


def test_APP_04_a_key_that_writes_a_rule_shows_the_rule_first() -> None:
    asked = ApprovalRequired.model_construct(approval_id="a", digest="d", scopes=(*Scope,))
    question = Question(asked, ["all"], 0.0, {Part("a.py", 0): ["1"]}, ["its rule"])
    question.next_page(9, lambda line: 1, 0.0)
    assert len(question.line) < 80, question.line
    assert question.press("a", 1.0) is None
    assert question.press("a", 2.0) is None, "what is to be seen was not shown yet"
    assert question.next_page(9, lambda line: 1, 3.0) == ["its rule"]
    assert len(question.line) < 80, question.line
    answer = question.press("a", 4.0)
    assert answer is not None
    assert (answer.decision, answer.scope) == ("allow", "always")


def test_CLI_07_a_no_can_have_words() -> None:
    asked = ApprovalRequired.model_construct(approval_id="a", digest="d", scopes=(*Scope,))
    question = Question(asked, ["all"], 0.0)
    assert question.press("N", 1.0) is None
    assert question.words
    assert question.answer(None, "use a set").comment == "use a set"


async def test_CLI_05_help_knows_every_command_and_prompt_and_nothing_else(chat: Chat) -> None:
    for name in (*COMMANDS, *ALIASES):
        assert len((await run_command(chat, f"/help {name}")).text.splitlines()) == 1
    with pytest.raises(NotUnderstood):
        await run_command(chat, "/help nosuch")


async def test_CLI_09_the_keys_and_the_end_of_a_terminals_chat_are_told_only_there(chat: Chat) -> None:
    terminal = replace(chat, keys="Ctrl-C stops the turn")
    for each, there in ((terminal, True), (chat, False)):
        told = (await run_command(each, "/help")).text
        assert ("Ctrl-C" in told, "`/quit`" in told, "quit" in complete_command(each, "/q")) == (there, there, there)
        left = await run_command(each, "/quit")
        assert (left.leaves, bool(left.text)) == (there, not there)


@pytest.mark.parametrize("name", COMMANDS)
async def test_CLI_05_every_command_answers_or_says_what_is_missing(chat: Chat, name: str) -> None:
    if name in {"load", "pin", "export", "save", "approve", "reject", "tests", "background"}:
        with pytest.raises(RemitError) as missing:
            await run_command(chat, f"/{name}")
        assert missing.value.fix
        return
    reply = await run_command(chat, f"/{name}")
    assert reply.text or reply.call or reply.leaves


async def test_THR_prompts_a_projects_link_sends_nothing_from_elsewhere(chat: Chat, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("what lies elsewhere")
    folder = chat.settings.workspace / ".remit" / "prompts"
    folder.mkdir(parents=True)
    (folder / "leak.md").symlink_to(secret)
    (folder / "own.md").write_text("mine")
    with pytest.raises(NotUnderstood, match="no command `/leak`"):
        await run_command(chat, "/leak")
    assert "mine" in (await run_command(chat, "/own")).text
    (folder / "own.md").unlink()
    (folder / "leak.md").unlink()
    folder.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "leak.md").write_text("what lies elsewhere")
    folder.symlink_to(elsewhere)
    with pytest.raises(NotUnderstood, match="no command `/leak`"):
        await run_command(chat, "/leak")


async def test_CLI_06_a_prompt_that_does_not_count_for_want_of_trust_is_said_to_be_one(chat: Chat) -> None:
    folder = chat.settings.workspace / ".remit" / "prompts"
    folder.mkdir(parents=True)
    (folder / "own.md").write_text("mine")
    with pytest.raises(NotUnderstood) as refused:
        await run_command(replace(chat, settings=replace(chat.settings, trusted=False)), "/own")
    assert "remit config trust" in refused.value.fix


async def test_CLI_09_what_is_to_go_along_and_is_not_there_is_told(chat: Chat) -> None:
    with pytest.raises(NotUnderstood, match="`nosuch` is not a file"):
        await run_command(chat, "/pin nosuch")
    assert "`nosuch`" not in (await run_command(chat, "/context")).text
    line = await read_line(chat, "what is in @nosuch.txt and @a.py?")
    assert line.text == "Nothing was attached for `@nosuch.txt`: it names no file or folder here."
    (said,) = line.parts
    assert isinstance(said, TextInput)
    assert len(said.attachments) == 1


async def test_CLI_05_a_folder_that_is_mentioned_is_listed(make_bench: Any) -> None:
    bench: Bench = await make_bench({"text": "I see."})
    (bench.workspace / "lib" / "deep").mkdir(parents=True)
    (bench.workspace / "lib" / "deep" / "b.txt").write_text("b")
    chat = Chat(bench.runtime, bench.settings, "here", lambda: "new")
    result = await bench.ask(*[part.model_dump() for part in (await read_line(chat, "what is in @lib/?")).parts])
    (listed,) = bench.of("tool_result")
    assert (listed.ok, "deep/b.txt" in listed.output, result.status) == (True, True, "completed"), listed


async def test_CLI_05_sessions_in_a_chat(chat: Chat, tmp_path: Path) -> None:
    await run_command(chat, "/save my work")
    assert "my work" in (await run_command(chat, "/sessions")).text
    await run_command(chat, "/fork 1")
    assert chat.session == "new-0"
    assert (await run_command(chat, "/load my work")).shows == "here"
    assert complete_command(chat, "/load my") == ["my work"]
    assert complete_command(chat, "/st") == ["status", "stats", "strict"]
    page = tmp_path / "page.html"
    await run_command(chat, f"/export {page}")
    assert page.read_text().startswith("<!doctype html>")
    with pytest.raises(NotUnderstood):
        await run_command(chat, f"/export {page}")
    assert "1 user, 1 assistant" in (await run_command(chat, "/stats")).text
    for name in ("model", "provider"):
        with pytest.raises(NotUnderstood):
            await run_command(chat, f"/{name} no/such")
    assert chat.model is None
    assert SAYS.messages_to_it_stay_on in (await run_command(chat, "/model built-in")).text
    assert chat.model == "built-in"
    with pytest.raises(NotUnderstood, match="no command `/stauts`"):
        await run_command(chat, "/stauts")
