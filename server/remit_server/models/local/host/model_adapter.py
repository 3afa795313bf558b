"""Adapts one model to a step: its prompt, its constraints, and how its output is read."""

from __future__ import annotations

import logging
from functools import lru_cache

from remit_server.models.dialects.read import Schemas
from remit_server.models.dialects.table import HARMONY
from remit_server.models.local.host.grammar.arguments import Spelling
from remit_server.models.local.host.grammar.guide import AnswerReader, Guide, Unguided
from remit_server.models.local.host.grammar.schemas import SELECT, selection_schema
from remit_server.models.local.host.grammar.step_grammar import GrammarError, Grammars, Paths, Thinking
from remit_server.models.local.host.loading import HostError
from remit_server.models.local.host.mlx_backend import LanguageModel
from remit_server.models.local.host.output.harmony import HarmonyReader
from remit_server.models.local.host.output.native import NativeReader, held_format
from remit_server.models.local.host.output.output_reader import OutputReader, Reader, Verbatim
from remit_server.models.local.host.prompts import Renderer, renderer, spell_gap, with_schema
from remit_server.models.local.host.speculation import MOST_SOURCES, Drafter, Source, find_files, make_source
from remit_server.models.local.wire import Generate
from remit_server.models.thinking import ThoughtReader

log = logging.getLogger("remit.model")

CHARACTERS_PER_TOKEN = 16
"""A string without a bound gets this many characters per token of the limit, so that the tokens run out first: a call
cut off by the token limit is dropped, but a string shortened by the grammar would be used.
"""

MATCHED_CHARACTERS = 40
"""The length of an answer's string with a pattern or format, unless an eighth of the token limit is more."""

MOST_MESSAGES = 60
"""How many of a conversation's last messages are searched for files."""

KeyedGuide = tuple[str | None, Guide | Unguided]
"""The constraint of a generation, and the key of its grammar, if it has one."""


class ModelAdapter:
    """One model's adapter. `guided`: a grammar constrains it; `thinking`: it may think, if it can."""

    def __init__(self, model: LanguageModel, *, guided: bool, thinking: bool) -> None:
        self._model = model
        self._effort_told = False
        self._plain = self._renderer(thinking=False, guided=guided)
        self._spelling = model.spelling(self._plain.dialect)
        self._grammars = _grammars(model, self._spelling) if guided else None
        if guided and self._grammars is None:
            self._plain = self._renderer(thinking=False, guided=False)
        self._markers = model.think_markers(self._spelling)
        self._thinking = thinking and self._markers is not None
        dialect = self._plain.dialect
        self._formats = (held_format(dialect),) if self.guided else model.tool_formats(dialect)
        self._thoughtful = self._renderer(thinking=True, guided=self.guided) if self._thinking else self._plain
        self._fill_in, self._ends_in_gap = model.fill_in, model.ends_in_gap
        self._source = lru_cache(maxsize=2 * MOST_SOURCES)(self._make_source)
        if thinking and not self._thinking:
            log.warning("model `%s` has no markers for thinking aloud, so it is not asked to", model.name)

    @property
    def guided(self) -> bool:
        """Whether a grammar constrains the model's output."""
        return self._grammars is not None

    def prompt(self, request: Generate) -> str:
        """Renders the conversation, or the gap. Raises HostError if the model's template fails."""
        if request.gap is not None:
            return spell_gap(self._fill_in, self._model.opening, request.gap, self._plain.defuse)
        messages = request.messages
        if not self.guided and request.answer_schema is not None:
            messages = tuple(with_schema(messages, request.answer_schema))
        wanted = self._thinks(request)
        if request.effort is not None and not self._model.knows_effort and not self._effort_told:
            self._effort_told = True
            log.warning("model `%s` cannot be asked for an effort: its template knows of none", self._model.name)
        try:
            shown = self._thoughtful if wanted else self._plain
            text = shown.render(messages, request.intents, request.effort, request.work_items)
        except Exception as error:
            why = f"its chat template fails: {error}"
            raise HostError(f"the model `{self._model.name}` cannot be asked", why, "use another model") from error
        return text if wanted or self._markers is None else self._markers.close_thinking(text)

    def constrain(self, request: Generate, prompt: str) -> KeyedGuide:
        """Returns the constraint of a generation. Raises HostError if a schema cannot be used."""
        if self._grammars is None or request.gap is not None:
            return None, Unguided(self._model.vocabulary)
        longest = request.max_tokens * CHARACTERS_PER_TOKEN
        ends = self._model.ends_under(self._spelling)
        try:
            if request.answer_schema is not None:
                matched = max(MATCHED_CHARACTERS, request.max_tokens // 8)
                key, matcher, closer = self._grammars.answer(request.answer_schema, longest, matched)
                return key, Guide(matcher, ends, closer if request.whole else None)
            paths = Paths(request.paths, request.path_arguments)
            before = self._before(request, prompt)
            key, matcher = self._grammars.step(
                {} if request.must_answer else request.intents,
                longest,
                paths,
                before,
                request.work_items,
            )
            return key, Guide(matcher, ends)
        except GrammarError as error:
            raise _unusable(request, error) from error

    def open_reader(self, request: Generate, prompt: str) -> OutputReader:
        """Returns the reader of the output. Raises HostError if a schema cannot be used."""
        markers = self._markers
        if request.gap is not None:
            return OutputReader(request.id, Verbatim())
        if markers is None or self._is_harmony or (self.guided and not self._thinks(request)):
            return OutputReader(request.id, self._reader(request))
        return OutputReader(
            request.id,
            self._reader(request),
            ThoughtReader(markers.open, markers.close, opened=markers.is_opened_by(prompt)),
        )

    def ends(self, request: Generate) -> frozenset[int] | None:
        """Returns the tokens that end the answer, or None if they are the model's end tokens."""
        return None if request.gap is None else self._ends_in_gap

    def drafter(self, request: Generate) -> Drafter | None:
        """Returns a drafter that guesses a step's arguments from the files that were shown, or None if none were."""
        if not request.intents and request.whole:
            return None
        texts = [message.content for message in request.messages[-MOST_MESSAGES:]]
        files = list(find_files(texts, self._plain.dialect.encoding))[-MOST_SOURCES:]
        return Drafter([self._source(file) for file in files]) if files else None

    def _make_source(self, file: str) -> Source:
        return make_source(self._model.encode(file))

    def used(self, keyed: KeyedGuide, *, failed: bool) -> None:
        """Records the use of a grammar."""
        key, guide = keyed
        if self._grammars is not None and key is not None:
            self._grammars.used(key, guide.consumed, failed=failed)

    def _thinks(self, request: Generate) -> bool:
        """Returns whether the model may think: only in a turn's step, not in a completion or a value."""
        return self._thinking and bool(request.intents)

    def _before(self, request: Generate, prompt: str) -> Thinking | None:
        """Returns the limit of thinking before the answer: half of the tokens are reserved for the answer."""
        if self._markers is None or not self._thinks(request):
            return None
        return Thinking(self._markers, max(1, request.max_tokens // 2), opened=self._markers.is_opened_by(prompt))

    def _reader(self, request: Generate) -> Reader:
        if request.answer_schema is None:
            return HarmonyReader() if self._is_harmony else NativeReader(self._formats, argument_schemas(request))
        if self.guided:
            # An answer is one JSON value; a call spelled in one of its strings is not a call.
            return Verbatim()
        try:
            return AnswerReader(request.answer_schema)
        except GrammarError as error:
            raise _unusable(request, error) from error

    @property
    def _is_harmony(self) -> bool:
        """Whether the model writes everything, text too, in messages of channels."""
        return self._plain.dialect is HARMONY

    def _renderer(self, *, thinking: bool, guided: bool) -> Renderer:
        model, source = self._model, self._model.template_source
        template = model.template(thinking=thinking)
        return renderer(template, model.control_tokens, model.begin, model.end, source=source, own=not guided)


def argument_schemas(request: Generate) -> Schemas:
    """Returns the schema of each tool's arguments, the declaration of an intent among them."""
    offered = {tool.name: tool.parameters for tools in request.intents.values() for tool in tools}
    return {SELECT: selection_schema(list(request.intents), request.work_items), **offered}


def _grammars(model: LanguageModel, spelling: Spelling) -> Grammars | None:
    """Returns the grammars of a model, or None if llguidance cannot read its tokenizer."""
    try:
        return Grammars(model.grammar_tokenizer(spelling), spelling)
    except Exception as error:
        log.warning("model `%s` is not guided: its tokenizer cannot be read: %s", model.name, error)
        return None


def _unusable(request: Generate, error: GrammarError) -> HostError:
    why = f"a schema cannot be made a grammar: {error}"
    if request.answer_schema is not None:
        return HostError("an answer of this schema cannot be asked for", why, "use a simpler schema")
    return HostError("the tools cannot be offered to the model", why, "correct the tool's schema")
