"""Each tag of a caller, as a rule of the policy matches it in a call that runs (POL-19)."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from bench_runtime import Bench, call, intent
from pydantic import TypeAdapter, ValidationError
from threat_bench import LAX, own

from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.values import CALLER_TAGS
from remit_server.contract import RunRequest
from remit_server.harness.calls import CALLERS, OWN, SUB_AGENT, tags_of
from remit_server.tools.table import TOOL_TAGS

WRITE = {"path": "new.py", "content": "x = 1\n"}
EXPECTED = {
    ("model", "read_file"): {"model", "core_plugin"},
    ("human", "read_file"): {"human", "core_plugin"},
    ("agent", "read_file"): {"model", "third_party"},
    ("model", "write_file"): {"model", "core_plugin", "trusted_write"},
    ("human", "write_file"): {"human", "core_plugin", "trusted_write"},
    ("agent", "write_file"): {"model", "third_party"},
}


def denying(tag: str) -> str:
    return (
        LAX + f"  - {{ name: tagged, match: {{ caller_tag: [{tag}], syscall: [fs.read, fs.write] }}, action: deny }}\n"
    )


async def made_by(bench: Bench, caller: str, tool: str) -> Any:
    """Returns the `tool_result` of one call by this caller."""
    arguments = {"path": "a.py"} if tool == "read_file" else WRITE
    if caller == "model":
        await bench.ask("go")
    else:
        await bench.ask({**own(tool, **arguments), "by": "model" if caller == "agent" else "person"})
    (event,) = bench.of("tool_result")
    return event


@pytest.mark.parametrize("tag", CALLER_TAGS)
@pytest.mark.parametrize(("caller", "tool"), EXPECTED)
async def test_POL_19_a_rule_for_a_tag_holds_for_whoever_has_it(
    make_bench: Any, tag: str, caller: str, tool: str
) -> None:
    arguments = {"path": "a.py"} if tool == "read_file" else WRITE
    step = [intent("READ_FILE" if tool == "read_file" else "CODE"), call(tool, **arguments)]
    bench = await make_bench({"calls": step}, {"text": "ok"}, policy=denying(tag))
    event = await made_by(bench, caller, tool)
    denied = event.error is not None and "tagged" in event.error.what
    assert denied == (tag in EXPECTED[caller, tool]), event.error


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")
async def test_POL_19_what_a_command_wrote_is_no_trusted_write(make_bench: Any) -> None:
    policy = LAX + (
        "  - { name: others, match: { syscall: fs.write }, action: deny, except: [{ caller_tag: [trusted_write] }] }\n"
    )
    bench = await make_bench(policy=policy)
    await bench.ask(own("run_command", command="echo x > by_command"))
    await bench.ask(own("write_file", **WRITE))
    command, written = bench.of("tool_result")
    assert "others" in str(command)
    assert written.error is None
    assert sorted(path.name for path in bench.workspace.iterdir() if path.name != "a.py") == ["new.py"]


def test_POL_19_trust_ends_at_the_first_link_from_elsewhere() -> None:
    trust = {"core_plugin", "trusted_write"}
    assert all(not tags_of("agent", tool) & trust for tool in TOOL_TAGS)
    assert tags_of("model", "tool_of_a_plugin") == {"model", "third_party"}
    assert tags_of("human", "tool_of_a_plugin") == {"human", "third_party"}


def test_POL_19_the_tables_give_every_tag_there_is_and_no_other() -> None:
    given = frozenset[str]().union(*(tags_of(caller, tool) for caller in CALLERS for tool in TOOL_TAGS))
    assert given | OWN | SUB_AGENT == CALLER_TAGS.keys()


@pytest.mark.parametrize("more", [{"caller_tags": ["human"]}, {"tags": ["trusted_write"]}, {"by": "human"}])
def test_POL_19_no_request_has_a_place_for_a_tag(more: dict[str, Any]) -> None:
    part = {**own("read_file", path="a.py"), **more}
    with pytest.raises(ValidationError):
        TypeAdapter(RunRequest).validate_python({"session_id": "s", "turn_id": "t", "input": part})


async def test_POL_19_no_argument_of_a_tool_gives_a_tag(make_bench: Any) -> None:
    bench = await make_bench(policy=denying("model"))
    part = own("read_file", path="a.py", caller_tags=["human"])
    await bench.ask({**part, "by": "model"})
    assert bench.of("tool_result")[0].error.code == "invalid_arguments"


def test_POL_19_a_rule_for_a_tag_that_nobody_has_warns() -> None:
    text = "version: 1\ncapabilities:\n  - { name: a, match: { caller_tag: [model, new_employee] }, action: deny }\n"
    (warning,) = compile_policy([Source("p.yaml", text)]).warnings
    assert str(warning).startswith("p.yaml:3:")
    assert "no caller has the tag `new_employee`" in str(warning)
