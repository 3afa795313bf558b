"""A real model of random weights in a folder, and requests for it."""

from __future__ import annotations

import json
import sysconfig
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from model_parts import Shape, draw, ones_of, reading
from pydantic import BaseModel, ConfigDict, Field

from remit_governance.values import Intent
from remit_server.models.dialects.read import ReadCall
from remit_server.models.dialects.table import COMPACT, Dialect
from remit_server.models.local.host.output.native import NativeReader, held_format
from remit_server.models.ports import (
    UNREADABLE_CALL,
    CallProposed,
    Finished,
    GenerateRequest,
    Message,
    ModelEvent,
    ModelProvider,
    SystemMessage,
    TextDelta,
    ToolSpec,
    UserMessage,
)

Short = Annotated[str, Field(max_length=16)]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Read(Arguments):
    path: Short
    offset: Annotated[int, Field(ge=1, le=9999)] | None = None


class Edit(Arguments):
    path: Short
    old_text: Short
    new_text: Short
    replace_all: bool = False


class Run(Arguments):
    command: Short
    mode: Literal["dry", "wet"]
    words: Annotated[list[Annotated[str, Field(max_length=8)]], Field(max_length=3)] = []


class Select(Arguments):
    intent: Intent
    justification: Annotated[str, Field(max_length=200)] | None = None


MODELS: dict[str, type[Arguments]] = {"read_file": Read, "edit_file": Edit, "run_command": Run}
TOOLS = {name: ToolSpec(name, name, model.model_json_schema()) for name, model in MODELS.items()}
INTENTS: Mapping[Intent, tuple[ToolSpec, ...]] = {
    Intent.READ_FILE: (TOOLS["read_file"],),
    Intent.CODE: (TOOLS["read_file"], TOOLS["edit_file"]),
    Intent.EXECUTE: (TOOLS["run_command"],),
    Intent.PLAN: (),
}

CACHE = Path(__file__).parents[2] / ".cache" / "test-models"
MARKERS = ("<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<tool_call>", "</tool_call>")
TEMPLATE = (
    "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content }}"
    "{%- for c in m.tool_calls or [] -%}<tool_call>"
    '{"name":"{{ c.function.name }}","arguments":{{ c.function.arguments | tojson(separators=(",", ":")) }}}'
    "</tool_call>{%- endfor -%}<|end|>{%- endfor -%}<|assistant|>"
)


def tiny_model(
    kind: str, markers: Sequence[str], template: str | None, begins: Sequence[str] = ("<tool_call>",)
) -> Path:
    """Returns a folder with a qwen3 of random weights. Calls begin, and strings end, more often than by chance."""
    folder = CACHE / f"{kind}-v5"
    if (folder / "done").exists():
        return folder
    from safetensors.numpy import save_file
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=[AddedToken(m, special="|" in m or m.startswith("["), normalized=False) for m in markers],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:40]
    tokenizer.train_from_iterator((path.read_text(encoding="utf-8") for path in sources), trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(reading(4096, template)))

    shape = Shape(vocabulary=2048, width=64, heads=4, kept=2, inner=128)
    random = draw()
    embedding, output = (random(shape.vocabulary, shape.width, scale=scale) for scale in (1.0, 0.2))
    embedding[:, 0], output[:, 0] = 8.0, 0.0  # every hidden state has this part, so it works as a bias
    for text, bias in (*((each, 1.2) for each in begins), ("<", 1.1), ('"', 1.3), ("<|end|>", 1.1)):
        if (token := tokenizer.token_to_id(text)) is not None:
            output[token, 0] = bias
    for before, after in pairwise(tokenizer.encode("<tool_call>").ids):
        output[after, 1:] += 0.4 * embedding[before, 1:]
    if (think := tokenizer.token_to_id("<think>")) is not None:
        output[think, 1:] += 0.3 * embedding[tokenizer.token_to_id("<|assistant|>"), 1:]
    weights = {"model.embed_tokens.weight": embedding, "model.norm.weight": ones_of(shape.width)}
    weights |= {"lm_head.weight": output, **shape.layer(0, random)}
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "mlx"})
    config = shape.config(8192, tokenizer.token_to_id("<|end|>"), tied=False)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "done").touch()
    return folder


def ask(
    text: str = "rename total to subtotal in src/cart.py",
    *,
    session: str = "s",
    intents: Mapping[Intent, tuple[ToolSpec, ...]] = INTENTS,
    messages: tuple[Message, ...] | None = None,
    **options: Any,
) -> GenerateRequest:
    given = messages or (SystemMessage("be brief"), UserMessage(text))
    return GenerateRequest(session, given, intents, **options)


async def collect(provider: ModelProvider, request: GenerateRequest) -> list[ModelEvent]:
    return [event async for event in provider.generate(request)]


def last(events: Sequence[ModelEvent]) -> Finished:
    finished = events[-1]
    assert isinstance(finished, Finished)
    return finished


def comparable(events: Sequence[ModelEvent]) -> tuple[str, list[tuple[str, Any]]]:
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    calls = [(event.call.name, event.call.arguments) for event in events if isinstance(event, CallProposed)]
    return text, calls


def spelled_calls(events: Sequence[ModelEvent], dialect: Dialect) -> list[tuple[str, Any]]:
    """Returns the calls that random weights spelled under a grammar, also those that count as quoted at their place."""
    text, calls = comparable(events)
    told = "".join(str(arguments["spelled"]) for name, arguments in calls if name == UNREADABLE_CALL)
    known = [(name, arguments) for name, arguments in calls if name != UNREADABLE_CALL]
    whole = told or text
    row = dialect if dialect.marker in whole else COMPACT
    if row.marker not in whole or not (told or row is dialect):
        return known
    begun = whole.index(row.marker)
    schemas = {tool.name: tool.parameters for tools in INTENTS.values() for tool in tools}
    reader = NativeReader((held_format(row),), schemas)
    read = [*reader.feed(whole[begun:]), *reader.finish(cut=last(events).reason == "length")]
    assert all(isinstance(part, ReadCall) for part in read), read
    return [*known, *((part.name, part.arguments) for part in read if isinstance(part, ReadCall))]


def governed_calls(events: Sequence[ModelEvent], said: str | None, dialect: Dialect = COMPACT) -> Counter[str]:
    """Check every call of a step against its intent and its schema, or that its texts were `said`; count them."""
    assert isinstance(events[-1], Finished)
    assert sum(isinstance(event, Finished) for event in events) == 1
    counts: Counter[str] = Counter()
    intent: Intent | None = None
    for name, arguments in spelled_calls(events, dialect):
        if name == "select_active_intent":
            intent = Select.model_validate_json(json.dumps(arguments)).intent
            assert intent in INTENTS
        else:
            assert intent is not None
            assert name in {tool.name for tool in INTENTS[intent]}
            if said is None:
                MODELS[name].model_validate(arguments)
            else:
                assert all(value in said for value in arguments.values() if isinstance(value, str))
        counts[name] += 1
    return counts
