"""Loads MLX and a model, and runs it (MOD-02).

MLX, mlx-lm, transformers and NumPy have no usable types. They are used only here, in `decoding.py` and in
`token_caches.py`, which are checked leniently and return typed values only. All of it must be called from one
thread: MLX's streams belong to the thread that created them.
"""
# pyright: basic

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from remit_server.models.dialects.table import Dialect
from remit_server.models.local.host.decoding import Row, Sampling, TokenConstraint, read
from remit_server.models.local.host.grammar.arguments import Spelling
from remit_server.models.local.host.output.native import FOREIGN, ToolFormat, dialect_formats, foreign_format
from remit_server.models.local.host.output.output_reader import ThinkMarkers
from remit_server.models.local.host.prompts import FillIn, Template, TemplateMessage, find_fill_in, split_at_seams
from remit_server.models.local.host.speculation import Drafter
from remit_server.models.local.host.token_caches import Cache, load_mlx_lm
from remit_server.models.ports import Effort

_LOAD_REPORTS = 20
_NO_LIMIT = 10_000_000
"""Tokenizers without a limit state an astronomical one."""


def prepare() -> None:
    """Imports MLX with the best settings for this machine. Raises ImportError when the `mlx` extra is not installed.

    On Linux the wheel's own BLAS is 7 to 25 times slower than OpenBLAS, which must be loaded first.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)
    import mlx.core  # noqa: F401


class LanguageModel:
    """A loaded model with its tokenizer."""

    def __init__(self, name: str, model: Any, tokenizer: Any, context: int, sampling: Sampling) -> None:
        self.name = name
        self.context = context
        self.sampling = sampling
        self._model = model
        self._tokenizer = tokenizer

    @classmethod
    def load(cls, folder: Path, on_progress: Callable[[int, int], None]) -> LanguageModel:
        """Loads a folder; in float32 on a CPU, where other types are slower. Raises what mlx-lm raises.

        `on_progress` receives the bytes of weights in memory, and their total.
        """
        import mlx.core as mx

        load_mlx_lm()
        from mlx_lm import load

        model, tokenizer = cast(
            tuple[Any, Any], load(str(folder), tokenizer_config={"trust_remote_code": False}, lazy=True)
        )
        if not on_gpu():
            model.set_dtype(mx.float32)
        if on_gpu():
            from mlx_lm.utils import maybe_set_recommended_wired_limit

            maybe_set_recommended_wired_limit()
        _read_weights(model, on_progress)
        return cls(folder.name, model, tokenizer, _context(folder, tokenizer), Sampling.stated(folder))

    def template(self, *, thinking: bool) -> Template | None:
        """Returns the tokenizer's chat template, if it has one, with `thinking` set if the template knows it."""
        if not self._tokenizer.has_chat_template:
            return None

        def render(messages: list[TemplateMessage], tools: list[TemplateMessage], effort: Effort | None) -> str:
            how: dict[str, Any] = {"enable_thinking": thinking}
            if effort is not None and self.knows_effort:
                how["reasoning_effort"] = effort
            text = self._tokenizer.apply_chat_template(
                messages, tools=tools or None, add_generation_prompt=True, tokenize=False, **how
            )
            return cast(str, text)

        return render

    @property
    def control_tokens(self) -> tuple[str, ...]:
        """The spellings that the tokenizer reads as one marker and not as text."""
        added = cast(dict[int, Any], self._tokenizer.added_tokens_decoder)
        return tuple(
            str(t.content)
            for t in added.values()
            if t.special or (t.content.startswith("<") and t.content.endswith(">"))
        )

    @property
    def begin(self) -> str:
        """The spelling of the token that begins a text, if the model has one."""
        return str(self._tokenizer.bos_token or "")

    @property
    def opening(self) -> str:
        """The spelling of the token that the tokenizer puts before any text, if it puts one there."""
        token = self._tokenizer.bos_token_id
        first = self._tokenizer.encode("")[:1]
        return self.begin if token is not None and first == [token] else ""

    @property
    def fill_in(self) -> FillIn | None:
        """The spelling of a gap, if the model was trained with one."""
        return find_fill_in(lambda marker: len(self.encode(marker)) == 1)

    @property
    def end(self) -> str:
        """The spelling of the end token."""
        return str(self._tokenizer.eos_token or "")

    @property
    def template_source(self) -> str:
        """The text of the chat template; empty if there is none, or if there are several."""
        source = self._tokenizer.chat_template
        return source if isinstance(source, str) else ""

    @property
    def knows_effort(self) -> bool:
        """Whether the chat template takes a setting of how long the model is to think."""
        return "reasoning_effort" in self.template_source

    def spelling(self, dialect: Dialect) -> Spelling:
        """Returns a dialect as this tokenizer spells it."""
        vocabulary = cast(dict[str, int], self._tokenizer.get_vocab())
        known = (*self.control_tokens, dialect.marker, dialect.end)
        return Spelling(dialect, {token: vocabulary[token] for token in known if token in vocabulary})

    def think_markers(self, spelling: Spelling) -> ThinkMarkers | None:
        """Returns the markers of the model's thinking if its dialect or mlx-lm knows them and the closing marker begins
        with a single token, or else None.
        """
        if spelling.dialect.thinking is not None:
            begin, end = spelling.dialect.thinking
        elif self._tokenizer.has_thinking:
            begin, end = str(self._tokenizer.think_start), str(self._tokenizer.think_end)
        else:
            return None
        pieces = spelling.pieces(begin), spelling.pieces(end)
        return ThinkMarkers(begin, end, *pieces) if isinstance(pieces[1][0], int) else None

    def tool_formats(self, dialect: Dialect) -> tuple[ToolFormat, ...]:
        """Returns the formats of the model's calls: those of its dialect, and one that only mlx-lm reads."""
        parse = self._tokenizer.tool_parser
        name = parse.__module__.rpartition(".")[2] if parse is not None else ""
        if parse is None or name not in FOREIGN:
            return dialect_formats(dialect)
        own = foreign_format(name, self._tokenizer.tool_call_start, self._tokenizer.tool_call_end, parse)
        return own, *dialect_formats(dialect)

    @property
    def parameters(self) -> int:
        """The number of the model's weights, however many bits each has."""
        from mlx import nn
        from mlx.utils import tree_flatten

        def count(module: Any) -> int:
            if hasattr(module, "bits"):  # quantised: several weights in each number
                return int(
                    module.weight.size * 32 // module.bits + (module.bias.size if hasattr(module, "bias") else 0)
                )
            return sum(int(array.size) for _, array in cast(list[tuple[str, Any]], tree_flatten(module.parameters())))

        leaves = tree_flatten(self._model.leaf_modules(), is_leaf=lambda module: isinstance(module, nn.Module))
        return sum(count(module) for _, module in cast(list[tuple[str, Any]], leaves))

    @property
    def vocabulary(self) -> int:
        """The number of tokens that the tokenizer has."""
        return len(self._tokenizer)

    @property
    def end_tokens(self) -> frozenset[int]:
        """The ids of the tokens that end a generation."""
        return frozenset(cast(set[int], self._tokenizer.eos_token_ids))

    @property
    def ends_in_gap(self) -> frozenset[int]:
        """The ids of the tokens that end the text of a gap: any marker, because no marker is part of a document."""
        markers = (self.encode(marker) for marker in self.control_tokens)
        return self.end_tokens.union(*(marker for marker in markers if len(marker) == 1))

    def ends_under(self, spelling: Spelling) -> frozenset[int]:
        """Returns the ids of the tokens that end a generation under a grammar: not those that end a call."""
        pieces = spelling.pieces(spelling.dialect.end)
        return (self.end_tokens - {piece for piece in pieces if isinstance(piece, int)}) or self.end_tokens

    def grammar_tokenizer(self, spelling: Spelling) -> Any:
        """Returns the tokenizer for llguidance. Raises ValueError for tokenizers that are not fast ones."""
        ends = sorted(self.ends_under(spelling))
        from llguidance.hf import from_tokenizer

        return from_tokenizer(self._tokenizer._tokenizer, eos_token=ends)  # noqa: SLF001

    def encode(self, text: str) -> list[int]:
        """Tokenizes text, in which markers become their tokens unless they have a seam; nothing is added."""
        parts = split_at_seams(text)
        return [token for part in parts for token in self._tokenizer.encode(part, add_special_tokens=False)]

    def decode(self, token: int) -> str:
        """Returns the text of one token, as in a prompt."""
        return cast(str, self._tokenizer.decode([token], skip_special_tokens=False))

    def new_cache(self) -> Cache:
        """Returns an empty prompt cache."""
        if hasattr(self._model, "make_cache"):
            return Cache(cast(list[Any], self._model.make_cache()))
        from mlx_lm.models.cache import make_prompt_cache

        return Cache(cast(list[Any], make_prompt_cache(self._model)))

    def read(self, tokens: Sequence[int], cache: Cache) -> None:
        """Reads tokens into a cache."""
        read(self._model, tokens, cache)

    def row(
        self,
        cache: Cache,
        token: int,
        constraint: TokenConstraint,
        *,
        max_tokens: int,
        sampling: Sampling,
        drafter: Drafter | None = None,
        ends: frozenset[int] | None = None,
    ) -> Row:
        """Starts a generation: the cache holds the prompt up to its last token, which is `token`.

        It ends with one of `ends` if they are given, and with an end token otherwise.
        """
        return Row(
            self._model,
            cache,
            token,
            constraint,
            self._tokenizer.detokenizer,
            end_tokens=self.end_tokens if ends is None else ends,
            max_tokens=max_tokens,
            sampling=sampling,
            drafter=drafter,
        )


def _read_weights(model: Any, on_progress: Callable[[int, int], None]) -> None:
    """Reads the weights in parts, so that progress can be reported."""
    import mlx.core as mx
    from mlx.utils import tree_flatten

    weights = [array for _, array in cast(list[tuple[str, Any]], tree_flatten(model.parameters()))]
    total, done, told = sum(int(array.nbytes) for array in weights), 0, 0
    on_progress(0, total)
    for array in weights:
        mx.eval(array)
        done += int(array.nbytes)
        if done - told >= total / _LOAD_REPORTS or done == total:
            on_progress(done, total)
            told = done


def release() -> None:
    """Frees this thread's streams; a thread that ends without it makes the process abort on exit."""
    import mlx.core as mx

    mx.synchronize()
    mx.clear_streams()
    mx.clear_cache()


def on_gpu() -> bool:
    """Returns whether MLX computes on a GPU here."""
    import mlx.core as mx

    return bool(mx.default_device() == mx.Device(mx.gpu)) and bool(mx.metal.is_available())


def memory_bytes() -> int:
    """Returns the most bytes that this process has held, on the CPU or the GPU."""
    import mlx.core as mx

    # ru_maxrss is KiB on Linux and bytes on macOS.
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return max(resident, int(mx.get_peak_memory()))


def _context(folder: Path, tokenizer: Any) -> int:
    """Returns the number of tokens that the model can attend to: the smallest limit in its files."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    stated = (config.get("max_position_embeddings"), getattr(tokenizer, "model_max_length", None))
    return min((int(limit) for limit in stated if limit and limit < _NO_LIMIT), default=_NO_LIMIT)
