"""What the tree holds to: nobody outside the tools names one (TOOL-14), and no call is handed on untyped."""

from __future__ import annotations

import ast
from pathlib import Path

from remit_server.tools.table import TOOLS

ROOT = Path(__file__).parents[1]
CALLERS = {
    "server/remit_server/tools": "it is their own",
    "server/remit_server/models/built_in": "it is a model: it calls tools by their names",
    "server/remit_server/models/profile.py": "a profile names the tools that a small model is offered",
    "server/remit_server/models/check.py": "it has a model call one tool",
    "server/remit_server/models/steps": "it shows a model what calls look like",
    "server/remit_server/cli/commands/demo.py": "it plays a model",
    "server/remit_server/cli/tdd_scenario.py": "it plays a model",
    "governance/remit_governance/intents.py": "it is the table of intents",
}
"""Who may name tools, and why."""


def names_in(file: Path) -> set[str]:
    nodes = ast.walk(ast.parse(file.read_bytes()))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts & TOOLS.keys()


def test_TOOL_14_nobody_outside_the_tools_names_one() -> None:
    allowed = tuple(ROOT / place for place in CALLERS)
    files = [file for top in ("server", "governance") for file in (ROOT / top).rglob("*.py")]
    others = [file for file in files if not any(file == place or place in file.parents for place in allowed)]
    assert {str(file.relative_to(ROOT)): names_in(file) for file in others if names_in(file)} == {}


def test_TOOL_14_whoever_may_name_one_does() -> None:
    named = {place: [*(ROOT / place).rglob("*.py")] or [ROOT / place] for place in CALLERS}
    assert [place for place, files in named.items() if not any(map(names_in, files))] == []


def untyped(file: Path) -> list[str]:
    """The functions whose signatures, and the classes whose fields, say `Any`."""
    found = list[str]()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
            said = [each.annotation for each in every if each is not None] + [node.returns]
        elif isinstance(node, ast.ClassDef):
            said = [each.annotation for each in node.body if isinstance(each, ast.AnnAssign)]
        else:
            continue
        names = (name for each in said if each is not None for name in ast.walk(each))
        found += [node.name] if any(isinstance(name, ast.Name) and name.id == "Any" for name in names) else []
    return found


def test_what_the_harness_hands_on_is_typed_to_the_last_field() -> None:
    files = (ROOT / "server/remit_server/harness").rglob("*.py")
    assert {str(file.relative_to(ROOT)): untyped(file) for file in files if untyped(file)} == {}
