"""Rows of programs that a person or a project adds (CMD-10)."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from risk_sets import HARMLESS, read_cases, read_local
from rows import rows

from remit_governance.errors import PolicyError
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.recorded import explain
from remit_governance.policy.decision.risk import rated_parts, risk_of
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.load import own_rows
from remit_governance.policy.rules import Policy
from remit_governance.policy.shell.catalogue.rows import EFFECTS, NO_ROWS, ORDER, OwnRows
from remit_governance.policy.shell.effects.own_effects import effect_with
from remit_governance.values import Action

RISKS = ("low", "medium", "high")


def mine(text: str) -> OwnRows:
    return own_rows([Source("programs.yaml", text)])


def theirs(text: str, person: str = "") -> OwnRows:
    return own_rows([Source("programs.yaml", person), Source(".remit/programs.yaml", text, project=True)])


def run(line: str) -> Action:
    return Action("process.exec", script=line)


MY_TOOL = "- programs: [mytool]\n  reads: [status, list]\n  changes: [apply]\n  writes: [--out]\n  otherwise: sends\n"


@rows(
    ("row", "line", "risk"),
    [
        (MY_TOOL, "mytool status", "low"),
        (MY_TOOL, "mytool apply", "medium"),
        (MY_TOOL, "mytool push", "high"),
        (MY_TOOL, "mytool list --out report.txt", "medium"),
        (MY_TOOL, "cat a | mytool list", "low"),
        (MY_TOOL, "timeout 5 mytool list", "low"),
        (MY_TOOL, "./mytool list", "high"),  # a file with this name is another program
        (MY_TOOL, 'mytool "$X"', "high"),
        ("- programs: [./scripts/report.sh]\n  otherwise: reads\n", "./scripts/report.sh -a", "low"),
        ("- programs: [terraform]\n  reads: [plan]\n", "terraform plan", "low"),
        ("- programs: [terraform]\n  reads: [plan]\n", "terraform plan -out=x", "medium"),
        ("- programs: [terraform]\n  reads: [plan]\n", "terraform destroy", "high"),
        ("- programs: [terraform]\n  reads: [plan]\n", "terraform fmt -check", "low"),
        ("- programs: [cargo]\n  reads: [check]\n", "cargo check", "low"),
        ("- programs: [cargo]\n  reads: [check]\n", "cargo check --config x", "high"),
        ("- programs: [cargo]\n  reads: [check --config]\n", "cargo check --config x", "low"),
        ("- programs: [git]\n  unknown: [log]\n", "git log", "high"),
        ("- programs: [git]\n  unknown: [log]\n", "git status", "low"),
        ("- programs: [sed]\n  otherwise: reads\n", "sed 'w x' a", "high"),  # a doubt stays a doubt
        ("- programs: [mytool]\n  options: -c|--config=\n  reads: [list]\n", "mytool -c x list", "low"),
    ],
)
def test_CMD_10_a_persons_row_replaces_what_it_names(row: str, line: str, risk: str) -> None:
    assert risk_of(run(line), mine(row)) == risk


def policy(programs: OwnRows, *rules: dict[str, object]) -> Policy:
    text = json.dumps({"capabilities": [{"name": "all", "match": {}, "action": "allow"}, *rules]})
    return compile_policy([Source("p", text)], programs=programs)


HIGH = {"name": "high", "match": {"risk": "high"}, "action": "deny"}


@rows("action", [run("mytool push"), Action("process.exec", command=("mytool", "push"))])
def test_CMD_10_rules_see_the_risk_that_is_shown(action: Action) -> None:
    for own, verdict, risk in (
        (mine(MY_TOOL), "deny", "high"),
        (mine(MY_TOOL.replace("sends", "reads")), "allow", "low"),
    ):
        told = explain(policy(own, HIGH), action)
        assert (told["verdict"], told["risk"]) == (verdict, risk)


def test_CMD_10_another_file_is_another_policy() -> None:
    known = {policy(own).version for own in (NO_ROWS, mine(MY_TOOL), theirs(MY_TOOL), mine(MY_TOOL + "\n"))}
    assert len(known) == 4


@rows(
    ("text", "line", "what", "fix"),
    [
        ("- programs: [a]\n  reeds: [x]\n", 2, "`reeds`", "`reads`"),
        ("- reads: [x]\n", 1, "`programs` is missing", "programs:"),
        ("- programs: [a]\n- programs: [b, a]\n", 2, "`a` has two rows", "one"),
        ("- programs: [a]\n  reads: [x|-y]\n", 2, "`x|-y`", "two entries"),
        ("- programs: [a]\n  otherwise: maybe\n", 2, "otherwise", "`reads`"),
        ("- programs: [a]\n  judge: git\n", 2, "`judge`", ""),
        ("- programs: [a]\n  commands:\n    x: { option: -a }\n", 3, "`option`", "`options`"),
        ("- programs: [a]\n  reads: [true]\n", 2, "reads", "in quotes"),
        ("programs: [a]\n", 1, "", ""),
    ],
)
def test_CMD_10_a_wrong_file_is_an_error_with_its_place(text: str, line: int, what: str, fix: str) -> None:
    for project in (False, True):
        with pytest.raises(PolicyError) as raised:
            own_rows([Source("programs.yaml", text, project=project)])
        problem = raised.value.problems[0]
        assert (problem.file, problem.line) == ("programs.yaml", line)
        assert what in problem.message
        assert fix in problem.fix


LINES = [case.line for case in (*read_local(), *read_cases()) if case.half == "tune" and case.line.isascii()]
PROGRAMS = sorted({words[0] for line in LINES if "'" not in line and '"' not in line and (words := line.split())})
WORDS = sorted({word for line in LINES for word in line.split()[1:] if word.replace("-", "").isalnum()})[:400]
ENTRY = st.lists(st.sampled_from(["?", *WORDS]), min_size=1, max_size=3).map(" ".join)
OPTION = st.sampled_from([word for word in WORDS if word.startswith("-") and word.strip("-")])


@st.composite
def project_rows(draw: st.DrawFn) -> str:
    """Draws rows with any content for programs that occur in the lines."""
    names = draw(st.lists(st.sampled_from(PROGRAMS), min_size=1, max_size=3, unique=True))
    row: dict[str, object] = {"programs": names}
    for effect in draw(st.lists(st.sampled_from(EFFECTS), max_size=3, unique=True)):
        row[effect] = draw(st.lists(ENTRY, max_size=3))
    for key in ("otherwise", "unlisted"):
        if draw(st.booleans()):
            row[key] = draw(st.sampled_from(EFFECTS))
    if draw(st.booleans()):
        row["writes"] = draw(st.lists(OPTION, max_size=2))
    if draw(st.booleans()):
        row["options"] = " ".join(f"{name}=" for name in draw(st.lists(OPTION, max_size=3, unique=True)))
    return json.dumps([row])


@given(st.data(), project_rows())
def test_CMD_10_with_a_projects_rows_nothing_is_judged_milder(data: st.DataObject, text: str) -> None:
    """Whatever a project's row says: no effect, no file and no risk becomes less, and no decision becomes laxer."""
    (row,) = json.loads(text)
    person = data.draw(
        st.sampled_from(["", MY_TOOL, json.dumps([{"programs": row["programs"], "otherwise": "reads"}])])
    )
    with_it, without = theirs(text, person), mine(person)
    about = [line for line in LINES if line.split() and line.split()[0] in row["programs"]]
    line = data.draw(st.sampled_from(about))
    action = run(line)
    assert RISKS.index(risk_of(action, with_it)) >= RISKS.index(risk_of(action, without))
    files = [{part.path for part in rated_parts(action, own).actions} for own in (with_it, without)]
    assert files[0] >= files[1]
    try:
        command = tuple(shlex.split(line))
    except ValueError:
        return
    assert ORDER[effect_with(command, with_it)] >= ORDER[effect_with(command, without)]
    for match in ({"risk": "high"}, {"risk": "medium"}, {"risk": "low"}):
        for verdict in ("allow", "require_review", "deny"):
            rule: dict[str, object] = {"name": "it", "match": match, "action": verdict}
            text_of = json.dumps({"capabilities": [rule]})
            decided = [
                evaluate(compile_policy([Source("p", text_of)], programs=own), action).verdict
                for own in (with_it, without)
            ]
            assert decided[0] >= decided[1]


def test_CMD_10_the_recipe_a_program_is_added_by_one_row() -> None:
    """Without a row nobody knows what the program does; with one row each of its commands is rated."""
    recipe = "- programs: [deploytool]\n  reads: [status]\n  sends: [push]\n"
    assert [risk_of(run(f"deploytool {word}")) for word in ("status", "push", "x")] == ["high", "high", "high"]
    assert [risk_of(run(f"deploytool {word}"), mine(recipe)) for word in ("status", "push", "x")] == [
        "low",
        "high",
        "high",
    ]


def test_the_harmless_lines_are_enough_to_try() -> None:
    assert len(LINES) > 1_500
    assert any(case.kind == HARMLESS for case in read_cases())
