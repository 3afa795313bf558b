"""When a desktop notification tells the person that the chat needs them (CLI-10)."""

from __future__ import annotations

import pytest
from rows import rows

from remit_server.cli.chat.app import MOST_TOLD, notification


@pytest.mark.parametrize("known", [{"TERM_PROGRAM": "iTerm.app"}, {"TERM_PROGRAM": "WezTerm"}, {"TERM": "xterm-kitty"}])
def test_CLI_10_terminals_that_know_the_sequence_get_it(known: dict[str, str]) -> None:
    assert notification("has finished", known) == "\x1b]9;Remit has finished\x07"
    assert notification("has finished", known | {"TMUX": "/tmp/tmux-0/default,1,0"}) == ""


@pytest.mark.parametrize(
    "other", [{}, {"TERM": "xterm-256color"}, {"TERM_PROGRAM": "Apple_Terminal"}, {"TERM": "linux"}]
)
def test_CLI_10_others_get_the_bell_alone(other: dict[str, str]) -> None:
    assert notification("has finished", other) == ""


@rows("words", ["a\x1b]0;evil\x07b", "a\x9cb\x9d", "a\nb\rc", "\u202ea", "x " * 500])
def test_CLI_10_what_is_said_ends_no_sequence_and_begins_none(words: str) -> None:
    inside = notification(words, {"TERM": "foot"}).removeprefix("\x1b]9;").removesuffix("\x07")
    assert inside.isprintable()
    assert len(inside) <= MOST_TOLD
