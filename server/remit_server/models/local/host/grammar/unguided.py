"""A generation without a grammar: any token may come next, and a wanted value is checked at its end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import JsonValue

from remit_server.models.local.host.grammar.json_schema import SchemaError, write_out
from remit_server.models.local.host.grammar.step_grammar import GrammarError

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
        """Returns the number of them: any token may come next."""
        return len(tokens)

    def accept(self, token: int) -> None:
        """Does nothing: any token is allowed."""

    def accept_forced(self, most: int) -> list[int]:
        """Returns none."""
        del most
        return []


class AnswerReader:
    """Holds back a value of a schema until it is complete and valid: sent text cannot be withdrawn."""

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        """Raises GrammarError for a schema that could not be guided: both ways accept the same schemas."""
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
        """Yields the value's text. Raises GrammarError where it is no value of the schema."""
        del cut  # a value that was cut off is refused before it gets here
        yield check_answer(self._held, self._schema)


def check_answer(text: str, schema: Mapping[str, JsonValue]) -> str:
    """Returns the JSON of an answer, which may stand in a fence. Raises GrammarError where it breaks the schema."""
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
