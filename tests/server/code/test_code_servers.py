"""The code tools without an editor: a language server in the real sandbox answers, otherwise tree-sitter (TOOL-07)."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from bench_runtime import Answering
from code_bench import OPEN, SYSTEM_PYTHON, asked, own_server, with_jedi
from messages import SAYS

from remit_server.tools.code.language_server.ask_server import SERVERS

needs_sandbox = pytest.mark.skipif(
    shutil.which("bwrap") is None or SYSTEM_PYTHON is None, reason="there is no bwrap, or no system Python"
)
needs_no_server = pytest.mark.skipif(
    any(shutil.which(each.program, path="/usr/local/bin:/usr/bin:/bin") for each in SERVERS),
    reason="a language server is installed",
)

CART = """class Cart:
    def total(self):
        return sum(self.prices)


def bill(cart):
    return cart.total()
"""
MAIN = """from cart import Cart, bill

cart = Cart()
bill(cart)
cart.total()
"""


@needs_sandbox
@pytest.mark.slow
async def test_a_real_language_server_answers_in_the_sandbox(make_bench: Any) -> None:
    bench = await make_bench(policy=OPEN)
    for name, text in {"cart": CART, "main": MAIN, "private": MAIN, "bad": "def broken(:\n"}.items():
        (bench.workspace / f"{name}.py").write_text(text)
    with_jedi(bench.workspace)

    definition = await asked(bench, "get_definition", path="main.py", line=4, symbol="bill")
    assert definition.output.splitlines()[1:] == ["cart.py:6:5  def bill(cart):"], definition
    references = await asked(bench, "get_references", path="cart.py", line=6, column=6)
    assert "3 references of `bill` at cart.py:6" in references.output
    assert SAYS.in_files_that_may_not in references.output
    assert "private" not in references.output
    assert "main.py:4:1  bill(cart)" in references.output.splitlines()
    symbols = await asked(bench, "get_symbols", path="cart.py")
    assert symbols.output.splitlines()[1:] == [
        "cart.py:1:7  class Cart",
        "cart.py:2:9  method total (in Cart)",
        "cart.py:6:5  function bill",
    ]
    named = await asked(bench, "get_symbols", query="Cart")
    assert "cart.py:1:7  class Cart" in named.output
    assert "private" not in named.output
    bad = await asked(bench, "get_diagnostics", path="bad.py")
    assert "bad.py:1:12: error: SyntaxError" in bad.output
    assert "no problems in cart.py" in (await asked(bench, "get_diagnostics", path="cart.py")).output
    everywhere = await asked(bench, "get_diagnostics")
    assert "1 problem in the workspace" in everywhere.output
    assert "it looked at 4 of 4 python files" in everywhere.output  # all but the private one


@needs_sandbox
@needs_no_server
async def test_a_server_of_the_projects_own_is_a_command_that_policy_judges(make_bench: Any) -> None:
    bench = await make_bench()
    own_server(bench.workspace, "pylsp", "open('/tmp/ran', 'w')\n")
    asker = Answering(decision="deny")
    await bench.ask(
        {"type": "call", "tool": "get_symbols", "arguments": {"path": "a.py"}, "intent": "ANALYZE"}, asker=asker
    )
    assert [question.command for question in asker.asked] == ["pylsp"]
    assert not bench.of("tool_result")[-1].ok


@needs_no_server
async def test_without_a_server_names_are_found_by_tree_sitter_and_it_says_so(make_bench: Any) -> None:
    bench = await make_bench()
    (bench.workspace / "cart.py").write_text(CART)
    (bench.workspace / "main.py").write_text(MAIN)

    symbols = await asked(bench, "get_symbols", path="cart.py")
    assert symbols.output.splitlines() == [
        "3 symbols in cart.py, says tree-sitter; found by name only: no language server was asked",
        *("cart.py:1:7  Cart", "cart.py:2:9  total", "cart.py:6:5  bill"),
    ]
    definition = await asked(bench, "get_definition", path="main.py", line=5, symbol="total")
    assert SAYS.found_by_name_only in definition.output
    assert definition.output.splitlines()[1:] == ["cart.py:2:9  def total(self):"]
    named = await asked(bench, "get_symbols", query="CART")
    assert named.output.splitlines()[1:] == ["cart.py:1:7  Cart"]
    (bench.workspace / "cart.rb").write_text("class Cart; end\n")
    named = await asked(bench, "get_symbols", query="CART")
    assert "; not looked at, because Remit does not know their language: .rb (1)" in named.output


@needs_no_server
async def test_where_nobody_can_say_the_programs_that_could_are_named(make_bench: Any) -> None:
    bench = await make_bench()
    (bench.workspace / "cart.py").write_text(CART)
    for tool, arguments in {
        "get_references": {"path": "cart.py", "line": 1, "symbol": "Cart"},
        "get_diagnostics": {},
    }.items():
        refused = await asked(bench, tool, **arguments)
        assert not refused.ok
        assert refused.error.code == "tool_unavailable"
        assert "pyright-langserver" in refused.error.fix


async def test_a_place_that_is_not_there_is_said_to_be_none(make_bench: Any) -> None:
    bench = await make_bench()
    for arguments, why in (
        ({"path": "a.py", "line": 99, "symbol": "n"}, "there is no line 99"),
        ({"path": "a.py", "line": 1, "symbol": "tot"}, "`tot` is not on line 1"),
        ({"path": "a.py", "line": 1}, "no place is named"),
        ({"path": "gone.py", "line": 1, "symbol": "n"}, "gone.py"),
    ):
        refused = await asked(bench, "get_definition", **arguments)
        assert not refused.ok
        assert why in refused.error.what
    assert not (await asked(bench, "get_symbols")).ok
    assert not (await asked(bench, "get_symbols", path="a.py", query="n")).ok
