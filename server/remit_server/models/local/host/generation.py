"""One generation: reads its prompt in parts, then generates a token per step (MOD-02)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Literal

from remit_server.models.local.host.caches import CHUNK, Prompt, Session
from remit_server.models.local.host.decoding import Row
from remit_server.models.local.host.loading import HostError
from remit_server.models.local.host.mlx_backend import LanguageModel, memory_bytes
from remit_server.models.local.host.model_adapter import KeyedGuide
from remit_server.models.local.host.output.output_reader import OutputReader
from remit_server.models.local.host.speculation import Drafter
from remit_server.models.local.host.token_caches import Cache
from remit_server.models.local.wire import FinishedFrame, Frame, Generate, ProgressFrame

Emit = Callable[[Frame], None]


class Generation:
    """A running request. It is `reading` until all of its prompt but the last token is in the cache."""

    def __init__(
        self,
        model: LanguageModel,
        request: Generate,
        prompt: Prompt[Cache],
        keyed_guide: KeyedGuide,
        output: OutputReader,
        *,
        text: str,
        max_tokens: int,
        emit: Emit,
        drafter: Drafter | None = None,
        ends: frozenset[int] | None = None,
    ) -> None:
        self.request = request
        self.prompt = prompt
        self.keyed_guide = keyed_guide
        self._guide = keyed_guide[1]
        self.over = False
        self._model = model
        self._text = text
        self._emit = emit
        self._held = prompt.cached
        self._whole = prompt.whole
        self._output = output
        self._tokens: list[int] = []
        self._said = ""
        self._reason: Literal["stop", "length", "cancelled"] = "cancelled"
        self._started = time.perf_counter()
        self._first: float | None = None
        self._row: Row = model.row(
            prompt.cache,
            prompt.tokens[-1],
            self._guide,
            max_tokens=max_tokens,
            sampling=model.sampling.wanted(request.temperature, request.top_p, request.seed),
            drafter=drafter,
            ends=ends,
        )
        self._report(self._held)

    @property
    def id(self) -> str:
        """The request's id."""
        return self.request.id

    @property
    def reading(self) -> bool:
        """Whether prompt tokens before the last one are left to read."""
        return self._held < len(self.prompt.tokens) - 1

    def read(self) -> None:
        """Reads up to the next multiple of a chunk, or to the prompt's last token."""
        begin = self._held
        end = min(begin // CHUNK * CHUNK + CHUNK, len(self.prompt.tokens) - 1)
        self._model.read(self.prompt.tokens[begin:end], self.prompt.cache)
        self._held = end
        if begin == self._whole and end == begin + CHUNK:
            self._whole = end
        self._report(end)

    def begin_token(self) -> None:
        """Starts to compute the next token."""
        self._row.begin()

    def take_token(self) -> None:
        """Chooses the token that was begun, and emits the text that it and its forced tokens complete.

        Raises GrammarError and HostError if the answer cannot be used.
        """
        generated = self._row.decide()
        if self._first is None:
            self._first = time.perf_counter()
            self._report(len(self.prompt.tokens))
        self._tokens += generated.tokens
        self._said += generated.text
        if generated.text:
            self._say(self._output.feed(generated.text))
        if generated.done is not None:
            self._reason, self.over = generated.done, True
            if self.request.answer_schema is not None and self.request.whole:
                self._require_whole_value()
            self._say(self._output.finish(cut=generated.done == "length"))

    def session(self) -> Session[Cache]:
        """Returns the session's state now. Its text is known only if the generation ended by itself."""
        tokens = (*self.prompt.tokens, *self._tokens)
        held = self._held + self._row.held
        if self._reason != "stop":
            return Session(tokens[:held], None, self.prompt.cache, held, self._whole)
        text = self._text + self._said + self._model.decode(tokens[-1])
        return Session(tokens, text, self.prompt.cache, held, self._whole)

    def finished(self) -> FinishedFrame:
        """Returns the final event."""
        now = time.perf_counter()
        first = self._first or now
        return FinishedFrame(
            id=self.id,
            reason="length" if self._guide.closed_early else self._reason,
            prompt_tokens=len(self.prompt.tokens),
            cached_tokens=self.prompt.cached,
            completion_tokens=len(self._tokens),
            prompt_s=first - self._started,
            decode_s=now - first,
            memory_bytes=memory_bytes(),
        )

    def _report(self, done: int) -> None:
        self._emit(ProgressFrame(id=self.id, done=done, total=len(self.prompt.tokens)))

    def _require_whole_value(self) -> None:
        """Raises HostError if the token limit cut the value off, because a part of a value must not be used."""
        if self._reason == "length" and not self._guide.complete:
            why = f"no complete value of the schema was written within {len(self._tokens)} tokens"
            raise HostError("the answer does not fit", why, "allow more tokens, or ask for a smaller value")

    def _say(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            self._emit(frame)
