"""The workflow's state machine: its tables are complete, refuse everything else, and equal a machine that is written by
hand."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS
from rows import rows

from remit_governance.errors import PolicyError
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.load import workflow_source
from remit_governance.values import Action
from remit_governance.workflow.position import Position
from remit_governance.workflow.proof.runs import Red, TestFiles
from remit_governance.workflow.states import (
    CHANGED,
    TRANSITIONS,
    Facts,
    Held,
    Mode,
    Moved,
    State,
    Trigger,
    advance,
    mermaid,
    rows_of,
    ways_out,
)
from remit_governance.workflow.test_files import TEST_GLOBS, locked_files

FACTS = [Facts(*given) for given in product([False, True], repeat=7)]
ROWS = [(mode, exempt, row) for mode in Mode for exempt in (False, True) for row in rows_of(mode, exempt=exempt)]

SEQUENCES = 100_000


def obvious(mode: str, state: str, trigger: str, facts: Facts, exempt: bool) -> str | None:
    """Returns the next state, written out case by case as the seed describes it, or None if nothing changes."""
    if trigger == "reset":
        return "idle"
    loose = mode != "strict" or exempt
    beginning = state in {"idle", "planning"}
    match state, trigger:
        case "idle", "message":
            return "planning"
        case "planning", "plan_completed":
            return "test_writing" if mode == "strict" else "exploring"
        case "exploring", "plan_completed" if exempt and not facts.changed:
            return "test_writing"
        case "exploring", "exemption_granted" if exempt and not facts.changed:
            return "exploring"
        case "planning", "exemption_granted" if mode == "strict":
            return "exploring"
        case "test_writing", "exemption_granted" if not loose and facts.untouched:
            return "exploring"
        case "test_writing", "tests_ended" if not loose and facts.red:
            return "code_writing"
        case "test_writing", "tests_ended" if not loose and facts.tests_alone:
            return "reviewing"
        case "code_writing", "tests_revised" if not loose and facts.restored:
            return "test_writing"
        case "code_writing", "tests_started" if not loose and facts.changed:
            return "validating"
        case "exploring", "untested" if mode != "strict" and not exempt and facts.changed:
            return "validating"
        case "validating", "untested" if mode != "strict" and not exempt:
            return "reviewing"
        case (("exploring" | "retroactive_testing"), "tests_started") if loose and facts.changed:
            return "validating"
        case "validating", "tests_ended" if facts.green:
            return "reviewing"
        case "validating", "tests_ended":
            return "exploring" if loose else "code_writing"
        case "reviewing", "approved":
            return None if loose and not exempt and not facts.within_budget else "committing"
        case "reviewing", "rejected":
            return "exploring" if loose else ("test_writing" if facts.tests_alone and not facts.red else "code_writing")
        case "reviewing", "tests_wanted" if loose:
            return "retroactive_testing"
        case "committing", "committed":
            return "idle"
        case _:
            assert not beginning or trigger != "message" or state != "idle"
            return None


@rows(("mode", "exempt", "row"), ROWS)
def test_FLW_02_every_transition_of_the_tables_is_taken(mode: Mode, exempt: bool, row: object) -> None:
    assert row in rows_of(mode, exempt=exempt)
    fitting = [facts for facts in FACTS if row.guard is None or row.guard.holds(facts)]  # type: ignore[attr-defined]
    assert fitting
    for facts in fitting:
        moved = advance(mode, row.source, row.trigger, facts, exempt=exempt)  # type: ignore[attr-defined]
        assert moved == Moved(row.source, row.target)  # type: ignore[attr-defined]


@given(st.sampled_from(Mode), st.booleans(), st.sampled_from(State), st.sampled_from(Trigger), st.sampled_from(FACTS))
def test_FLW_02_what_no_row_leads_to_is_held_and_says_what_is_missing(
    mode: Mode, exempt: bool, state: State, trigger: Trigger, facts: Facts
) -> None:
    said = advance(mode, state, trigger, facts, exempt=exempt)
    rows = [row for row in rows_of(mode, exempt=exempt) if (row.source, row.trigger) == (state, trigger)]
    open_rows = [row for row in rows if row.guard is None or row.guard.holds(facts)]
    if trigger is Trigger.RESET:
        assert said == Moved(state, State.IDLE)
    elif open_rows:
        assert said == Moved(state, open_rows[0].target)
    else:
        assert isinstance(said, Held)
        assert said.state is state
        assert bool(said.needs) == bool(rows)


@pytest.mark.slow
def test_FLW_02_a_second_machine_written_by_hand_agrees_on_random_sequences() -> None:
    chance = random.Random(17)
    triggers, modes = list(Trigger), list(Mode)
    for _ in range(SEQUENCES):
        mode, exempt, state = chance.choice(modes), chance.random() < 0.2, State.IDLE
        for _ in range(8):
            trigger, facts = chance.choice(triggers), chance.choice(FACTS)
            said = advance(mode, state, trigger, facts, exempt=exempt)
            expected = obvious(mode, state, trigger, facts, exempt)
            assert (said.target if isinstance(said, Moved) else None) == expected
            state = said.target if isinstance(said, Moved) else state


def test_FLW_02_every_state_but_idle_has_a_way_out_that_is_said() -> None:
    for mode in Mode:
        reached = {row.target for row in TRANSITIONS[mode]}
        for facts in FACTS:
            assert all(ways_out(mode, state, facts) or ways_out(mode, state, facts, exempt=True) for state in reached)


def test_FLW_02_the_diagram_has_each_row_once() -> None:
    for mode in Mode:
        lines = mermaid(mode).splitlines()
        assert len(lines) == len(set(lines)) == len(TRANSITIONS[mode]) + 2


def test_FLW_02_the_guide_shows_the_table_as_it_is() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "workflow.md").read_text("utf-8")
    assert mermaid(Mode.STRICT) in guide


def test_FLW_03_files_that_a_person_names_are_tests_and_those_that_a_project_names_are_locked() -> None:
    person = (
        "version: 1\ncapabilities: [{ name: all, match: {}, action: allow }]\ntdd_tests: { path_glob: ['spec/**'] }\n"
    )
    project = "version: 1\ntdd_tests: { path_glob: ['testing/**', '!tests/**'] }\n"
    both = compile_policy([Source("p", person), workflow_source(), Source("q", project, project=True)])

    def verdict(path: str, state: str) -> str:
        return evaluate(both, Action("fs.write", path, mode="strict", state=state)).verdict.word

    assert [verdict("spec/a.rb", state) for state in ("test_writing", "code_writing")] == ["allow", "deny"]
    assert [verdict("testing/a.py", state) for state in ("test_writing", "code_writing")] == ["deny", "deny"]
    assert [verdict("tests/a.py", state) for state in ("test_writing", "code_writing")] == ["allow", "deny"]
    assert [verdict("src/a.py", state) for state in ("test_writing", "code_writing")] == ["deny", "allow"]
    assert both.test_globs == (TEST_GLOBS, ("spec/**",), ("testing/**", "!tests/**"))


@pytest.mark.parametrize("path", ["tests.py", "shop/tests.py", "shop/test.py"])
def test_FLW_03_a_module_of_tests_is_tests_by_its_name(path: str) -> None:
    both = compile_policy([Source("p", ALLOW), workflow_source()])
    found = [
        evaluate(both, Action("fs.write", path, mode="strict", state=state)).verdict.word
        for state in ("test_writing", "code_writing")
    ]
    assert found == ["allow", "deny"]


ALLOW = "version: 1\ncapabilities: [{ name: all, match: {}, action: allow }]\n"


def test_FLW_03_what_a_person_says_is_no_test_is_code_and_what_a_project_locks_stays_locked() -> None:
    person = ALLOW + "tdd_tests: { path_glob: ['spec/**'], except: ['test/lib/**', 'spec/lib/**'] }\n"
    project = "version: 1\ntdd_tests: { path_glob: ['test/lib/kept/**'] }\n"
    both = compile_policy([Source("p", person), workflow_source(), Source("q", project, project=True)])

    def verdicts(path: str) -> list[str]:
        states = ("test_writing", "code_writing", "retroactive_testing")
        return [evaluate(both, Action("fs.write", path, mode="strict", state=each)).verdict.word for each in states]

    as_code, as_test, locked = ["deny", "allow", "deny"], ["allow", "deny", "allow"], ["deny", "deny", "deny"]
    assert verdicts("test/lib/a.py") == verdicts("spec/lib/a.rb") == as_code
    assert verdicts("test/test_a.py") == verdicts("spec/a.rb") == as_test
    assert verdicts("test/lib/kept/a.py") == locked
    assert verdicts("test/lib/conftest.py") == locked, "what configures tests is no test"
    is_locked = locked_files(both.test_globs)
    paths = ("test/lib/a.py", "test/test_a.py", "test/lib/kept/a.py", "conftest.py", "spec/lib/a.rb")
    assert [is_locked(path) for path in paths] == [False, True, True, True, False]


def test_THR_workflow_a_project_cannot_say_that_its_tests_are_none() -> None:
    project = "version: 1\ntdd_tests: { except: ['tests/**'] }\n"
    with pytest.raises(PolicyError) as found:
        compile_policy([Source("p", ALLOW), workflow_source(), Source("q", project, project=True)])
    (problem,) = found.value.problems
    assert SAYS.may_only_tighten in str(problem)
    with pytest.raises(PolicyError):
        compile_policy([Source("p", ALLOW + "tdd_tests: { except: ['!tests/**'] }\n"), workflow_source()])


@given(st.sampled_from(["deny", "require_review"]), st.sampled_from(["{}", "{ syscall: session.set_mode }"]))
def test_FLW_07_no_rule_of_a_project_is_asked_about_strict_mode(action: str, match: str) -> None:
    project = f"version: 1\ncapabilities: [{{ name: theirs, match: {match}, action: {action} }}]\n"
    both = compile_policy([Source("p", ALLOW), workflow_source(), Source("q", project, project=True)])
    verdicts = {
        mode: evaluate(both, Action("session.set_mode", mode=mode, caller_tags=frozenset({"human"}))).verdict.word
        for mode in Mode
    }
    assert verdicts == {Mode.STRICT: "allow", Mode.EXPLORE: action, Mode.DEBUG: action}


def test_FLW_07_a_project_that_names_strict_mode_to_hold_it_back_is_told_what_it_may_name() -> None:
    rule = "{{ name: theirs, match: {{ syscall: session.set_mode, mode: [{}] }}, action: deny }}"
    looser = "version: 1\ncapabilities: [" + rule.format("explore, debug") + "]\n"
    compile_policy([Source("p", ALLOW), workflow_source(), Source("q", looser, project=True)])
    with pytest.raises(PolicyError) as found:
        compile_policy(
            [Source("p", ALLOW), workflow_source(), Source("q", looser.replace("explore", "strict"), project=True)]
        )
    (problem,) = found.value.problems
    assert SAYS.may_only_tighten in str(problem)


def test_FLW_02_a_way_out_says_what_is_missing_and_nothing_of_what_is_done_or_closed() -> None:
    changed = Position(Mode.STRICT, State.CODE_WRITING, changed=True).ways_out()
    assert not any(CHANGED.needs in way for way in changed)
    assert any(CHANGED.needs in way for way in Position(Mode.STRICT, State.CODE_WRITING).ways_out())
    red = Red(frozenset({"a"}), frozenset({"a"}), TestFiles({}))
    assert not any("test_writing" in way for way in Position(Mode.STRICT, State.REVIEWING, red=red).ways_out())
    assert not any("code_writing" in way for way in Position(Mode.STRICT, State.REVIEWING).ways_out())
    both, _ = Position(Mode.STRICT, State.TEST_WRITING).ways_out()
    assert "code_writing" in both
    assert "reviewing" in both
