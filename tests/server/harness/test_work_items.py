"""Work items in a whole runtime: scopes for every kind of call, texts, the trace, broken files (INT-09; INT-10;
INT-11)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import SHOP, Answering, Bench, call
from jsonschema import Draft202012Validator
from messages import SAYS

from remit_governance.audit.record import AuditKind
from remit_server.errors import SetupError
from remit_server.harness.writes.agent_trace import MOST_BYTES, OLDER

ITEMS = """\
version: 1
active_intents:
  - id: SHOP-12
    owned_scope: ["src/**", "/a.py"]
    constraints: [keep total]
    acceptance_criteria: [an empty cart costs nothing]
  - { id: DOCS-1, owned_scope: ["docs/**"] }
"""
POLICY = """\
version: 1
capabilities:
  - { name: read, match: { syscall: [fs.read, fs.list] }, action: allow }
  - { name: write, match: { syscall: fs.write }, action: allow }
  - { name: run, match: { syscall: process.exec }, action: allow }
  - { name: no-drafts, match: { syscall: fs.write, intent: CODE, path_glob: ["drafts/**"] }, action: deny, reason: drafts stay }
"""
ROOT = Path(__file__).parents[3]
TRACE = ".orchestration/agent_trace.jsonl"


def declare(name: str, item: str | None = None, why: str | None = None) -> dict[str, Any]:
    more = {"work_item": item, "justification": why}
    return call("select_active_intent", intent=name, **{key: value for key, value in more.items() if value})


async def open_bench(
    make_bench: Any, tmp_path: Path, *steps: list[dict[str, Any]], items: str = ITEMS, **more: Any
) -> Bench:
    folder = tmp_path / "shop" / ".orchestration"
    folder.mkdir(parents=True)
    (folder / "active_intents.yaml").write_text(items)
    (tmp_path / "shop/src").mkdir()
    (tmp_path / "shop/other.py").write_text("y = 1\n")
    bench: Bench = await make_bench(*({"calls": step} for step in steps), {"text": "done"}, policy=POLICY, **more)
    return bench


def trace_of(bench: Bench) -> list[dict[str, Any]]:
    file = bench.workspace / TRACE
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


async def test_INT_10_writes_outside_the_owned_scope_are_denied_with_the_place_of_the_item(
    make_bench: Any, tmp_path: Path
) -> None:
    bench = await open_bench(
        make_bench,
        tmp_path,
        [declare("CODE", "SHOP-12"), call("write_file", path="src/new.py", content="x = 1\n")],
        [
            declare("CODE", "SHOP-12"),
            call("write_file", path="new.py", content="x = 1\n"),
            declare("CODE", "DOCS-1"),
            call("write_file", path="src/other.py", content="x = 1\n"),
            declare("CODE"),
            call("write_file", path="new.py", content="x = 2\n"),
        ],
    )
    await bench.ask("go")
    results = bench.of("tool_result")
    assert [each.ok for each in results] == [True, False, False, True]
    assert results[1].rules == ("work-item.SHOP-12",)
    assert results[1].error.code == "denied"
    assert {each.rule: each.line for each in results[1].reasons}["work-item.SHOP-12"] == 3
    assert "owned_scope of work item SHOP-12" in results[1].output
    assert results[2].rules == ("work-item.DOCS-1",)
    assert (bench.workspace / "new.py").read_text() == "x = 2\n"
    declared = [record.event for record in bench.audit() if record.event.kind is AuditKind.INTENT_SELECTED]
    assert [event.metadata.get("work_item") for event in declared] == ["SHOP-12", "SHOP-12", "DOCS-1", None]
    assert [event.work_item for event in bench.of("intent_selected")] == ["SHOP-12", "SHOP-12", "DOCS-1", None]


@pytest.mark.parametrize(
    "path",
    ["src/../other.py", "./other.py", ".//other.py", "src/link.py", "src/out/x.py", "SRC/x.py", "src\\..\\other.py"],
)
async def test_INT_10_no_spelling_of_a_path_leaves_the_scope(make_bench: Any, tmp_path: Path, path: str) -> None:
    content = {"path": path, "content": "z = 1\n"}
    bench = await open_bench(make_bench, tmp_path, [declare("WRITE_FILE", "SHOP-12"), call("write_file", **content)])
    (bench.workspace / "src/link.py").symlink_to("../other.py")
    (bench.workspace / "elsewhere").mkdir()
    (bench.workspace / "src/out").symlink_to("../elsewhere")
    await bench.ask("go")
    assert (bench.workspace / "other.py").read_text() == "y = 1\n"
    assert not (bench.workspace / "elsewhere/x.py").exists()
    assert not (bench.workspace / "SRC").exists()
    assert [each.ok for each in bench.of("tool_result")] == [False]


async def test_INT_10_a_hard_link_in_the_scope_changes_no_file_outside(make_bench: Any, tmp_path: Path) -> None:
    content = {"path": "src/hard.py", "content": "z = 1\n"}
    bench = await open_bench(
        make_bench,
        tmp_path,
        [
            declare("ANALYZE"),
            call("read_file", path="src/hard.py"),
            declare("CODE", "SHOP-12"),
            call("write_file", **content),
        ],
    )
    (bench.workspace / "src/hard.py").hardlink_to(bench.workspace / "other.py")
    await bench.ask("go")
    assert (bench.workspace / "other.py").read_text() == "y = 1\n"


@pytest.mark.parametrize(
    "acts",
    [
        call("move_file", path="a.py", new_path="moved.py"),
        call("move_file", path="other.py", new_path="src/other.py"),
        call("delete_file", path="other.py"),
        call("edit_file", path="other.py", old_text="y", new_text="z"),
    ],
)
async def test_INT_10_nothing_is_moved_out_of_the_scope_into_it_or_removed_beside_it(
    make_bench: Any, tmp_path: Path, acts: dict[str, Any]
) -> None:
    looks = [declare("ANALYZE"), call("read_file", path="a.py"), call("read_file", path="other.py")]
    bench = await open_bench(make_bench, tmp_path, [*looks, declare("CODE", "SHOP-12"), acts])
    await bench.ask("go")
    assert bench.of("tool_result")[-1].error.code == "denied"
    assert (bench.workspace / "a.py").read_text() == SHOP
    assert (bench.workspace / "other.py").read_text() == "y = 1\n"


async def test_INT_10_of_what_a_command_leaves_only_the_scope_is_merged(make_bench: Any, tmp_path: Path) -> None:
    line = "python3 -c \"open('src/in.py','w').write('1\\n'); open('out.py','w').write('1\\n')\""
    bench = await open_bench(make_bench, tmp_path, [declare("EXECUTE", "SHOP-12"), call("run_command", command=line)])
    await bench.ask("go")
    (result,) = bench.of("tool_result")
    if result.error is not None and result.error.code == "sandbox_unavailable":
        pytest.skip("needs a sandbox")
    assert (bench.workspace / "src/in.py").exists(), result.output
    assert not (bench.workspace / "out.py").exists()
    assert "owned_scope" in result.output
    assert [(each["path"], each["work_item"], each["tool"]) for each in trace_of(bench)] == [
        ("src/in.py", "SHOP-12", "run_command")
    ]


async def test_INT_10_what_a_turn_collected_is_held_to_the_item_of_its_own_call(
    make_bench: Any, tmp_path: Path
) -> None:
    bench = await open_bench(
        make_bench,
        tmp_path,
        [
            declare("CODE", "SHOP-12"),
            call("write_file", path="src/b.py", content="b\n"),
            call("write_file", path="b.py", content="b\n"),
        ],
        [declare("CODE", "DOCS-1"), call("write_file", path="docs/b.md", content="b\n")],
    )
    bench.runtime.edits("s", "turn")
    await bench.ask("go")
    assert not (bench.workspace / "b.py").exists()
    assert {each["path"]: each["work_item"] for each in trace_of(bench)} == {
        "src/b.py": "SHOP-12",
        "docs/b.md": "DOCS-1",
    }


@pytest.mark.parametrize(
    "path", [".orchestration/active_intents.yaml", TRACE, ".orchestration/new.md", ".Orchestration/agent_trace.jsonl"]
)
async def test_INT_10_the_model_writes_nothing_beside_the_file_of_work_items(
    make_bench: Any, tmp_path: Path, path: str
) -> None:
    bench = await open_bench(
        make_bench, tmp_path, [declare("WRITE_FILE"), call("write_file", path=path, content="version: 1\n")]
    )
    await bench.ask("go")
    (result,) = bench.of("tool_result")
    assert result.error.code == "denied"
    assert (bench.workspace / ".orchestration/active_intents.yaml").read_text() == ITEMS


async def test_INT_10_an_unknown_item_declares_nothing(make_bench: Any, tmp_path: Path) -> None:
    bench = await open_bench(
        make_bench, tmp_path, [declare("CODE", "SHOP-13"), call("write_file", path="src/a", content="")]
    )
    await bench.ask("go")
    refused, after = bench.of("tool_result")
    assert refused.error.code == "invalid_arguments"
    assert "SHOP-12, DOCS-1" in refused.error.fix
    assert after.error.code == "intent_required"


async def test_INT_10_without_a_file_no_item_can_be_named(make_bench: Any) -> None:
    bench = await make_bench({"calls": [declare("CODE", "SHOP-12")]}, {"text": "done"})
    await bench.ask("go")
    assert SAYS.this_workspace_has_none in bench.of("tool_result")[0].error.fix
    assert not (bench.workspace / ".orchestration").exists()


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ("active_intents:\n  - id: A\n    owned_scop: [x]\n", "owned_scop"),
        ("active_intents:\n  - { id: A, owned_scope: [] }\n", "owned_scope"),
        ("active_intents:\n  - { id: A, owned_scope: ['../x'] }\n", "active_intents.yaml:2"),
        (
            "active_intents:\n  - { id: A, owned_scope: [x] }\n  - { id: A, owned_scope: [y] }\n",
            "active_intents.yaml:3",
        ),
        ("active_intents: [\n", "active_intents.yaml"),
        ("active_intents:\n  - { id: A, owned_scope: [x], skills: [no-such-one] }\n", "active_intents.yaml:2"),
        ("active_intents:\n  - { id: A, owned_scope: [x], skills: ['../x'] }\n", "active_intents.yaml:2"),
        ("active_intents:\n  - { id: A, owned_scope: [x], skills: money }\n", "skills"),
    ],
)
async def test_INT_10_a_broken_file_is_an_error_that_says_where(
    make_bench: Any, tmp_path: Path, items: str, says: str
) -> None:
    with pytest.raises(SetupError) as failed:
        await open_bench(make_bench, tmp_path, items=items)
    assert says in failed.value.why
    assert "active_intents.yaml" in failed.value.why


async def test_INT_10_a_changed_file_counts_and_a_broken_one_leaves_what_was(make_bench: Any, tmp_path: Path) -> None:
    step = [
        declare("CODE", "SHOP-12"),
        call(
            "write_file",
            path="other.py",
            content="z\n",
        ),
    ]
    bench = await open_bench(make_bench, tmp_path, step, step)
    file = bench.workspace / ".orchestration/active_intents.yaml"
    file.write_text("active_intents: 3\n")
    (notice,) = await bench.runtime.reload()
    assert not notice.good
    assert "active_intents.yaml:1" in notice.message
    await bench.ask("go")
    assert bench.of("tool_result")[-1].rules == ("work-item.SHOP-12",)


async def test_INT_09_the_model_is_told_what_the_intent_opens_and_what_the_item_demands(
    make_bench: Any, tmp_path: Path
) -> None:
    bench = await open_bench(make_bench, tmp_path, [declare("CODE", "SHOP-12")], [declare("READ_FILE")])
    await bench.ask("go")
    *_, last = bench.runtime._runner.agent.provider.requests
    asked = next(each.text for each in last.messages if "go" in each.text and type(each).__name__ == "UserMessage")
    assert "- SHOP-12: src/**, /a.py" in asked
    assert last.work_items == ("SHOP-12", "DOCS-1")
    code, read = (each.text for each in last.messages if type(each).__name__ == "ToolMessage")
    assert code.startswith("intent CODE is active; it opens write_file, edit_file")
    assert "policy, denied: drafts stay (no-drafts)" in code
    for told in ("src/**", "keep total", "an empty cart costs nothing"):
        assert told in code
    assert read == "intent READ_FILE is active; it opens read_file"


async def test_INT_09_in_a_folder_without_trust_the_scope_holds_and_its_texts_are_not_told(
    make_bench: Any, tmp_path: Path
) -> None:
    step = [declare("CODE", "SHOP-12"), call("write_file", path="other.py", content="z\n")]
    bench = await open_bench(make_bench, tmp_path, step, trusted=False)
    await bench.ask("go")
    assert bench.of("tool_result")[-1].rules == ("work-item.SHOP-12",)
    last = bench.runtime._runner.agent.provider.requests[-1]
    assert "keep total" not in "".join(each.text for each in last.messages)


SKILLED = """\
active_intents:
  - { id: SHOP-12, owned_scope: ["src/**"], skills: [money-code] }
  - { id: SHOP-13, owned_scope: ["src/**"] }
"""


@pytest.mark.parametrize("trusted", [True, False])
async def test_INT_13_a_work_item_names_skills_that_widen_nothing(
    make_bench: Any, tmp_path: Path, trusted: bool
) -> None:
    """A skill narrows the turn that reads it; an item that names the skill allows no more than another item."""
    skill = tmp_path / "shop/.agents/skills/money-code"
    skill.mkdir(parents=True)
    says = "name: money-code\ndescription: How sums are written\nmetadata: { remit-intents: [ANALYZE] }"
    (skill / "SKILL.md").write_text(f"---\n{says}\n---\n\nIn cents.\n")
    write = call("write_file", path="src/a.py", content="z\n")
    steps = (
        [declare("CODE", "SHOP-13")],
        [declare("CODE", "SHOP-12"), call("write_file", path="other.py", content="z\n"), write],
        [declare("ANALYZE", "SHOP-12"), {"name": "read_skill", "arguments": {"name": "money-code"}}],
        [declare("CODE", "SHOP-12"), write],
    )
    bench = await open_bench(make_bench, tmp_path, *steps, items=SKILLED, trusted=trusted)
    await bench.ask("go")
    *_, last = bench.runtime._runner.agent.provider.requests
    without, named, *_ = (each.text for each in last.messages if type(each).__name__ == "ToolMessage")
    assert ("money-code" in named, "money-code" in without) == (trusted, False)
    opened = [each.partition("work item")[0] for each in (without, named)]
    assert opened[0] == opened[1]
    outside, inside, read, *after = bench.of("tool_result")
    assert (outside.rules, inside.ok) == (("work-item.SHOP-12",), True)
    assert read.ok is trusted
    assert any(each.ok for each in after) is not trusted, "what was read narrows"


async def test_INT_11_each_changed_range_is_a_line_that_its_schema_describes(make_bench: Any, tmp_path: Path) -> None:
    bench = await open_bench(
        make_bench,
        tmp_path,
        [
            declare("READ_FILE"),
            call("read_file", path="a.py"),
            declare("CODE", "SHOP-12", "to rename"),
            call("edit_file", path="a.py", old_text="total = 0", new_text="sum_ = 0"),
        ],
        [declare("CODE", "SHOP-12"), call("write_file", path="src/new.py", content="one\ntwo\n")],
        [declare("CODE"), call("move_file", path="src/new.py", new_path="src/old.py")],
        [declare("CODE"), call("delete_file", path="src/old.py")],
    )
    await bench.ask("go")
    lines = trace_of(bench)
    schema = Draft202012Validator(json.loads((ROOT / "schemas/AgentTraceLine.json").read_text()))
    for line in lines:
        schema.validate(line)
    edit, new, moved, gone = lines
    assert (edit["path"], edit["start_line"], edit["end_line"]) == ("a.py", 1, 1)
    assert edit["content_hash"] == f"sha256:{hashlib.sha256(b'sum_ = 0' + bytes([10])).hexdigest()}"
    assert (edit["intent"], edit["work_item"], edit["run_id"], edit["session_id"]) == ("CODE", "SHOP-12", "1", "s")
    assert (new["start_line"], new["end_line"], new["file_hash"]) == (1, 2, new["content_hash"])
    assert (moved["path"], moved["moved_from"], moved["work_item"]) == ("src/old.py", "src/new.py", None)
    assert (gone["start_line"], gone["end_line"], gone["file_hash"]) == (1, 0, None)


async def test_INT_12_a_full_trace_is_kept_under_another_name_and_the_next_one_names_it_by_its_hash(
    make_bench: Any, tmp_path: Path
) -> None:
    def write(content: str) -> list[dict[str, Any]]:
        return [declare("CODE", "SHOP-12"), call("write_file", path="src/new.py", content=content)]

    bench = await open_bench(make_bench, tmp_path, write("one\n"), write("two\n"), write("six\n"))
    folder = (bench.workspace / TRACE).parent
    full = b'{"some": "line"}\n' * (MOST_BYTES // 17 + 1)
    (bench.workspace / TRACE).write_bytes(full)
    for number, name in enumerate(OLDER, 1):
        (folder / name).write_text(f"{number}\n")
    await bench.ask("go")
    assert (folder / OLDER[0]).read_bytes() == full
    assert [(folder / name).read_text() for name in OLDER[1:]] == ["1\n", "2\n", "3\n"]  # the oldest is gone
    lines = trace_of(bench)
    schema = Draft202012Validator(json.loads((ROOT / "schemas/AgentTraceLine.json").read_text()))
    for line in lines:
        schema.validate(line)
    assert [line["follows"] for line in lines] == [f"sha256:{hashlib.sha256(full).hexdigest()}", None, None]
    assert [line["content_hash"] for line in lines] == [
        f"sha256:{hashlib.sha256(text).hexdigest()}" for text in (b"one\n", b"two\n", b"six\n")
    ]
    assert not bench.of("warning")


async def test_INT_11_a_trace_that_cannot_be_written_is_told_and_nothing_is_written_through_a_link(
    make_bench: Any, tmp_path: Path
) -> None:
    bench = await open_bench(
        make_bench, tmp_path, [declare("CODE", "SHOP-12"), call("write_file", path="src/new.py", content="x\n")]
    )
    (tmp_path / "outside").write_text("")
    (bench.workspace / TRACE).symlink_to(tmp_path / "outside")
    await bench.ask("go")
    assert (bench.workspace / "src/new.py").exists()
    assert (tmp_path / "outside").read_text() == ""
    assert any("agent_trace.jsonl cannot be written" in each.message for each in bench.of("warning"))


async def test_INT_11_without_work_items_there_is_no_trace(make_bench: Any) -> None:
    bench = await make_bench(
        {"calls": [declare("CODE"), call("write_file", path="b.py", content="x\n")]}, {"text": "done"}, policy=POLICY
    )
    await bench.ask("go", asker=Answering())
    assert (bench.workspace / "b.py").exists()
    assert not (bench.workspace / ".orchestration").exists()
