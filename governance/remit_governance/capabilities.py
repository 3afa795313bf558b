"""Capability tokens: short-lived permits for actions that policy has already judged in full (APP-07).

A token repeats policy's verdict on exactly these actions, for a short time, for a few uses and for one holder. It
covers nothing that was not judged, so that skipping the rules later cannot skip a deny. No I/O and no clock: the caller
passes times, as seconds of one monotonic clock that it reads once before an evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Literal

from remit_governance.policy.matching.paths import normalise
from remit_governance.policy.rules import Policy
from remit_governance.values import Action, Decision, Verdict

DEFAULT_TTL_S = 30.0
DEFAULT_MAX_OPS = 10

Ended = Literal["in_force", "expired", "revoked"]
Invalid = Literal["unknown", "expired", "used_up", "other_holder", "other_policy", "other_action"]


@dataclass(frozen=True, slots=True)
class Holder:
    """Who may use a token: one sandbox, and the process in it that the kernel says is asking."""

    sandbox_id: str
    peer_pid: int


@dataclass(frozen=True, slots=True)
class Token:
    """A permit. `scope` holds each action that was judged, without its size; `most_bytes` is the largest judged size.

    `nonce` only ever grows, so that no token is minted twice. `parent` is the nonce of the token that this one was
    attenuated from.
    """

    nonce: int
    holder: Holder
    scope: frozenset[Action]
    most_bytes: int
    max_ops: int
    expires: float
    policy_version: str
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A token as `holder` presents it, with the number of uses left: a snapshot taken before anything is judged.

    `now` stays the same however long the rules take, so that a token cannot expire between two checks.
    """

    token: Token
    left: int
    holder: Holder
    now: float

    def refusal(self, action: Action, policy_version: str) -> Invalid | None:
        """Returns why the token does not cover this action, or None if it does."""
        token = self.token
        if self.now >= token.expires:
            return "expired"
        if self.left <= 0:
            return "used_up"
        if self.holder != token.holder:
            return "other_holder"
        if token.policy_version != policy_version:
            return "other_policy"
        covered = scope_of(action) in token.scope and (action.size or 0) <= token.most_bytes
        return None if covered else "other_action"


@dataclass(frozen=True, slots=True)
class NotMinted:
    """Why no token was minted: the first decision that does not permit one."""

    decision: Decision


@dataclass(slots=True)
class TokenBook:
    """The tokens in force and how often each may still be used."""

    _tokens: dict[int, Token] = field(default_factory=dict[int, Token])
    _left: dict[int, int] = field(default_factory=dict[int, int])
    _nonces: count[int] = field(default_factory=lambda: count(1))

    def mint(
        self,
        judged: Iterable[tuple[Action, Decision]],
        policy: Policy,
        holder: Holder,
        now: float,
        *,
        ttl_s: float = DEFAULT_TTL_S,
        max_ops: int = DEFAULT_MAX_OPS,
        approved: bool = False,
    ) -> Token | NotMinted:
        """Returns a token for actions that `policy` allowed or, if a person `approved` them, wants reviewed; returns
        NotMinted if any decision is stricter."""
        pairs = tuple(judged)
        enough = (Verdict.ALLOW, Verdict.REQUIRE_REVIEW) if approved else (Verdict.ALLOW,)
        refused = next((decision for _, decision in pairs if decision.verdict not in enough), None)
        if refused is not None:
            return NotMinted(refused)
        token = Token(
            nonce=next(self._nonces),
            holder=holder,
            scope=frozenset(scope_of(action) for action, _ in pairs),
            most_bytes=max((action.size or 0 for action, _ in pairs), default=0),
            max_ops=max_ops,
            expires=now + ttl_s,
            policy_version=policy.version,
        )
        self._tokens[token.nonce] = token
        self._left[token.nonce] = max_ops
        return token

    def attenuate(
        self, nonce: int, holder: Holder, actions: Iterable[Action], now: float, *, max_ops: int
    ) -> Token | None:
        """Returns a token for another holder with part of this token's authority, or None if this one is not in force.

        The new token covers those of `actions` that this one covers, expires when this one does, and takes its uses,
        at most `max_ops`, from the uses that this one has left. It ends with its parent (APP-12).
        """
        parent = self._tokens.get(nonce)
        if parent is None or now >= parent.expires:
            return None
        uses = min(max_ops, self._left[nonce])
        token = replace(
            parent,
            nonce=next(self._nonces),
            holder=holder,
            scope=parent.scope & frozenset(map(scope_of, actions)),
            max_ops=uses,
            parent=nonce,
        )
        self._left[nonce] -= uses
        self._tokens[token.nonce] = token
        self._left[token.nonce] = uses
        return token

    def claim(self, nonce: int, holder: Holder, now: float) -> Claim | None:
        """Returns a claim on the token by this holder at this time, or None if there is no such token (any more)."""
        token = self._tokens.get(nonce)
        return None if token is None else Claim(token, self._left[nonce], holder, now)

    def check(self, nonce: int, holder: Holder, action: Action, policy: Policy, now: float) -> Invalid | None:
        """Returns why the token does not cover this action now, or None if it does. The caller reads `now` once, before
        anything is judged."""
        claim = self.claim(nonce, holder, now)
        return "unknown" if claim is None else claim.refusal(action, policy.version)

    def use(self, nonce: int, holder: Holder, action: Action, policy: Policy, now: float) -> Invalid | None:
        """Returns what `check` returns, and takes one use from the token if that is None."""
        invalid = self.check(nonce, holder, action, policy, now)
        if invalid is None:
            self._left[nonce] -= 1
        return invalid

    def state(self, nonce: int, now: float) -> Ended:
        """Returns whether a token is in force, has expired, or was revoked (because the policy changed, or with its
        parent)."""
        token = self._tokens.get(nonce)
        if token is None:
            return "revoked"
        return "expired" if now >= token.expires else "in_force"

    def revoke(self, nonce: int) -> None:
        """Revokes a token and all tokens that were attenuated from it."""
        self._tokens.pop(nonce, None)
        self._left.pop(nonce, None)
        for child in [token.nonce for token in self._tokens.values() if token.parent == nonce]:
            self.revoke(child)

    def revoke_other_policies(self, version: str) -> int:
        """Revokes every token minted under another policy version than `version`; returns how many such tokens there
        were."""
        old = [token.nonce for token in self._tokens.values() if token.policy_version != version]
        for nonce in old:
            self.revoke(nonce)
        return len(old)


def scope_of(action: Action) -> Action:
    """Returns the action as a token's scope holds it: with its path normalised and without its size."""
    path = None if action.path is None else normalise(action.path)
    return action if action.size is None and path == action.path else replace(action, path=path, size=None)
