"""Trains the byte-level BPE of the embedded model and writes its tokenizer files and chat template.

Words, digits and marks are never merged with their neighbours, so an identifier or a path has the same tokens in a
request, in a file and in a call: copying it is then repeating tokens, which is what a small model learns.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from training import conversations, generator, sources

MARKERS = ("<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<tool_call>", "</tool_call>")
VOCABULARY_SIZE = 1024
PIECES = r"""\\\\[a-zA-Z]|\\["\\nrtb]|[\p{L}\p{M}]+|\p{N}|[{}":,]+| +|\t+|\r?\n|[^\p{L}\p{M}\p{N}{}":, \t\r\n]|\s"""
"""Escapes are pieces of their own: the `n` of a line end in JSON would else become part of the name after it."""

CHAT_TEMPLATE = """{%- macro shown(text) -%}
{%- set text = (text or '') | replace('<|', '< |') | replace('<tool_call>', '< tool_call>')
  | replace('</tool_call>', '< /tool_call>') -%}
{{- text if text | length <= LIMIT else text[:LIMIT] + '\\n…' -}}
{%- endmacro -%}
{%- set turn = namespace(start=0) -%}
{%- for message in messages -%}
{%- if message.role == 'user' -%}{%- set turn.start = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- for message in messages[turn.start:] -%}
{%- if message.role == 'user' -%}{{- '<|user|>' + shown(message.content) + '<|end|>' -}}
{%- elif message.role == 'tool' -%}{{- '<|tool|>' + shown(message.content) + '<|end|>' -}}
{%- elif message.role == 'assistant' -%}
{{- '<|assistant|>' + shown(message.content) -}}
{%- for call in message.tool_calls or [] -%}
{%- set call = call.function or call -%}
{%- set arguments = call.arguments if call.arguments is string else call.arguments | tojson(separators=(',', ':')) -%}
{{- '<tool_call>{"name":"' + call.name + '","arguments":' + arguments + '}</tool_call>' -}}
{%- endfor -%}
{{- '<|end|>' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}""".replace(
    "LIMIT", str(conversations.RESULT_LIMIT)
)


def train(samples: int = 6000) -> Tokenizer:
    """Train the tokenizer on generated conversations and excerpts of real sources."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=[AddedToken(marker, special="|" in marker, normalized=False) for marker in MARKERS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    rng = random.Random(7)
    texts = ["".join(text for text, _ in conversations.segments(generator.conversation(rng))) for _ in range(samples)]
    texts += [sources.excerpt(rng, sources.training_sources(), 40) for _ in range(samples // 3)]
    for marker in MARKERS:
        texts = [text.replace(marker, "\n") for text in texts]
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|end|>",
        "pad_token": "<|pad|>",
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 4096,
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", "utf-8")
