"""A key means the same wherever questions are answered by keys: as in the table of docs/keys.md (APP-16)."""

from __future__ import annotations

import re
from pathlib import Path

from remit_server.cli.question import CHOICES, DETAILS, WITH_WORDS
from remit_server.contract import Scope

ROOT = Path(__file__).parents[1]
ACTS = {
    "remit-allow": "once",
    "remit-allow-for-session": "session",
    "remit-allow-edits": "edits",
    "remit-allow-always": "always",
    "remit-allow-everywhere": "everywhere",
    "remit-deny": "no",
    "remit-deny-with-words": "no with words",
    "remit-leave-out": "leave out",
    "remit-comment": "leave out with words",
    "remit-details": "details",
}
"""What Emacs' commands do, in the words of this test."""


def in_the_table() -> set[str]:
    rows = re.findall(r"^\| `(.)` \|", (ROOT / "docs" / "keys.md").read_text("utf-8"), re.MULTILINE)
    assert len(rows) == len({*rows})
    return {*rows}


def in_the_terminal() -> dict[str, str]:
    answers = {key: scope.value for scope, (key, _) in CHOICES.items()}
    assert {*CHOICES} == {*Scope}
    return {**answers, "n": "no", WITH_WORDS: "no with words", "x": "leave out", DETAILS[0]: "details"}


def in_emacs() -> dict[str, str]:
    text = (ROOT / "client-emacs" / "remit-review.el").read_text("utf-8")
    return {key: ACTS[name] for key, name in re.findall(r'\(define-key map "(.)" #\'(remit-[\w-]+)', text)}


def in_neovim() -> dict[str, str]:
    text = (ROOT / "client-neovim" / "lua" / "remit" / "chat.lua").read_text("utf-8")
    table = re.search(r"^local ANSWERS = \{$(.*?)^\}$", text, re.MULTILINE | re.DOTALL)
    assert table is not None
    found = dict(re.findall(r"^  (?:\[\')?(.)(?:\'\])? = (.*(?:\n    .*)*)", table[1], re.MULTILINE))
    means = {
        "allow('": lambda act: re.search(r"allow\('(\w+)'\)", act)[1],
        "vim.ui.input": lambda act: "no with words",
        "answer('deny')": lambda act: "no",
        "toggle": lambda act: "leave out",
        "comment": lambda act: "leave out with words",
        "show_details": lambda act: "details",
    }
    return {key: next(say(act) for part, say in means.items() if part in act) for key, act in found.items()}


def test_APP_16_a_key_means_the_same_everywhere() -> None:
    terminal, emacs, neovim = in_the_terminal(), in_emacs(), in_neovim()
    assert emacs == neovim
    assert {**emacs, **terminal} == {**terminal, **emacs}
    assert {*emacs} | {*terminal} == in_the_table()
