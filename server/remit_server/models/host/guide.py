"""Follows one generation through its grammar and says which tokens may come next (agent.md §Intent as grammar)."""

from __future__ import annotations

from collections.abc import Collection

from llguidance import LLMatcher

from remit_server.models.host.grammar import GrammarError


class Guide:
    """A matcher on its way. The bit mask is bytes, so it works wherever the logits are."""

    def __init__(self, matcher: LLMatcher, end_tokens: Collection[int]) -> None:
        self._matcher = matcher
        self._end_tokens = end_tokens
        self._ended = False
        self.consumed = 0

    def allowed_after(self, tokens: list[int]) -> bytes | None:
        """Take the tokens generated since the last call; return one bit per token allowed next, or None: only the end.

        Raises GrammarError where the matcher ran out of its limits, or was given a token that it had not allowed.
        """
        for token in tokens:
            if self._ended or token in self._end_tokens:
                self._ended = True
                break
            if not self._matcher.consume_token(token):
                raise GrammarError(self._matcher.get_error())
            self.consumed += 1
        if self._ended or (self._matcher.is_stopped() and not self._matcher.is_error()):
            return None
        mask: bytes = self._matcher.compute_bitmask()
        if self._matcher.is_error():
            raise GrammarError(self._matcher.get_error())
        return mask
