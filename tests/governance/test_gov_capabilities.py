"""Capability tokens: minted for what was judged, used by their holder, and no longer than they hold (APP-07)."""

from __future__ import annotations

from dataclasses import replace

import pytest

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


@pytest.mark.parametrize("path", ["src/no.py", "src/ask.py", "elsewhere.py", ".git/config", "src/../.git/config"])
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


@pytest.mark.parametrize(
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
