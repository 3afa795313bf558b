"""Follows one generation through its grammar and says which tokens may come next (agent.md §Intent as grammar)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from llguidance import LLMatcher

from remit_server.models.host.grammar import GrammarError
from remit_server.models.host.landing import Landing


class Guide:
    """A matcher on its way. The bit mask is bytes, so it works wherever the logits are."""

    def __init__(self, matcher: LLMatcher, end_tokens: Collection[int], landing: Landing | None = None) -> None:
        """With a `landing`, what is generated is one JSON value, which has to end within its tokens."""
        self._matcher = matcher
        self._end_tokens = end_tokens
        self._landing = landing
        self._ended = False
        self.consumed = 0

    def allowed_after(self, tokens: list[int]) -> bytes | None:
        """Take the tokens generated since the last call; return one bit per token allowed next, or None: only the end.

        Raises GrammarError where the matcher ran out of its limits, or was given a token that it had not allowed.
        """
        for token in tokens:
            self.took(token)
        if self._over():
            return None
        mask: bytes = self._matcher.compute_bitmask()
        if self._matcher.is_error():
            raise GrammarError(self._matcher.get_error())
        if self._landing is None:
            return mask
        if self._landing.ends_here(accepting=self._matcher.is_accepting()):
            return None
        return self._landing.narrowed(self._landing.spelled_out(mask, self._matcher))

    def took(self, token: int) -> None:
        """Take one generated token. Raises GrammarError as `allowed_after` does."""
        if self._ended or token in self._end_tokens:
            self._ended = True
            return
        if not self._matcher.consume_token(token):
            raise GrammarError(self._matcher.get_error())
        self.consumed += 1
        if self._landing is not None:
            self._landing.took(token)

    def forced(self) -> list[int]:
        """Take and return the tokens that must come next whatever the model says; empty where it has a choice."""
        if self._over():
            return []
        tokens: list[int] = self._matcher.compute_ff_tokens()
        for token in tokens:
            self.took(token)
        return tokens

    def completed_by(self, tokens: Sequence[int]) -> bool:
        """Whether `tokens`, all that was generated, satisfy the grammar as they are."""
        for token in tokens[self.consumed :]:
            self.took(token)
        return self._ended or self._matcher.is_accepting()

    @property
    def landed(self) -> bool:
        """Whether the value was brought to its end for want of tokens."""
        return self._landing is not None and self._landing.landed

    def _over(self) -> bool:
        return self._ended or (self._matcher.is_stopped() and not self._matcher.is_error())
