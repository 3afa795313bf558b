"""Changes to the intent matrix by policy files (INT-08)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from remit_governance.errors import PolicyError
from remit_governance.intents import INTENT_TOOLS, NO_INTENT, PERSONS_OWN, Matrix, allowed_tools, gate, select
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.values import Effect, Intent

NAMES = sorted({name for row in INTENT_TOOLS.values() for name in row.tools})
ROWS = st.dictionaries(
    st.sampled_from([intent.value for intent in Intent]),
    st.fixed_dictionaries(
        {},
        optional={
            "tools": st.lists(st.sampled_from(NAMES), unique=True, max_size=6),
            "effects": st.lists(st.sampled_from([effect.value for effect in Effect]), unique=True),
        },
    ),
)
EXTERNAL = {f"added_{effect}": effect for effect in Effect}


def source(rows: Any, *, project: bool = False) -> Source:
    return Source("project.yaml" if project else "policy.yaml", yaml.safe_dump({"intents": rows}), project)


def matrix_of(*sources: Source) -> Matrix:
    return compile_policy(sources).matrix


def opened(matrix: Matrix) -> set[tuple[Intent, str]]:
    return {(intent, name) for intent in Intent for name in allowed_tools(intent, matrix, EXTERNAL)}


def test_INT_08_a_persons_row_replaces_what_it_gives_and_leaves_the_rest() -> None:
    found = matrix_of(
        source({"READ_FILE": {"tools": ["read_file", "list_files"]}, "ANALYZE": {"effects": ["network"]}})
    )
    assert found[Intent.READ_FILE].tools == ("read_file", "list_files")
    assert found[Intent.ANALYZE].tools == INTENT_TOOLS[Intent.ANALYZE].tools
    assert found[Intent.ANALYZE].external == {Effect.NETWORK}
    assert found[Intent.CODE] == INTENT_TOOLS[Intent.CODE]


@given(ROWS)
def test_INT_08_a_network_tool_is_opened_by_those_intents_alone_that_the_person_gave_it(rows: Any) -> None:
    found = matrix_of(source(rows))
    for intent in Intent:
        given_it = "network" in rows.get(intent.value, {}).get("effects", ())
        assert (gate(select(NO_INTENT, intent), "added_network", found, Effect.NETWORK) is None) == given_it


@given(ROWS)
def test_INT_08_a_tool_that_was_taken_out_of_every_row_comes_back_by_no_effect(rows: Any) -> None:
    found = matrix_of(source(rows))
    for intent in Intent:
        for name in NAMES:
            for effect in Effect:
                passes = gate(select(NO_INTENT, intent), name, found, effect) is None
                assert passes == (name in found[intent].tools)


@given(ROWS, ROWS)
def test_INT_08_a_project_opens_nothing_that_the_person_does_not(person: Any, project: Any) -> None:
    own = matrix_of(source(person))
    try:
        both = matrix_of(source(person), source(project, project=True))
    except PolicyError:
        return
    assert opened(both) <= opened(own)


@given(ROWS)
def test_INT_08_a_project_that_names_what_is_open_leaves_exactly_that(rows: Any) -> None:
    own = matrix_of(source(rows))
    kept = {intent.value: {"tools": list(own[intent].tools)[:2]} for intent in Intent}
    both = matrix_of(source(rows), source(kept, project=True))
    for intent in Intent:
        assert set(both[intent].tools) - PERSONS_OWN == set(kept[intent.value]["tools"]) - PERSONS_OWN
        assert both[intent].external == own[intent].external


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ({"READ_FILE": {"tools": ["read_file", "write_file"]}}, "READ_FILE would open write_file"),
        ({"ANALYZE": {"effects": ["read", "network"]}}, "ANALYZE would open network"),
    ],
)
def test_INT_08_a_project_that_widens_is_an_error_that_says_where(rows: Any, says: str) -> None:
    with pytest.raises(PolicyError) as failed:
        compile_policy([source({}), source(rows, project=True)])
    (problem,) = failed.value.problems
    assert says in problem.message
    assert (problem.file, problem.line) == ("project.yaml", 2)


@pytest.mark.parametrize(
    "rows", [{"READ": {}}, {"CODE": {"tool": ["x"]}}, {"CODE": {"effects": ["reads"]}}, {"CODE": 1}]
)
def test_INT_08_what_is_no_row_is_an_error(rows: Any) -> None:
    with pytest.raises(PolicyError):
        compile_policy([source(rows)])


def test_INT_08_a_name_that_is_no_tool_of_remits_own_is_warned_of() -> None:
    (warning,) = compile_policy([source({"CODE": {"tools": ["write_file", "writ_file"]}})]).warnings
    assert "`writ_file`" in warning.message


def test_INT_08_what_only_a_person_calls_stays_where_it_is() -> None:
    found = matrix_of(source({"CODE": {"tools": []}, "PLAN": {"tools": []}}))
    assert (found[Intent.CODE].tools, found[Intent.PLAN].tools) == (("undo_changes",), ("set_mode",))
