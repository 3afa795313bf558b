"""Tracks one generation in its grammar and returns the tokens allowed next (MOD-03)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from llguidance import LLMatcher

from remit_server.models.local.host.grammar.json_closer import JsonCloser
from remit_server.models.local.host.grammar.step_grammar import GrammarError


class Guide:
    """A matcher and its state. The bit mask is bytes, so it does not depend on the array library."""

    def __init__(self, matcher: LLMatcher, end_tokens: Collection[int], closer: JsonCloser | None = None) -> None:
        """With a `closer`, what is generated is one JSON value, which has to end within its tokens."""
        self._matcher = matcher
        self._end_tokens = end_tokens
        self._closer = closer
        self._ended = False
        self.consumed = 0

    def set_limit(self, max_tokens: int) -> None:
        """Sets the number of tokens available."""
        if self._closer is not None:
            self._closer.set_limit(max_tokens)

    def allowed(self) -> bytes | None:
        """Returns one bit per token allowed next, or None: only the end.

        Raises GrammarError where the matcher ran out of its limits.
        """
        if self._over():
            return None
        mask: bytes = self._matcher.compute_bitmask()
        if self._matcher.is_error():
            raise GrammarError(self._matcher.get_error())
        if self._closer is None:
            return mask
        if self._closer.ends_here(accepting=self._matcher.is_accepting()):
            return None
        return self._closer.narrow(self._closer.force_spelling(mask, self._matcher))

    def forces_little(self, allowed: bytes | None) -> bool:
        """Returns whether more than half of the tokens are allowed, as in free text, or tokens are never forced."""
        if allowed is None:
            return False
        return self._closer is not None or int.from_bytes(allowed).bit_count() > 4 * len(allowed)

    def fits(self, tokens: Sequence[int]) -> int:
        """Returns how many of these tokens might come next; none of a JSON value's, as in `accept_forced`."""
        return 0 if self._closer is not None or self._over() else int(self._matcher.validate_tokens(list(tokens)))

    def accept(self, token: int) -> None:
        """Accepts one generated token. Raises GrammarError where it was not allowed, or the matcher's limits are
        reached.
        """
        if self._ended or token in self._end_tokens:
            self._ended = True
            return
        if not self._matcher.consume_token(token):
            raise GrammarError(self._matcher.get_error())
        self.consumed += 1
        if self._closer is not None:
            self._closer.accept(token)

    def accept_forced(self, most: int) -> list[int]:
        """Accepts and returns tokens that the grammar forces next, at most `most`.

        For a JSON value it returns none: the closer has to see each token before it is accepted.
        """
        if self._closer is not None or self._over():
            return []
        tokens: list[int] = self._matcher.compute_ff_tokens()[:most]
        for token in tokens:
            self.accept(token)
        return tokens

    @property
    def complete(self) -> bool:
        """Whether the generated text satisfies the grammar."""
        return self._ended or self._matcher.is_accepting()

    @property
    def closed_early(self) -> bool:
        """Whether the value was closed early because tokens ran out."""
        return self._closer is not None and self._closer.closed_early

    def _over(self) -> bool:
        return self._ended or (self._matcher.is_stopped() and not self._matcher.is_error())
