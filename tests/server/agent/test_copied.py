"""MOD-20: a text of the prompt's examples is refused as an argument, unless the conversation names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from small_server import small_server

pytestmark = pytest.mark.slow

ANSWER = {"answer": "It is rounded."}


@pytest.fixture
def remit(tmp_path: Path) -> CommandLine:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "price.py").write_text("def price():\n    return round(1.5)\n")
    return CommandLine.alone(folder, tmp_path)


def search(pattern: str) -> dict[str, Any]:
    return {"search_files": "ANALYZE", "pattern": pattern}


def results(remit: CommandLine, sentence: str, *steps: dict[str, Any]) -> list[tuple[str, bool]]:
    asked: list[bytes] = []
    with small_server(*steps, ANSWER, trial=False, asked=asked) as reference:
        done = remit("ask", "--json", "--approve", "session", "--model", reference, sentence)
    assert len(asked) == len(steps) + 1
    return [(event["tool"], event["ok"]) for event in done.of("tool_result")]


def test_MOD_20_a_copy_of_an_example_is_told_and_not_run(remit: CommandLine) -> None:
    found = results(remit, "how does the price come about?", search("todo.txt"), search("round"))
    assert found == [("unreadable_call", False), ("search_files", True)]


def test_MOD_20_a_copy_that_is_made_again_is_a_copy(remit: CommandLine) -> None:
    found = results(remit, "how does the price come about?", search("class Cart"), search("class Cart"))
    assert found == [("unreadable_call", False), ("unreadable_call", False)]


def test_MOD_20_a_text_that_a_tool_has_shown_is_no_copy(remit: CommandLine) -> None:
    (remit.workspace / "shop.py").write_text("class Cart:\n    pass\n")
    found = results(remit, "how does the price come about?", search("Cart"), search("class Cart"))
    assert found == [("search_files", True), ("search_files", True)]


def test_MOD_20_what_the_person_names_is_no_copy(remit: CommandLine) -> None:
    assert results(remit, "who could explain todo.txt to me?", search("todo.txt")) == [("search_files", True)]


def test_MOD_20_a_file_that_is_there_is_no_copy(remit: CommandLine) -> None:
    (remit.workspace / "todo.txt").write_text("milk\n")
    assert results(remit, "how does the price come about?", search("todo.txt")) == [("search_files", True)]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("price.py has one() now.", True),
        ("todo.txt says so.", True),
        ("It is rounded in price.py, by round().", False),
        ("cart.py has it.", False),
    ],
)
def test_MOD_20_a_name_of_the_examples_in_an_answer_is_told_to_the_person(
    answer: str, told: bool, remit: CommandLine
) -> None:
    (remit.workspace / "cart.py").write_text("x = 1\n")
    with small_server({"answer": answer}, trial=False) as reference:
        done = remit("ask", "--json", "--model", reference, "how does the price come about?")
    assert bool(done.of("warning")) is told
