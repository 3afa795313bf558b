"""What a dialect is: the syntax in which a family of models spells its calls (MOD-16)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JsonObject:
    """Arguments as one JSON object; `compact` without white space."""

    compact: bool = False

    @property
    def separators(self) -> tuple[str, str]:
        """What stands between two items, and between a key and its value."""
        return (",", ":") if self.compact else (", ", ": ")


@dataclass(frozen=True, slots=True)
class Tagged:
    """Arguments between tags, one after another: strings as they are, other values as JSON.

    With `python_words` true, false and null are spelled as in Python. A string that holds the tag which closes a value
    cannot be spelled.
    """

    open_key: str
    open_value: str
    close_value: str
    python_words: bool = False


@dataclass(frozen=True, slots=True)
class QuotedKeys:
    """Arguments in braces, the keys sorted and bare, strings as they are between two `quote`s."""

    quote: str


@dataclass(frozen=True, slots=True)
class PythonKeywords:
    """Arguments as keywords of a call in Python."""


Encoding = JsonObject | Tagged | QuotedKeys | PythonKeywords


@dataclass(frozen=True, slots=True)
class Dialect:
    """One row. A call is `marker`, `before_name`, name, `after_name`, arguments, `after_arguments`, `end`.

    `marker` begins a call and nothing else; an empty `end` is the end of the text, or the next marker. `between` stands
    between two calls of one answer. Where there are not `several`, an answer is text or calls, never both, and the
    model's template takes one call a message. `thinking` has the markers that mlx-lm does not know of. A call may have
    an id behind `call_id`.
    """

    name: str
    marker: str
    before_name: str
    after_name: str
    encoding: Encoding
    after_arguments: str
    end: str
    between: str = ""
    several: bool = True
    answer: str = ""
    thinking: tuple[str, str] | None = None
    call_id: str = ""
