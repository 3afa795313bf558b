"""A model can name only files that exist and names that the person wrote; if these cannot be listed, any path."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from remit_server.agent.offer import MOST_PATHS, find_named_paths, nameable_paths
from remit_server.models.ports import AssistantMessage, Message, UserMessage
from remit_server.tools.table import ALL_FILE_ARGUMENTS, FILE_ARGUMENTS, TOOLS
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import NoDocuments


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("src/a.py", "src/ü b.py", "secret.key", ".gitignore", "out/made.js"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("out/\n" if name == ".gitignore" else "x")
    return tmp_path


def listed(tree: Path, *messages: Message) -> tuple[str, ...] | None:
    workspace = Workspace(tree)
    found = asyncio.run(nameable_paths(workspace, NoDocuments(), messages, lambda path: not path.endswith(".key")))
    return None if found is None else found.paths


def test_files_that_may_be_read_can_be_named(tree: Path) -> None:
    assert listed(tree) == (".gitignore", "src/a.py", "src/ü b.py")
    (tree / "new.py").write_text("made in this very turn")
    assert "new.py" in (listed(tree) or ())


def test_what_the_person_wrote_can_be_named_whether_it_is_there_or_not(tree: Path) -> None:
    """A missing file must be answered with `not_found`, and the model must not name another file instead of it."""
    said = UserMessage("compare `out/made.js` with missing.py. Then (docs/x.md), please")
    found = listed(tree, said, AssistantMessage("or invented.py")) or ()
    assert {"out/made.js", "missing.py", "docs/x.md"} <= set(found)
    assert "invented.py" not in found
    assert list(find_named_paths((UserMessage("hello. what is this?"),))) == []
    odd = UserMessage("read Makefile, `docs/my file.md`, LICENSE and app/[id]/page.tsx")
    assert {"Makefile", "docs/my file.md", "LICENSE", "app/[id]/page.tsx"} <= set(listed(tree, odd) or ())


def test_AGT_05_a_constant_is_no_name_of_a_file() -> None:
    """A small model once wrote a file `RESET` when it had to comment on the constant."""
    said = "write a comment above RESET, explain DEFAULT_COLORS and `ATTRIBUTES`, set VERSION to 2, find every TODO"
    assert list(find_named_paths((UserMessage(said),))) == []
    named = "write CHANGELOG and a Dockerfile, and copy the LICENSE"
    assert sorted(find_named_paths((UserMessage(named),))) == ["CHANGELOG", "Dockerfile", "LICENSE"]


def test_a_large_tree_is_not_listed(tree: Path) -> None:
    for number in range(MOST_PATHS):
        (tree / "src" / f"f{number}").touch()
    assert listed(tree, UserMessage("a.py")) is None


def test_in_an_empty_workspace_only_what_the_person_said_can_be_named(tmp_path: Path) -> None:
    """An empty list is a limit too; it differs from a list that could not be made."""
    assert listed(tmp_path, UserMessage("write a.py")) == ("a.py",)
    assert listed(tmp_path) == ()


def test_the_arguments_that_are_limited_are_there() -> None:
    for tool, arguments in ALL_FILE_ARGUMENTS.items():
        assert set(arguments) <= set(TOOLS[tool].schema["properties"])
        assert set(FILE_ARGUMENTS.get(tool, ())) <= set(arguments)


@pytest.mark.skipif(find_spec("llguidance") is None, reason="needs the mlx extra")
def test_a_path_that_is_not_on_offer_cannot_be_spelled() -> None:
    from llguidance import LLTokenizer

    from remit_server.models.dialects.table import COMPACT, spell_call
    from remit_server.models.local.host.grammar.arguments import Spelling
    from remit_server.models.local.host.grammar.step_grammar import Grammars, Paths
    from remit_server.models.ports import ToolSpec

    tokenizer = LLTokenizer("byte")
    grammars = Grammars(tokenizer, Spelling(COMPACT))
    tools = tuple(ToolSpec(name=n, description="", parameters=TOOLS[n].schema) for n in ("read_file", "write_file"))

    def admits(tool: str, path: str, paths: Paths) -> bool:
        arguments = {"path": path} | ({"content": "x"} if tool == "write_file" else {})
        text = spell_call(COMPACT, "select_active_intent", {"intent": "CODE"}) + spell_call(COMPACT, tool, arguments)
        _, matcher = grammars.step({"CODE": tools}, 100, paths)
        return bool(matcher.consume_tokens(tokenizer.tokenize_str(text))) and bool(matcher.is_accepting())

    some = Paths(("src/a.py", 'ü "b".py'), FILE_ARGUMENTS)
    assert admits("read_file", "src/a.py", some)
    assert admits("read_file", 'ü "b".py', some)
    assert not admits("read_file", "src/b.py", some)
    assert admits("write_file", "src/b.py", some)
    assert admits("read_file", "src/b.py", Paths(None, FILE_ARGUMENTS))
    assert not admits("read_file", "src/b.py", Paths((), FILE_ARGUMENTS))
    assert admits("write_file", "src/b.py", Paths((), FILE_ARGUMENTS))
    assert not admits("read_file", "src/b.py", Paths(("a<tool_call>.py",), FILE_ARGUMENTS))


LIMITS = {
    "names": {"enum": ["src/a.py", "Makefile"]},
    "one name": {"const": "src/a.py"},
    "a pattern": {"type": "string", "pattern": "^src/"},
    "a length": {"type": "string", "minLength": 8, "maxLength": 8},
    "alternatives": {"anyOf": [{"const": "src/a.py"}, {"const": "elsewhere.py"}]},
}


@pytest.mark.skipif(find_spec("llguidance") is None, reason="needs the mlx extra")
@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.parametrize("in_forms", [False, True], ids=["", "in-forms"])
def test_THR_model_a_list_of_paths_does_not_widen_what_the_schema_limits(limit: Any, in_forms: bool) -> None:
    """Both limits hold at the same time, and neither replaces the other, even if the tool can be called in several
    forms."""
    from llguidance import LLTokenizer

    from remit_server.models.dialects.table import COMPACT, spell_call
    from remit_server.models.local.host.grammar.arguments import Spelling
    from remit_server.models.local.host.grammar.step_grammar import Grammars, Paths
    from remit_server.models.ports import ToolSpec

    tokenizer = LLTokenizer("byte")
    grammars = Grammars(tokenizer, Spelling(COMPACT))
    form = {"type": "object", "properties": {"path": limit}, "required": ["path"], "additionalProperties": False}
    other = {"type": "object", "properties": {"id": {"const": 1}}, "required": ["id"], "additionalProperties": False}
    schema = {"anyOf": [form, other]} if in_forms else form
    tool = ToolSpec(name="read_file", description="", parameters=schema)

    def admits(path: str, *listed: str) -> bool:
        text = spell_call(COMPACT, "select_active_intent", {"intent": "CODE"}) + spell_call(
            COMPACT, "read_file", {"path": path}
        )
        _, matcher = grammars.step({"CODE": (tool,)}, 100, Paths(listed, FILE_ARGUMENTS))
        return bool(matcher.consume_tokens(tokenizer.tokenize_str(text))) and bool(matcher.is_accepting())

    assert admits("src/a.py", "src/a.py", "b.py")
    assert not admits("b.py", "src/a.py", "b.py")
    assert not admits("b.py", "b.py")
    assert not admits("src/a.py", "b.py")
