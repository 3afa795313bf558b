"""An approval is bound to one action, one time and one answer (APP-01)."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from remit_governance.approvals import (
    REMEMBERED_IDS,
    Accepted,
    ApprovalBook,
    ApprovalSubject,
    PathBinding,
    Refused,
)
from remit_governance.permissions.permissions import PermissionRule, StandingRule
from remit_governance.values import Intent

SUBJECT = ApprovalSubject(
    tool="write_file",
    arguments={"path": "a", "content": "x"},
    policy_version="sha256:p",
    session="s1",
    intent=Intent.CODE,
    paths=(PathBinding("a", "sha256:1", "sha256:2"),),
    argv=("pytest",),
    cwd=".",
    environment={"LANG": "C"},
    standing=(StandingRule("write_file", "fs.write", "a"),),
    always=PermissionRule(tool=("write_file",), path=("a",)),
)
CHANGES: dict[str, Any] = {
    "tool": "edit_file",
    "arguments": {"path": "a", "content": "y"},
    "policy_version": "sha256:q",
    "session": "s2",
    "intent": Intent.WRITE_FILE,
    "paths": (PathBinding("a", "sha256:3", "sha256:2"),),
    "argv": ("pytest", "-x"),
    "cwd": "sub",
    "environment": {"LANG": "C", "LD_PRELOAD": "x"},
    "standing": (StandingRule("write_file", "fs.write", None),),
    "always": PermissionRule(tool=("write_file",), workspace="/shop"),
    "everywhere": PermissionRule(tool=("write_file",)),
    "edits": True,
}


def test_every_field_is_in_the_digest() -> None:
    """THR-approvals-script-rewritten: an action that differs when it runs is a new action."""
    assert set(CHANGES) == {f.name for f in dataclasses.fields(ApprovalSubject) if f.init}
    digests = {SUBJECT.digest} | {dataclasses.replace(SUBJECT, **{k: v}).digest for k, v in CHANGES.items()}
    assert len(digests) == len(CHANGES) + 1
    for change in ({"path": "b"}, {"before": None}, {"after": "sha256:4"}):
        moved = dataclasses.replace(SUBJECT, paths=(dataclasses.replace(SUBJECT.paths[0], **change),))
        assert moved.digest != SUBJECT.digest


@given(st.lists(st.text(max_size=3), max_size=3), st.lists(st.text(max_size=3), max_size=3))
def test_no_two_argvs_share_a_digest(first: list[str], second: list[str]) -> None:
    one, two = (dataclasses.replace(SUBJECT, argv=tuple(a)) for a in (first, second))
    assert (one.digest == two.digest) == (first == second)


def test_an_answer_counts_once() -> None:
    """THR-approvals-replayed."""
    book = ApprovalBook()
    question = book.open(SUBJECT, now=0, ttl=10)
    accepted = book.answer(question.id, "allow", "once", question.digest, now=1)
    assert accepted == Accepted(question, "allow", "once", ())
    assert book.answer(question.id, "allow", "once", question.digest, now=2) == Refused("used")
    assert book.pending == ()


def test_an_answer_after_the_deadline_is_refused() -> None:
    """THR-approvals-expired."""
    book = ApprovalBook()
    question = book.open(SUBJECT, now=5, ttl=10)
    assert book.answer(question.id, "allow", "once", None, now=15) == Refused("expired")
    assert book.answer(question.id, "allow", "once", None, now=5) == Refused("expired")
    late = book.open(SUBJECT, now=5, ttl=10)
    assert book.answer(late.id, "allow", "once", None, now=14.9) == Accepted(late, "allow", "once", ())


def test_a_crossed_answer_is_refused_and_closes_nothing() -> None:
    """THR-approvals-crossed."""
    book = ApprovalBook()
    one = book.open(SUBJECT, now=0, ttl=10)
    two = book.open(dataclasses.replace(SUBJECT, tool="edit_file"), now=0, ttl=10)
    assert book.answer(one.id, "allow", "once", two.digest, now=1) == Refused("crossed")
    assert book.answer(one.id, "allow", "once", one.digest, now=1, session="s2") == Refused("crossed")
    assert book.pending == (one, two)
    assert isinstance(book.answer(two.id, "deny", "once", two.digest, now=1, session="s1"), Accepted)
    assert isinstance(book.answer(one.id, "allow", "once", one.digest, now=1), Accepted)


def test_unknown_and_withdrawn_ids_are_refused() -> None:
    book = ApprovalBook()
    assert book.answer("made-up", "allow", "once", None, now=0) == Refused("unknown")
    question = book.open(SUBJECT, now=0, ttl=10)
    assert book.close(question.id)
    assert not book.close(question.id)
    assert book.answer(question.id, "allow", "once", None, now=0) == Refused("used")


def test_a_session_answer_gives_exactly_the_rule_that_was_shown() -> None:
    """THR-approvals-broader-than-shown."""
    book = ApprovalBook()
    question = book.open(SUBJECT, now=0, ttl=10, scopes=("once", "session"))
    accepted = book.answer(question.id, "allow", "session", None, now=1)
    assert isinstance(accepted, Accepted)
    assert (accepted.standing, accepted.always) == (SUBJECT.standing, None)
    question = book.open(SUBJECT, now=0, ttl=10, scopes=("once", "session", "always"))
    accepted = book.answer(question.id, "allow", "always", None, now=1)
    assert isinstance(accepted, Accepted)
    assert (accepted.standing, accepted.always) == (SUBJECT.standing, SUBJECT.always)
    only_once = book.open(SUBJECT, now=0, ttl=10)
    assert book.answer(only_once.id, "allow", "session", None, now=1) == Refused("not_offered")
    assert book.pending == (only_once,)


def test_one_rejection_cancels_nothing_else() -> None:
    """THR-approvals-one-rejection."""
    book = ApprovalBook()
    questions = [book.open(dataclasses.replace(SUBJECT, tool=f"t{i}"), now=0, ttl=10) for i in range(3)]
    book.answer(questions[1].id, "deny", "once", None, now=1)
    assert book.pending == (questions[0], questions[2])


def test_ids_are_unguessable_and_closed_ones_are_forgotten_in_the_end() -> None:
    book = ApprovalBook()
    first = book.open(SUBJECT, now=0, ttl=1)
    ids = {first.id}
    book.close(first.id)
    for _ in range(REMEMBERED_IDS):
        question = book.open(SUBJECT, now=0, ttl=1)
        ids.add(question.id)
        book.close(question.id)
    assert len(ids) == REMEMBERED_IDS + 1
    assert min(len(i) for i in ids) >= 22
    assert book.answer(first.id, "allow", "once", None, now=0) == Refused("unknown")


class Approvals(RuleBasedStateMachine):
    """In whatever order the methods are called, an id has at most one accepted answer, in time and for its digest."""

    def __init__(self) -> None:
        super().__init__()
        self.book, self.now = ApprovalBook(), 0.0
        self.questions: list[Any] = []
        self.accepted: set[str] = set()
        self.closed: set[str] = set()

    @rule(ttl=st.integers(0, 5), tool=st.sampled_from("ab"))
    def ask(self, ttl: int, tool: str) -> None:
        self.questions.append(self.book.open(dataclasses.replace(SUBJECT, tool=tool), self.now, ttl))

    @rule(seconds=st.integers(0, 3))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule(data=st.data(), decision=st.sampled_from(["allow", "deny"]))
    def answer(self, data: st.DataObject, decision: Any) -> None:
        if not self.questions:
            return
        question, about = (data.draw(st.sampled_from(self.questions)) for _ in range(2))
        result = self.book.answer(question.id, decision, "once", about.digest, self.now)
        due = question.id not in self.accepted | self.closed and self.now < question.deadline
        assert isinstance(result, Accepted) == (due and about.digest == question.digest)
        if isinstance(result, Accepted):
            self.accepted.add(question.id)

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        if self.questions:
            question = data.draw(st.sampled_from(self.questions))
            if self.book.close(question.id):
                self.closed.add(question.id)

    @invariant()
    def closed_questions_are_not_open(self) -> None:
        assert not {q.id for q in self.book.pending} & (self.accepted | self.closed)


TestApprovals = Approvals.TestCase


def test_the_digest_has_no_hidden_order() -> None:
    arguments = json.loads('{"content": "x", "path": "a"}')
    assert dataclasses.replace(SUBJECT, arguments=arguments).digest == SUBJECT.digest


@pytest.mark.parametrize("bad", [float("nan"), {1, 2}])
def test_what_has_no_digest_cannot_be_asked_about(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        ApprovalBook().open(dataclasses.replace(SUBJECT, arguments={"x": bad}), now=0, ttl=1)
