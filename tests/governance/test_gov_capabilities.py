"""Capability tokens: minted for judged actions, used by their holder, and valid for a limited time (APP-07)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_governance.capabilities import Holder, NotMinted, Token, TokenBook
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.values import Action

POLICY = compile_policy(
    [
        Source(
            "p.yaml",
            """
capabilities:
  - { name: src, match: { syscall: fs.write, path_glob: ["src/**"] }, action: allow }
  - { name: no, match: { path_glob: ["src/no.py"] }, action: deny }
  - { name: ask, match: { path_glob: ["src/ask.py"] }, action: require_review }
""",
        )
    ]
)
OTHER = compile_policy([Source("p.yaml", "version: 1\n")])
ME, OTHERS = Holder("box-1", 10), Holder("box-2", 11)
A, B = (Action("fs.write", path=f"src/{name}.py", size=10) for name in "ab")


def minted(book: TokenBook, *actions: Action, **limits: object) -> Token:
    token = book.mint([(a, evaluate(POLICY, a)) for a in actions], POLICY, ME, 0.0, **limits)  # type: ignore[arg-type]
    assert isinstance(token, Token)
    return token


@rows("path", ["src/no.py", "src/ask.py", "elsewhere.py", ".git/config", "src/../.git/config"])
def test_no_token_for_what_is_not_plainly_allowed(path: str) -> None:
    action = Action("fs.write", path=path)
    assert isinstance(
        TokenBook().mint([(A, evaluate(POLICY, A)), (action, evaluate(POLICY, action))], POLICY, ME, 0), NotMinted
    )


REFUSED = {
    "expired": (ME, A, POLICY, 30.0),
    "other_holder": (OTHERS, A, POLICY, 1.0),
    "other_policy": (ME, A, OTHER, 1.0),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_token_that_does_not_hold(why: str) -> None:
    book = TokenBook()
    holder, action, policy, now = REFUSED[why]
    assert book.check(minted(book, A).nonce, holder, action, policy, now) == why


@rows(
    "other",
    [
        B,
        replace(A, path="src/no.py"),
        replace(A, syscall="fs.delete"),
        replace(A, size=11),
        replace(A, tool="x"),
        replace(A, state="validating"),
        replace(A, mode="debug"),
        replace(A, caller_tags=frozenset({"third_party"})),
    ],
)
def test_a_token_covers_nothing_that_was_not_judged(other: Action) -> None:
    book = TokenBook()
    assert book.check(minted(book, A).nonce, ME, other, POLICY, 1.0) == "other_action"


def test_a_token_covers_every_spelling_of_its_path() -> None:
    book = TokenBook()
    assert book.check(minted(book, A).nonce, ME, replace(A, path="src//./x/../a.py"), POLICY, 1.0) is None


def test_uses_run_out() -> None:
    book = TokenBook()
    nonce = minted(book, A, max_ops=2).nonce
    assert [book.use(nonce, ME, A, POLICY, 1.0) for _ in range(3)] == [None, None, "used_up"]


def test_a_policy_change_revokes() -> None:
    book = TokenBook()
    nonce = minted(book, A).nonce
    assert book.revoke_other_policies(OTHER.version) == 1
    assert book.check(nonce, ME, A, POLICY, 1.0) == "unknown"


def test_nonces_grow() -> None:
    book = TokenBook()
    nonces = [minted(book, A).nonce for _ in range(5)]
    assert nonces == sorted(set(nonces))


def test_APP_12_a_part_of_a_token_has_no_more_than_its_parent_had() -> None:
    book = TokenBook()
    parent = minted(book, A, max_ops=3)
    part = book.attenuate(parent.nonce, OTHERS, [A, B], 1.0, max_ops=10)
    assert part is not None
    assert (part.scope, part.max_ops, part.expires, part.holder) == (parent.scope, 3, parent.expires, OTHERS)
    assert book.use(part.nonce, OTHERS, A, POLICY, 2.0) is None
    assert book.use(part.nonce, OTHERS, B, POLICY, 2.0) == "other_action"
    assert book.use(part.nonce, ME, A, POLICY, 2.0) == "other_holder"
    assert book.check(part.nonce, OTHERS, A, POLICY, 30.0) == "expired"
    # A use that was handed on cannot be used by the parent too.
    assert book.use(parent.nonce, ME, A, POLICY, 2.0) == "used_up"


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sets(st.sampled_from("abc")), st.integers(0, 20)), max_size=8),
    st.integers(1, 15),
)
def test_APP_12_however_often_it_is_handed_on_there_are_no_more_uses(
    steps: list[tuple[int, set[str], int]], most: int
) -> None:
    book = TokenBook()
    actions = {name: Action("fs.write", path=f"src/{name}.py", size=10) for name in "abc"}
    tokens = [minted(book, *actions.values(), max_ops=most)]
    for which, names, uses in steps:
        parent = tokens[which % len(tokens)]
        part = book.attenuate(parent.nonce, ME, [actions[name] for name in names], 1.0, max_ops=uses)
        assert part is not None
        assert part.scope <= parent.scope
        tokens.append(part)
    used = sum(
        book.use(token.nonce, ME, action, POLICY, 1.0) is None
        for token in tokens
        for action in actions.values()
        for _ in range(most)
    )
    assert used <= most
    book.revoke(tokens[0].nonce)
    assert {book.check(token.nonce, ME, A, POLICY, 1.0) for token in tokens} == {"unknown"}
    assert book.attenuate(tokens[0].nonce, ME, [A], 1.0, max_ops=1) is None


def test_APP_13_a_token_is_in_force_until_its_time_or_until_it_is_revoked() -> None:
    book = TokenBook()
    token, other = minted(book, A), minted(book, B)
    part = book.attenuate(token.nonce, OTHERS, [A], 1.0, max_ops=1)
    assert part is not None
    assert [book.state(each.nonce, 29.9) for each in (token, part, other)] == ["in_force"] * 3
    assert book.state(token.nonce, 30.0) == "expired"
    book.revoke(token.nonce)
    assert [book.state(each.nonce, 30.0) for each in (token, part, other)] == ["revoked", "revoked", "expired"]
    assert book.revoke_other_policies(OTHER.version) == 1
    assert book.state(other.nonce, 1.0) == "revoked"
