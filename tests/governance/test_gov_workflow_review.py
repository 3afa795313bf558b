"""The rule that says when a commit of strict mode needs the person's approval (FLW-10)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from remit_governance.workflow.position import Position
from remit_governance.workflow.review import CommitFacts, WorkflowOptions, is_review, reasons_to_look
from remit_governance.workflow.states import Mode, State

paths = st.lists(st.sampled_from(["a", "b", "c"]), max_size=9).map(tuple)
facts = st.builds(CommitFacts, st.integers(0, 1000), paths, paths, paths, paths, paths, paths, st.booleans())


@given(facts, st.integers(0, 1000))
def test_FLW_10_a_commit_goes_unasked_only_where_every_criterion_holds(facts: CommitFacts, most: int) -> None:
    options = WorkflowOptions(auto_commit=True, auto_commit_lines=most)
    tested = facts.is_tested and not facts.untested and not facts.left_out
    own = not (facts.sensitive or facts.unreadable or facts.foreign or facts.unproven)
    holds = tested and facts.lines <= most and own
    assert (reasons_to_look(facts, options) == ()) == holds


@given(facts)
def test_FLW_10_nothing_goes_unasked_unless_the_person_has_set_it_so(facts: CommitFacts) -> None:
    assert reasons_to_look(facts, WorkflowOptions())


@given(st.sampled_from(Mode), st.sampled_from(State))
def test_FLW_10_a_commit_is_the_review_in_strict_mode_after_all_tests_passed(mode: Mode, state: State) -> None:
    assert is_review(Position(mode, state)) == (mode is Mode.STRICT and state is State.REVIEWING)
