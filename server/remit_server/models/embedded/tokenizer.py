"""The embedded model's tokenizer, without the library that reads everybody's (MOD-09).

mlx-lm wraps a tokenizer of `transformers`, whose import takes ten times as long as this model's whole first answer.
This one has what `LanguageModel` asks of such a wrapper, under the same names, and reads the same two files.
"""
# pyright: basic

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Template
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer


class AddedToken(NamedTuple):
    """A token that is one marker and no text."""

    content: str
    special: bool


class EmbeddedTokenizer:
    """The byte-level BPE of `tokenizer.json`, with the chat template of `tokenizer_config.json` beside it."""

    has_chat_template = True
    has_thinking = False
    tool_parser = None
    bos_token = None
    bos_token_id = None

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        config: Mapping[str, Any] = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
        self.eos_token: str = config["eos_token"]
        self.chat_template: str = config["chat_template"]
        self.model_max_length: int = config["model_max_length"]
        self.eos_token_id = self._tokenizer.token_to_id(self.eos_token)
        self.eos_token_ids = {self.eos_token_id}

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size(with_added_tokens=True)

    @cached_property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The tokens that are markers, by id."""
        added = self._tokenizer.get_added_tokens_decoder()
        return {number: AddedToken(token.content, token.special) for number, token in added.items()}

    @property
    def detokenizer(self) -> Detokenizer:
        """A new one, at the beginning of a text."""
        return Detokenizer(self)

    def get_vocab(self) -> dict[str, int]:
        """Returns the id of each token by its spelling, markers included."""
        return self._tokenizer.get_vocab(with_added_tokens=True)

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Tokenizes text; spellings of markers become their tokens."""
        return self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids

    def decode(self, tokens: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """Returns the text of tokens; of a character that is cut in two, a replacement."""
        return self._tokenizer.decode(list(tokens), skip_special_tokens=skip_special_tokens)

    def to_json(self) -> str:
        """Returns the whole tokenizer as `tokenizer.json` has it."""
        return self._tokenizer.to_str()

    def apply_chat_template(
        self, messages: Sequence[Mapping[str, Any]], *, tokenize: bool = False, **given: Any
    ) -> str:
        """Renders a conversation as text. Raises what Jinja raises."""
        assert not tokenize, "prompts are text until they are cut at their seams"
        return self._template.render(messages=messages, **given)

    @cached_property
    def _template(self) -> Template:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.filters["tojson"] = _tojson
        return environment.from_string(self.chat_template)


class Detokenizer:
    """Text out of tokens one after the other: what stands in `last_segment` never changes again."""

    def __init__(self, tokenizer: EmbeddedTokenizer) -> None:
        self._tokenizer = tokenizer
        self._pending: list[int] = []
        self._segments: list[str] = []

    @property
    def last_segment(self) -> str:
        """The text since this was last asked for."""
        text = "".join(self._segments)
        self._segments.clear()
        return text

    def add_token(self, token: int) -> None:
        """Adds a token; its text waits while it ends in the middle of a character."""
        self._pending.append(token)
        text = self._tokenizer.decode(self._pending)
        if not text.endswith("\ufffd"):
            self._segments.append(text)
            self._pending.clear()

    def finalize(self) -> None:
        """Ends the text: what waits comes as it is."""
        if self._pending:
            self._segments.append(self._tokenizer.decode(self._pending))
            self._pending.clear()


def _tojson(value: Any, ensure_ascii: bool = False, **how: Any) -> str:
    """Writes JSON as chat templates expect it: not made safe for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, **how)
