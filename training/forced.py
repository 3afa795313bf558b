"""Tells in one pass over a whole conversation whether the model would have written it so, guided and unguided.

Greedy decoding writes a generation exactly where at each of its tokens the best one is the right one: the best of
those that the grammar allows, or the best of all. That is many times faster than decoding token by token.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from llguidance import LLMatcher

from remit_governance.values import Intent
from remit_server.models.dialects.table import COMPACT
from remit_server.models.embedded import load_embedded
from remit_server.models.embedded.argument_candidates import is_certain, narrow_intents
from remit_server.models.embedded.closing_text import ending
from remit_server.models.embedded.turns import turn_of
from remit_server.models.local.host.decoding import Sampling
from remit_server.models.local.host.grammar.step_grammar import Grammars
from remit_server.models.local.host.mlx_backend import LanguageModel, prepare
from remit_server.models.local.wire import ToolSchema
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, ToolMessage, ToolSpec, UserMessage
from training.conversations import Conversation, Step, shown

LONGEST = 16_000
"""Characters of a string without a bound, as the model process has it for 1,000 tokens."""
_OFFERED = {
    Intent.READ_FILE: (ToolSpec("read_file", "", {}),),
    Intent.ANALYZE: (ToolSpec("search_files", "", {}),),
    Intent.CODE: (ToolSpec("edit_file", "", {}),),
    Intent.EXECUTE: (ToolSpec("run_command", "", {}),),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether every generation of a conversation is exact, and the first guided one that is not."""

    guided: bool
    unguided: bool
    wrong: str = ""


class Judge:
    """The embedded model and its grammars."""

    def __init__(self) -> None:
        prepare("embedded")
        self._network, tokenizer = load_embedded()
        self._model = LanguageModel("embedded", self._network, tokenizer, 4096, Sampling())
        spelling = self._model.spelling(COMPACT)
        self._grammars = Grammars(self._model.grammar_tokenizer(spelling), spelling)
        self._spell, self._end = tokenizer.decode, tokenizer.eos_token_id

    def judge(self, conversation: Conversation) -> Verdict:
        """Compare every token the model has to write with the best one."""
        tokens = self._model.encode(f"<|user|>{shown(conversation.request)}<|end|>")
        messages: list[Message] = [UserMessage(conversation.request)]
        spans: list[tuple[int, list[int], LLMatcher | None]] = []
        for step in conversation.steps:
            tokens += self._model.encode("<|assistant|>")
            written = [*self._model.encode(step.expected), self._end]
            matcher = self._matcher(messages)
            if matcher is None and (said := ending(turn_of(messages)).text) != step.expected:
                return Verdict(False, False, f"{said} for {step.expected}")
            spans.append((len(tokens), written, matcher))
            tokens += written + self._model.encode("".join(f"<|tool|>{shown(r)}<|end|>" for r in step.results))
            messages += _said(step)
        logits = self._logits(tokens)
        rows = [logits[start - 1 : start - 1 + len(written)] for start, written, _ in spans]
        unguided = all((row.argmax(1) == written).all() for row, (_, written, _) in zip(rows, spans, strict=True))
        for row, (start, written, matcher) in zip(rows, spans, strict=True):
            if matcher is None:
                continue
            again = matcher.deep_copy()
            if self._first_wrong(row, written, matcher):
                # The same text may be spelled in other tokens: decoded then, as the model process does.
                text = self._decoded(tokens[:start], again, 2 * len(written))
                if text != self._spell(written[:-1]):
                    return Verdict(False, unguided, text)
        return Verdict(True, unguided)

    def _decoded(self, tokens: list[int], matcher: LLMatcher, most: int) -> str:
        """Decode greedily under the grammar."""
        import mlx.core as mx

        cache, new, written = self._network.make_cache(), tokens, list[int]()
        while len(written) < most:
            row = np.array(self._network(mx.array([new]), cache=cache)[0, -1])
            best = self._best(row, matcher)
            if best == self._end or not matcher.consume_token(best):
                break
            written.append(best)
            new = [best]
        return str(self._spell(written))

    def _best(self, row: Any, matcher: LLMatcher) -> int:
        if matcher.is_stopped():
            return int(self._end)
        bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
        return int(np.where(bits[: len(row)] == 1, row, -np.inf).argmax())

    def _logits(self, tokens: list[int]) -> Any:
        import mlx.core as mx

        return np.array(self._network(mx.array([tokens]))[0])

    def _matcher(self, messages: list[Message]) -> LLMatcher | None:
        """The grammar of the next step; None where the turn ends with a set sentence."""
        offered = {
            intent.value: tuple(ToolSchema(name=t.name, description="", parameters=dict(t.parameters)) for t in tools)
            for intent, tools in narrow_intents(messages, _OFFERED).items()
        }
        if not offered and turn_of(messages).call is not None:
            return None
        return self._grammars.step(offered, LONGEST, must_call=is_certain(messages))[1]

    def _first_wrong(self, rows: Any, written: list[int], matcher: LLMatcher) -> bool:
        """Whether at some token another one is the best that is allowed."""
        for row, token in zip(rows, written, strict=True):
            if self._best(row, matcher) != token or (token != self._end and not matcher.consume_token(token)):
                return True
        return False


def _said(step: Step) -> list[Message]:
    """The step as the messages that it leaves in the conversation."""
    bodies = [json.loads(call.removesuffix("</tool_call>")) for call in step.expected.split("<tool_call>")[1:]]
    calls = tuple(ProposedCall("1", body["name"], body["arguments"]) for body in bodies)
    results = zip(calls, step.results, strict=True)
    return [AssistantMessage("", calls), *(ToolMessage(call.id, call.name, text) for call, text in results)]
