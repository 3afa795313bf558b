"""Invariants of ARCHITECTURE.md that concern no single part: who carries out plans, and what needs a sandbox."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from command_line import CommandLine
from rows import rows

import remit_server
from remit_server.harness import stages

SERVER = Path(remit_server.__file__).parent


def calls(tree: ast.AST) -> Iterator[str]:
    """Yields each call as it is written: `sandbox.run`, `write_atomically`, …"""
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=[first, *_], func=ast.Attribute(attr="to_thread")):
                yield spell(first)
            case ast.Call():
                yield spell(node.func)


def spell(node: ast.AST) -> str:
    """Returns what `ast.unparse` does, in much less time for dotted names."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr=name):
            return f"{spell(owner)}.{name}"
        case _:
            return ast.unparse(node)


@cache
def all_calls() -> dict[Path, set[str]]:
    """Returns the calls of each module of the server."""
    return {path: set(calls(ast.parse(path.read_text(encoding="utf-8")))) for path in SERVER.rglob("*.py")}


def callers(ends: str) -> set[str]:
    """Returns the modules that call something whose name ends with `ends`."""
    wanted = re.compile(rf"(?:.*[._])?{re.escape(ends)}")
    return {
        path.relative_to(SERVER).as_posix()
        for path, called in all_calls().items()
        if any(map(wanted.fullmatch, called))
    }


@rows(
    ("ends", "modules"),
    [
        ("tool.prepare", {"harness/stages/prepare.py"}),
        # A policy file changes by the person's own command, `policy.update`, which is no tool. A merge that a crash cut
        # short was approved before the crash.
        (
            "write_atomically",
            {"harness/stages/write.py", "runtime/policy/policy_update.py", "workspace/merges/recovery.py"},
        ),
        ("documents.replace", {"harness/stages/write.py"}),
        # `remit sandbox check` tries the sandbox with its own attempts, and `remit sandbox run` runs a person's
        # command. To read git's history, git is run with fixed arguments, which cannot write. A program that may be a
        # tool is asked for its description before any call, with a folder of its own; so is an MCP server whose tools
        # the person looks at. `Scheduled` is the sandbox that all of these get, in which each command waits its turn.
        (
            "sandbox.run",
            {
                "cli/commands/setup/sandbox.py",
                "harness/stages/execute.py",
                "harness/commands/history.py",
                "runtime/own_files/external_tools.py",
                "runtime/own_files/mcp_servers.py",
                "sandbox/probe.py",
                "sandbox/scheduled.py",
            },
        ),
        ("merger.merge", {"harness/stages/write.py"}),
        ("change_folder", {"harness/stages/write.py"}),
        ("write_judged", {"harness/stages/merge.py", "harness/stages/command_changes.py"}),
        ("write_commit", {"harness/stages/merge.py"}),
        *(
            (writes, {"harness/writes/commit.py"})
            for writes in ("write_object", "git_lock", "append_line", "clear_stale_locks")
        ),
        ("list_with_ripgrep", {"tools/search/large_trees.py"}),
    ],
)
def test_only_the_harness_carries_out_a_plan(ends: str, modules: set[str]) -> None:
    """invariant 1: tools return plans, and only the dispatcher's harness writes files and runs commands."""
    assert callers(ends) == modules


def functions(path: Path) -> dict[str, ast.AST]:
    found = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name: node for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def calls_in_order(path: Path, function: str) -> Iterator[str]:
    """Yields the names that a function calls, in order; a function of the same module is replaced by what it calls."""
    calls = [node for node in ast.walk(functions(path)[function]) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.end_lineno, node.end_col_offset)):
        named = [ast.unparse(each).rsplit(".", 1)[-1] for each in (call.func, *call.args)]  # `to_thread(f, …)` calls f
        for name in named:
            yield name
            if name.startswith("_") and name in functions(path):
                yield from calls_in_order(path, name)


@rows(
    ("column", "module", "function"),
    [
        ("a call", "harness/dispatcher.py", "_run_stages"),
        ("the review of collected edits", "harness/dispatcher.py", "_run_review"),
        ("what a command changed", "harness/stages/command_changes.py", "merge_command"),
    ],
)
def test_the_stages_run_in_the_order_of_the_list(column: str, module: str, function: str) -> None:
    listed = [[cell.strip() for cell in line.split("|")] for line in (stages.__doc__ or "").splitlines() if "|" in line]
    place = listed[0].index(column)
    stated = [line[place] for line in listed[2:] if line[place]]
    called = dict.fromkeys(name for name in calls_in_order(SERVER / module, function) if name in stated)
    # `finish` also records calls that end early, because they are collected or have nothing left, so its place may
    # differ.
    assert [name for name in called if name != "finish"] == [name for name in stated if name != "finish"]
    assert ("finish" in called) == ("finish" in stated)


@pytest.mark.parametrize("asks", ["evaluate", "decide"])
def test_judging_has_one_place(asks: str) -> None:
    """Every stage gets its judgement there: nothing else in the harness asks policy or the standing answers."""
    assert {module for module in callers(asks) if module.startswith("harness/")} == {"harness/judgement.py"}


def test_the_record_decides_nothing() -> None:
    """The stage that refuses raises the refusal; the code that records it never does."""
    raised = {
        ast.unparse(node.exc)
        for path in (SERVER / "harness" / "record").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and node.exc is not None
    }
    assert raised == {"refusal(error.what, error.why, error.fix, code=ErrorCode.AUDIT_BROKEN)"}


@pytest.mark.slow
def test_reading_needs_no_sandbox_and_commands_do(tmp_path: Path) -> None:
    """invariant 7, THR-sandbox-none-there: if nothing on the machine can isolate, reading goes on in process and
    commands are refused."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "a.py").write_text("total = 1\n")
    remit, nothing = CommandLine.alone(tmp_path / "shop", tmp_path), str(tmp_path)

    read = remit("run-tool", "read_file", '{"path": "a.py"}', "--intent", "READ_FILE", "--json", PATH=nothing)
    assert read.of("tool_result")[0]["ok"]

    tried = json.dumps({"command": "touch ran"})
    words = ("run-tool", "run_command", tried, "--intent", "EXECUTE", "--approve", "session", "--json")
    run = remit(*words, PATH=nothing, REMIT_SANDBOX="bubblewrap")
    assert run.of("tool_result")[0]["error"]["code"] == "sandbox_unavailable"
    assert not run.of("approval_required")  # the person is not asked about a command that cannot run
    assert sorted(path.name for path in remit.workspace.iterdir()) == ["a.py"]
