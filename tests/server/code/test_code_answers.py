"""Answers about code are parsed and shown: never more than fits, never a file that may not be read (TOOL-07)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_server.tools.code.language_server.ask_server import LANGUAGES, SERVERS, find_server, programs_for
from remit_server.tools.code.language_server.showing import (
    MAX_SHOWN,
    character_of,
    code_style,
    column_of,
    render_answer,
)
from remit_server.tools.code.language_server.wire import MAX_ITEMS, file_uri, parse_answer
from remit_server.tools.spec import ToolContext
from remit_server.workspace.code import Answer, Place, QueryKind, Unavailable
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments

TEXTS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n\r"), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["items", "uri", "range", "start", "line", "character", "name", "kind", "message", "total"]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)
KINDS = st.sampled_from(get_args(QueryKind))


@given(TEXTS, st.data())
def test_a_column_is_that_of_the_character(line: str, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(line)))
    assert column_of(line, character_of(line, index)) == (index + 1 if line else 1)


@given(TEXTS, st.integers(0, 2**31 - 1))
def test_a_column_lies_on_its_line(line: str, character: int) -> None:
    assert 1 <= column_of(line, character) <= (len(line) + 1 if line else 2**31)


@settings(max_examples=examples(50))
@given(JSON, KINDS)
def test_whatever_is_said_is_an_answer_or_none(raw: Any, kind: QueryKind) -> None:
    said = parse_answer(raw, kind, "it")
    assert isinstance(said, Unavailable) or said.total >= len(said.findings)


@given(st.lists(st.integers(0, 500), max_size=300), st.integers(0, 10**6))
def test_no_more_is_kept_than_was_said_and_the_rest_is_counted(lines: list[int], total: int) -> None:
    items = [{"uri": "file:///a", "range": {"start": {"line": line, "character": 0}}} for line in lines]
    said = parse_answer({"items": items, "total": total}, "references", "it")
    assert isinstance(said, Answer)
    assert [finding.line for finding in said.findings] == lines[:MAX_ITEMS]  # type: ignore[union-attr]
    assert said.total == max(total, len(lines))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("work")
    for name in ("a b.py", "é%.py", "private.py"):
        (root / name).write_text("x = 'hunter2'\n" * 400)
    opened = Workspace(root)
    yield opened
    opened.close()


@given(
    st.lists(
        st.tuples(st.sampled_from(["a b.py", "é%.py", "private.py", "../x.py", "gone.py"]), st.integers(0, 500)),
        max_size=250,
    )
)
def test_only_what_may_be_read_is_shown_and_all_else_counted(
    workspace: Workspace, where: list[tuple[str, int]]
) -> None:
    ctx = ToolContext(
        workspace, NoDocuments(), {}, lambda _, path: path != "private.py", lambda text: text.replace("hunter2", "***")
    )
    places = tuple(Place(file_uri(f"{workspace.root}/{name}"), line, 0) for name, line in where)
    outcome = render_answer(Answer("it", places, len(places)), "of `x`", code_style("reference"), ctx)
    allowed = {each for each in where if each[0] in {"a b.py", "é%.py", "gone.py"}}
    hidden = {each for each in where if each[0] == "private.py"}
    assert outcome.data["total"] == len(allowed)
    assert outcome.data["left_out"] == len(hidden)
    assert len(outcome.data["items"]) == min(len(allowed), MAX_SHOWN)  # type: ignore[arg-type]
    assert outcome.data["truncated"] == (len(allowed) > MAX_SHOWN)
    assert "hunter2" not in outcome.text
    assert "private" not in outcome.text


def test_every_language_has_a_server_and_every_server_a_language(tmp_path: Path) -> None:
    assert set(LANGUAGES.values()) == {language for each in SERVERS for language in each.languages}
    assert all(programs_for(language) for language in LANGUAGES.values())
    assert find_server(None, tmp_path, own=True) is None
