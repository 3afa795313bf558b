"""Tracks one generation in its grammar and returns the tokens allowed next (MOD-03). Without a grammar any token may
come next, and a wanted value is checked at its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from llguidance import LLMatcher
from pydantic import JsonValue

from remit_server.models.local.host.grammar.json_closer import JsonCloser
from remit_server.models.local.host.grammar.json_schema import SchemaError, write_out
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
        """Returns one bit per token allowed next, or None if only the end is allowed.

        Raises GrammarError if the matcher reached its limits.
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
        """Returns how many of these tokens might come next; 0 for a JSON value, for the reason in `accept_forced`."""
        return 0 if self._closer is not None or self._over() else int(self._matcher.validate_tokens(list(tokens)))

    def accept(self, token: int) -> None:
        """Accepts one generated token. Raises GrammarError if the token was not allowed, or the matcher's limits are
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


_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n\s*```\s*", re.DOTALL)


class Unguided:
    """Takes the place of a `Guide` and allows every token."""

    consumed = 0
    complete = False
    closed_early = False

    def __init__(self, vocabulary: int) -> None:
        """Allows `vocabulary` tokens; a model may score more than its tokenizer has."""
        spare = -vocabulary % 8
        self._all = ((1 << vocabulary) - 1).to_bytes((vocabulary + spare) // 8, "little")

    def set_limit(self, max_tokens: int) -> None:
        """Does nothing: no value has to be closed."""

    def allowed(self) -> bytes | None:
        """Returns a set bit for every token."""
        return self._all

    def forces_little(self, allowed: bytes | None) -> bool:
        """Returns True: the next token may always be read before it is known here."""
        del allowed
        return True

    def fits(self, tokens: Sequence[int]) -> int:
        """Returns the number of tokens, because any token may come next."""
        return len(tokens)

    def accept(self, token: int) -> None:
        """Does nothing: any token is allowed."""

    def accept_forced(self, most: int) -> list[int]:
        """Returns none."""
        del most
        return []


class AnswerReader:
    """Holds back a value of a schema until it is complete and valid, because sent text cannot be withdrawn."""

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        """Raises GrammarError for a schema that could not be guided, so that both ways accept the same schemas."""
        try:
            self._schema = write_out(schema, strict=True)
        except SchemaError as error:
            raise GrammarError(str(error)) from error
        self._held = ""

    def feed(self, piece: str) -> Iterator[str]:
        """Adds text; yields nothing before the end."""
        self._held += piece
        yield from ()

    def finish(self, *, cut: bool) -> Iterator[str]:
        """Yields the value's text. Raises GrammarError if it is no value of the schema."""
        del cut  # a value that was cut off is refused before it gets here
        yield check_answer(self._held, self._schema)


def check_answer(text: str, schema: Mapping[str, JsonValue]) -> str:
    """Returns the JSON of an answer, which may stand in a fence. Raises GrammarError if it breaks the schema."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    fenced = _FENCED.fullmatch(text)
    spelled = (fenced[1] if fenced else text).strip()
    try:
        value = json.loads(spelled, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise GrammarError(f"it is not JSON: {error}") from error
    # An empty registry: nothing that a schema refers to is fetched.
    validator = cast(Any, Draft202012Validator)(dict(schema), registry=cast(Any, Registry)())
    problem = next(validator.iter_errors(value), None)
    if problem is not None:
        raise GrammarError(f"it breaks its schema at `{problem.json_path}`: {problem.message}"[:300])
    return spelled


def _reject_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")
