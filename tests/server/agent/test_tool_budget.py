"""AGT-11: the description of the tools fits the model's window, and says everything once."""

from __future__ import annotations

import json
import re
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from messages import SAYS
from rows import rows

from remit_governance.intents import INTENT_TOOLS
from remit_governance.values import Intent
from remit_server.agent.context.tool_budget import (
    DROPPED_FIRST,
    FOLLOWED,
    IF_NAMED,
    LEADS_ON,
    MOST_TOOL_TOKENS,
    context_cost,
    fit_tools,
)
from remit_server.agent.prompt import SYSTEM_PROMPT
from remit_server.models.ports import ToolSpec
from remit_server.models.profile import SMALL, SMALL_NATIVE, Profile
from remit_server.models.steps.telling import describe_step
from remit_server.models.tool_words import shown_parameters, without_words
from remit_server.tools.table import TOOLS

SPECS = {name: ToolSpec(name, tool.summary, tool.schema) for name, tool in TOOLS.items() if not tool.person_only}
OFFERED = {
    intent: tools
    for intent, row in INTENT_TOOLS.items()
    if (tools := tuple(SPECS[name] for name in row.tools if name in SPECS))
}
WITHOUT_WORKFLOW = {
    intent: left
    for intent, tools in OFFERED.items()
    if (left := tuple(tool for tool in tools if tool.name not in LEADS_ON))
}


def names(intents: Any) -> set[str]:
    return {tool.name for offered in intents.values() for tool in offered}


def test_AGT_11_every_tool_fits_a_usual_window() -> None:
    assert sum(map(context_cost, SPECS.values())) <= MOST_TOOL_TOKENS
    assert fit_tools(OFFERED, 20_000) == fit_tools(OFFERED, None)
    assert names(fit_tools(OFFERED, None)) == set(SPECS) - set(IF_NAMED)


@rows("profile", [SMALL, SMALL_NATIVE])
def test_MOD_21_a_small_model_is_offered_few_tools_under_as_few_intents(profile: Profile) -> None:
    offer = fit_tools(WITHOUT_WORKFLOW, 8_192, profile)
    assert names(offer) == set(profile.tools)
    assert len(offer) == 3, "looking, changing, running"
    for tool in (tool for tools in offer.values() for tool in tools):
        whole = SPECS[tool.name].parameters
        told, given = tool.parameters["properties"], profile.given.get(tool.name, {})
        assert isinstance(told, dict)
        assert not told.keys() & given.keys()
        assert set(whole["required"]) <= told.keys() | given.keys()  # type: ignore[arg-type]


def test_MOD_21_the_enforced_workflow_keeps_its_tools() -> None:
    offer = fit_tools(OFFERED, 8_192, SMALL)
    assert names(offer) == {*SMALL.tools, *LEADS_ON, *FOLLOWED}


@rows("window", [1_000, 2_000, 4_096, 8_192, 12_000])
def test_AGT_11_a_small_window_is_not_filled_by_tools(window: int) -> None:
    offer = fit_tools(OFFERED, window)
    assert offer == fit_tools(OFFERED, window)
    assert {"read_file", "write_file", "edit_file"} <= names(offer)
    tools = {tool.name: tool for offered in offer.values() for tool in offered}.values()
    assert sum(map(context_cost, tools)) <= window / 5 or names(offer) & set(DROPPED_FIRST) == set()
    assert all(offer.values())


def test_AGT_11_every_tool_is_kept_or_dropped_by_name() -> None:
    kept = {
        "read_file",
        "write_file",
        "edit_file",
        "replace_lines",
        "plan_complete",
        "revise_tests",
        "workflow_request_exemption",
    }
    assert set(DROPPED_FIRST) | kept == set(SPECS)


def test_AGT_11_what_is_shown_of_a_schema_tells_names_types_and_words() -> None:
    shown = shown_parameters(TOOLS["edit_file"].schema)
    assert shown["required"] == ["path", "old_text", "new_text"]
    properties = shown["properties"]
    assert isinstance(properties, dict)
    assert properties["line"] == {"description": SAYS.only_where_old_text_starts, "type": "integer"}
    assert properties.keys() == TOOLS["edit_file"].schema["properties"].keys()
    assert "description" not in json.dumps(without_words(shown))


def test_AGT_11_the_matrix_stands_in_a_step_once() -> None:
    told = describe_step(OFFERED)
    assert told.count("ANALYZE") == told.count("get_symbols,") == 1


def test_MOD_20_arguments_are_told_in_no_notation_that_looks_like_their_values() -> None:
    """Three small models wrote "string: path of the file, relative to the workspace" as a path, and into files."""
    told = describe_step(OFFERED)
    head, example = told.split("\nA step that reads a file: ")
    names = {tool.name: tool for tools in OFFERED.values() for tool in tools}
    for line in head.partition("may be left out):\n")[2].splitlines():
        name = line.removeprefix("- ").partition("(")[0]
        signature = line.partition("): ")[0]
        assert {*names[name].parameters["properties"]} == {*re.findall(r"\w+", signature.partition("(")[2])}
    assert '"path":' not in head
    assert "string" not in re.sub(r"\w*string\w+|\w+string\w*", "", head)
    step = json.loads(example)
    assert step["calls"][0]["tool"] in {tool.name for tool in OFFERED[Intent(step["intent"])]}


@pytest.mark.slow
@pytest.mark.skipif(find_spec("tokenizers") is None, reason="needs the mlx extra")
def test_AGT_11_with_4096_tokens_the_prompt_leaves_room() -> None:
    """Counted with a vocabulary of 16,000 tokens, a tenth of what most models have; with theirs there are fewer
    tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    from remit_server.models.local.host.prompts import renderer
    from remit_server.models.local.wire import ChatMessage
    from remit_server.models.ports import ToolSpec

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:80]
    trainer = trainers.BpeTrainer(
        vocab_size=16_000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator((path.read_text(encoding="utf-8") for path in sources), trainer)

    def count(window: int | None) -> int:
        shown = {
            intent.value: tuple(
                ToolSpec(name=tool.name, description=tool.description, parameters=dict(tool.parameters))
                for tool in offered
            )
            for intent, offered in fit_tools(OFFERED, window).items()
        }
        prompt = renderer(None, (), "", "").render([ChatMessage(role="system", content=SYSTEM_PROMPT)], shown)
        return len(tokenizer.encode(prompt).ids)

    counted = {window: count(window) for window in (4_096, 8_192, None)}
    print(counted)
    assert counted[4_096] <= 1_500
    assert counted[8_192] <= 2_600
    assert counted[None] <= 4_200
