"""The code tools ask an editor that announced that it answers, and do not trust its answers (LSP-08)."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
import pytest_asyncio
from messages import SAYS

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

ANSWERS = {"approvals": "never", "editor_query": True}
QUERY = "remit/editor/query"
TURNS = count(1)
SOURCE = "from cart import bill\n\nbill('😀'); bill(2)\n"


async def asked(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """Returns the `tool_result` of one call of the person's own."""
    name = f"turn-{next(TURNS)}"
    own = {"type": "call", "tool": tool, "arguments": arguments, "intent": "ANALYZE"}
    request = {"session_id": "s1", "turn_id": name, "input": [own], "partialResultToken": name}
    await client.result("remit/run", request)
    (event,) = [each for each in client.events(name) if each["kind"] == "tool_result"]
    return event


def at(uri: str, line: int, character: int, **more: Any) -> dict[str, Any]:
    position = {"line": line, "character": character}
    return {"uri": uri, "range": {"start": position, "end": position}, **more}


@pytest_asyncio.fixture(loop_scope="module")
async def client(start_real: Any) -> Any:
    connected = await start_real()
    (connected.root / "main.py").write_text(SOURCE)
    (connected.root / ".env").write_text("PASSWORD=hunter2\n")
    await connected.initialize({}, ANSWERS)
    return connected


async def test_the_editor_is_asked_and_its_answer_shown_with_lines_of_our_own(client: Any) -> None:
    main = (client.root / "main.py").as_uri()
    client.handlers[QUERY] = lambda _: {"items": [at(main, 2, 12), at(main, 2, 0)], "total": 2}
    references = await asked(client, "get_references", path="main.py", line=3, symbol="bill")
    assert references["output"].splitlines() == [
        "2 references of `bill` at main.py:3, says the editor",
        "main.py:3:1  bill('😀'); bill(2)",
        "main.py:3:12  bill('😀'); bill(2)",  # one column for a character that has two units in UTF-16
    ]
    (question,) = [each["params"] for each in client.asked if each["method"] == QUERY]
    assert question == {
        "kind": "references",
        "uri": main,
        "position": {"line": 2, "character": 0},
        "limit": 2000,
    }

    problem = at(main, 0, 5, message="cannot\nbe found", severity=1, source="ty", code="E1")
    client.handlers[QUERY] = lambda _: {"items": [at(main, 2, 0, message="odd", severity=2), problem]}
    problems = await asked(client, "get_diagnostics")
    assert problems["output"].splitlines()[1:] == [
        "main.py:1:6: error: cannot be found [ty E1]",
        "main.py:3:1: warning: odd",
    ]


@pytest.mark.slow
async def test_THR_protocol_an_editors_hostile_answers_show_nothing_that_a_read_refuses(client: Any) -> None:
    main, root = (client.root / "main.py").as_uri(), client.root.as_uri()
    (client.root / "link.py").symlink_to("/etc/passwd")
    places = [
        *(at(uri, 0, 0) for uri in (f"{root}/.env", f"{root}/%2Eenv", f"{root}/x/../.env", "file:///etc/passwd")),
        *(
            at(uri, 0, 0)
            for uri in (f"{root}/link.py", f"{root}/../../etc/passwd", "http://evil/a", f"{root}/%00", "\u202e")
        ),
        at(main, 2**31 - 1, 2**31 - 1),
        at(main, 0, 0),
    ]
    client.handlers[QUERY] = lambda _: {"items": [*places, *[{"uri": 5}] * 7, None, "x"], "total": 10**6}
    shown = await asked(client, "get_references", path="main.py", line=3, symbol="bill")
    assert shown["ok"]
    assert "hunter2" not in shown["output"]
    assert "root:" not in shown["output"]
    assert "\u202e" not in shown["output"]
    assert SAYS.in_files_that_may_not in shown["output"]
    assert "9 results of the editor were not understood" in shown["output"]
    assert "main.py:1:1  from cart import bill" in shown["output"].splitlines()

    many = [at(main, n, 0, name="n" * 1_000, kind=10**9, container="a\nb" * 300) for n in range(2_500)]
    client.handlers[QUERY] = lambda _: {"items": many}
    symbols = await asked(client, "get_symbols", path="main.py")
    assert "2,500 symbols in main.py, says the editor; the first 100 are shown" in symbols["output"]
    assert len(symbols["output"]) < 100_000
    assert 1 < len(symbols["output"].splitlines()) <= 101


@pytest.mark.slow
async def test_an_answer_that_is_none_is_taken_as_none(client: Any) -> None:
    """THR-protocol-an-editors-malformed-answers: tree-sitter answers instead, because there is no other server."""
    for answer in (None, [], "x", 5, {"items": 3}, {"items": [{"uri": 5}]}, {"items": [], "total": -1}, {"items": []}):
        client.handlers[QUERY] = lambda _, answer=answer: answer
        symbols = await asked(client, "get_symbols", path="main.py")
        assert symbols["ok"], answer
        assert "no symbols in main.py" in symbols["output"]
    del client.handlers[QUERY]  # now the editor answers with an error
    assert (await asked(client, "get_symbols", path="main.py"))["ok"]


@pytest.mark.slow
async def test_a_client_that_did_not_say_so_is_not_asked(start_real: Any) -> None:
    client = await start_real()
    (client.root / "main.py").write_text(SOURCE)
    await client.initialize({}, {"approvals": "never", "editor_query": "yes"})
    await asked(client, "get_symbols", path="main.py")
    assert [each for each in client.asked if each["method"] == QUERY] == []


@pytest.mark.slow
async def test_an_editor_that_never_answers_is_given_up_and_told_so(client: Any, no_answer: object) -> None:
    """THR-protocol-editor-never-answers."""
    client.handlers[QUERY] = lambda _: no_answer
    refused = await asked(client, "get_references", path="main.py", line=3, symbol="bill")
    assert not refused["ok"]
    assert "did not answer within 10 seconds" in refused["error"]["why"]
    assert [n["method"] for n in client.notifications if n["method"] == "$/cancelRequest"] == ["$/cancelRequest"]
