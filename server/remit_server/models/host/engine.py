"""Generates one step at a time with one model: prompt, grammar, cache, calls (004 §Model Invocation Layer)."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Literal

from llguidance import LLMatcher

from remit_server.models.host.calls import CallReader, ReadCall, UnreadableCall
from remit_server.models.host.edge import Cache, LanguageModel, Stopped, memory_bytes
from remit_server.models.host.grammar import GrammarError, Grammars, Paths
from remit_server.models.host.guide import Guide
from remit_server.models.host.landing import Landing
from remit_server.models.host.loading import HostError
from remit_server.models.host.prompts import renderer
from remit_server.models.host.sessions import Prompt, Session, Sessions, resume
from remit_server.models.wire import Call, Delta, Finished, Frame, Generate, Progress

Emit = Callable[[Frame], None]
StopFlag = Callable[[], bool]

CHARACTERS_PER_TOKEN = 16
"""A string without a bound gets this many characters per token of the limit, so that the tokens run out first: a call
cut off by the token limit is dropped, but a string cut short by the grammar would be believed."""

MATCHED_CHARACTERS = 40
"""An answer's string that must match a pattern or format gets these, or an eighth of the token limit."""


class Engine:
    """One loaded model, its compiled grammars and its sessions' caches. Lives on the model's thread."""

    def __init__(self, model: LanguageModel) -> None:
        """Raises HostError when the model's tokenizer cannot be guided."""
        self._model = model
        try:
            tokenizer = model.grammar_tokenizer()
        except Exception as error:
            why = f"its tokenizer cannot be guided: {error}"
            fix = "use a model that brings tokenizer.json"
            raise HostError(f"the model `{model.name}` cannot be used", why, fix) from error
        self._grammars = Grammars(tokenizer, model.markers)
        self._renderer = renderer(model.template, model.control_tokens, model.begin, model.end)
        self._sessions: Sessions[Cache] = Sessions()

    def generate(self, request: Generate, emit: Emit, stopped: StopFlag) -> None:
        """Generate one step and emit it, ending with Finished. Raises HostError when there is no usable answer."""
        text = self._rendered(request)
        key, matcher, landing = self._matcher(request)
        session = self._sessions.take(request.session_id)
        prompt = resume(session, text, self._model.encode, self._model.new_cache)
        room = self._model.context - len(prompt.tokens)
        if room <= 0:
            why = f"it has {len(prompt.tokens)} tokens, and the model reads {self._model.context}"
            fix = "start a new session, or use a larger model"
            raise HostError("the conversation does not fit the model", why, fix)
        limit = min(request.max_tokens, room)
        if landing is not None:
            landing.within(limit)
        guide = Guide(matcher, self._model.end_tokens, landing)
        generation = _Generation(self._model, request, prompt, guide, emit=emit, stopped=stopped)
        failed = True
        try:
            generation.run(limit)
            if request.answer_schema is not None:
                generation.require_whole_value()
            failed = False
        except (GrammarError, UnreadableCall) as error:
            fix = "ask again, or use another model"
            raise HostError("the model's answer cannot be used", str(error), fix) from error
        finally:
            self._grammars.used(key, guide.consumed, failed=failed)
        self._sessions.keep(request.session_id, generation.session(text))
        emit(generation.finished())

    def _rendered(self, request: Generate) -> str:
        try:
            return self._renderer.render(request.messages, request.intents)
        except Exception as error:
            why = f"its chat template fails: {error}"
            raise HostError(f"the model `{self._model.name}` cannot be asked", why, "use another model") from error

    def _matcher(self, request: Generate) -> tuple[str, LLMatcher, Landing | None]:
        longest = request.max_tokens * CHARACTERS_PER_TOKEN
        try:
            if request.answer_schema is not None:
                return self._grammars.answer(
                    request.answer_schema, longest, max(MATCHED_CHARACTERS, request.max_tokens // 8)
                )
            return *self._grammars.step(request.intents, longest, Paths(request.paths, request.path_arguments)), None
        except GrammarError as error:
            why = f"a schema cannot be made a grammar: {error}"
            if request.answer_schema is not None:
                raise HostError("an answer of this schema cannot be asked for", why, "use a simpler schema") from error
            raise HostError("the tools cannot be offered to the model", why, "correct the tool's schema") from error


class _Generation:
    """One run of the model, and what it has brought so far."""

    def __init__(
        self,
        model: LanguageModel,
        request: Generate,
        prompt: Prompt[Cache],
        guide: Guide,
        *,
        emit: Emit,
        stopped: StopFlag,
    ) -> None:
        self._model = model
        self._request = request
        self._prompt = prompt
        self._guide = guide
        self._emit = emit
        self._stopped = stopped
        # An answer is one JSON value; a call spelled in one of its strings is none.
        self._reader = CallReader() if request.answer_schema is None else None
        self._read = 0
        self._tokens: list[int] = []
        self._text = ""
        self._reason: Literal["stop", "length", "cancelled"] = "cancelled"
        self._started = time.perf_counter()
        self._first: float | None = None

    def run(self, max_tokens: int) -> None:
        """Generate until the end, the limit or the stop flag."""
        prompt = self._prompt
        rest = prompt.tokens[prompt.cached :]
        stream = self._model.generate(
            rest,
            prompt.cache,
            self._guide.allowed_after,
            max_tokens=max_tokens,
            temperature=self._request.temperature,
            seed=self._request.seed,
            on_prompt=self._on_prompt,
        )
        try:
            with closing(stream):
                for generated in stream:
                    self._read = len(rest)
                    self._first = self._first or time.perf_counter()
                    self._tokens.append(generated.token)
                    self._text += generated.text
                    self._say(generated.text)
                    if generated.done is not None:
                        self._reason = generated.done
                    elif self._stopped():
                        return
        except Stopped as stop:
            self._read = stop.read
            return
        if self._reader is not None and (tail := self._reader.finish()):
            self._emit(Delta(id=self._request.id, text=tail))

    def require_whole_value(self) -> None:
        """Raises HostError where the token limit cut the value off: a part of one must not be believed."""
        if self._reason == "length" and not self._guide.completed_by(self._tokens):
            why = f"no whole value of the schema was written within {len(self._tokens)} tokens"
            raise HostError("the answer does not fit", why, "allow more tokens, or ask for a smaller value")

    def session(self, prompt_text: str) -> Session[Cache]:
        """Return what the cache holds now. Its text is known only where the generation ended by itself."""
        read = self._prompt.tokens[: self._prompt.cached + self._read]
        whole = self._reason == "stop"
        text = prompt_text + self._text + self._model.spelling(self._tokens[-1]) if whole else None
        return Session((*read, *self._tokens), text, self._prompt.cache)

    def finished(self) -> Finished:
        """Return the closing event."""
        now = time.perf_counter()
        first = self._first or now
        return Finished(
            id=self._request.id,
            reason="length" if self._guide.landed else self._reason,
            prompt_tokens=len(self._prompt.tokens),
            cached_tokens=self._prompt.cached,
            completion_tokens=len(self._tokens),
            prompt_s=first - self._started,
            decode_s=now - first,
            memory_bytes=memory_bytes(),
        )

    def _on_prompt(self, read: int, total: int) -> bool:
        cached = self._prompt.cached
        self._emit(Progress(id=self._request.id, done=cached + read, total=cached + total))
        return self._stopped()

    def _say(self, text: str) -> None:
        if self._reader is None:
            if text:
                self._emit(Delta(id=self._request.id, text=text))
            return
        for part in self._reader.feed(text):
            match part:
                case str():
                    self._emit(Delta(id=self._request.id, text=part))
                case ReadCall(name, arguments):
                    self._emit(Call(id=self._request.id, name=name, arguments=arguments))
