"""The one place where MLX, mlx-lm, transformers and NumPy are touched (agent.md §Model engine).

These libraries carry no usable types, so this module alone is checked leniently and hands out typed values only.
Everything in it must be called from one thread: MLX's streams belong to the thread that made them.
"""
# pyright: basic

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from remit_server.models.host.calls import CLOSE, OPEN, Markers
from remit_server.models.host.prompts import Template, TemplateMessage

PREFILL_STEP = 256
"""Prompt tokens between two looks at the stop flag: at most 0.3 s on a slow CPU."""
_NO_LIMIT = 10_000_000
"""Tokenizers without a limit state an astronomical one."""

LogitsMask = Callable[[list[int]], bytes | None]
"""Takes the tokens generated since the last call; gives the bits of those allowed next; None: only the end."""


class Stopped(Exception):
    """The stop flag was up while the prompt was read; `read` tokens of it are in the cache."""

    def __init__(self, read: int) -> None:
        super().__init__()
        self.read = read


@dataclass(frozen=True, slots=True)
class Generated:
    """One token, the text it completes, and why it is the last, if it is."""

    token: int
    text: str
    done: Literal["stop", "length"] | None


class Cache:
    """An mlx-lm prompt cache behind `sessions.PromptCache`."""

    def __init__(self, layers: list[Any]) -> None:
        self.layers = layers

    def trim(self, tokens: int) -> bool:
        """Forget the last `tokens`, where all layers can."""
        from mlx_lm.models.cache import can_trim_prompt_cache, trim_prompt_cache

        if not can_trim_prompt_cache(self.layers):
            return False
        return cast(int, trim_prompt_cache(self.layers, tokens)) == tokens

    @property
    def nbytes(self) -> int:
        """Bytes held in all layers."""
        return sum(int(layer.nbytes) for layer in self.layers)


def prepare() -> None:
    """Import MLX the way it runs best here. Raises ImportError when the `mlx` extra is not installed.

    On Linux the wheel's own BLAS is 7 to 25 times slower than OpenBLAS, which must be loaded first. mlx-lm lowers the
    limit of open files on import, for good where the process is not root.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)
    kept = resource.setrlimit
    resource.setrlimit = lambda *_: None
    try:
        import mlx_lm  # noqa: F401
    finally:
        resource.setrlimit = kept


class LanguageModel:
    """A loaded model with its tokenizer."""

    def __init__(self, name: str, model: Any, tokenizer: Any, context: int) -> None:
        self.name = name
        self.context = context
        self._model = model
        self._tokenizer = tokenizer

    @classmethod
    def load(cls, reference: str) -> LanguageModel:
        """Load `embedded` or a folder; in float32 on a CPU, where others are slower. Raises what mlx-lm raises."""
        import mlx.core as mx

        if reference == "embedded":
            from remit_server.models.embedded import MODEL_DIR, load_embedded

            model, tokenizer = load_embedded()
            folder = MODEL_DIR
        else:
            from mlx_lm import load

            folder = Path(reference)
            model, tokenizer = cast(tuple[Any, Any], load(reference, tokenizer_config={"trust_remote_code": False}))
            if not on_gpu():
                model.set_dtype(mx.float32)
        mx.eval(model.parameters())
        return cls(reference if reference == "embedded" else folder.name, model, tokenizer, _context(folder, tokenizer))

    @property
    def template(self) -> Template | None:
        """The tokenizer's chat template, if it brings one."""
        if not self._tokenizer.has_chat_template:
            return None

        def render(messages: list[TemplateMessage], tools: list[TemplateMessage]) -> str:
            text = self._tokenizer.apply_chat_template(
                messages, tools=tools or None, add_generation_prompt=True, tokenize=False, enable_thinking=False
            )
            return cast(str, text)

        return render

    @property
    def control_tokens(self) -> tuple[str, ...]:
        """Spellings that the tokenizer reads as one marker and not as text."""
        added = cast(dict[int, Any], self._tokenizer.added_tokens_decoder)
        return tuple(
            str(t.content)
            for t in added.values()
            if t.special or (t.content.startswith("<") and t.content.endswith(">"))
        )

    @property
    def begin(self) -> str:
        """Spelling of the token that starts a text, if the model has one."""
        return str(self._tokenizer.bos_token or "")

    @property
    def end(self) -> str:
        """Spelling of the end token."""
        return str(self._tokenizer.eos_token or "")

    @property
    def markers(self) -> Markers:
        """Ids of the call markers, where both are single tokens."""
        vocabulary = cast(dict[str, int], self._tokenizer.get_vocab())
        if OPEN in vocabulary and CLOSE in vocabulary:
            return Markers(vocabulary[OPEN], vocabulary[CLOSE])
        return Markers(None, None)

    @property
    def end_tokens(self) -> frozenset[int]:
        """Ids of the tokens that end a generation."""
        return frozenset(cast(set[int], self._tokenizer.eos_token_ids))

    def grammar_tokenizer(self) -> Any:
        """Return the tokenizer as llguidance reads it. Raises ValueError for tokenizers that are not fast ones."""
        from llguidance.hf import from_tokenizer

        return from_tokenizer(self._tokenizer._tokenizer, eos_token=sorted(self.end_tokens))  # noqa: SLF001

    def encode(self, text: str) -> list[int]:
        """Tokenize text in which markers stand for themselves; nothing is added."""
        return cast(list[int], self._tokenizer.encode(text, add_special_tokens=False))

    def spelling(self, token: int) -> str:
        """Return the text of one token, as a prompt would spell it."""
        return cast(str, self._tokenizer.decode([token], skip_special_tokens=False))

    def new_cache(self) -> Cache:
        """Return an empty prompt cache."""
        from mlx_lm.models.cache import make_prompt_cache

        return Cache(cast(list[Any], make_prompt_cache(self._model)))

    def generate(
        self,
        prompt: Sequence[int],
        cache: Cache,
        mask: LogitsMask,
        *,
        max_tokens: int,
        temperature: float,
        seed: int,
        on_prompt: Callable[[int, int], bool],
    ) -> Generator[Generated]:
        """Read `prompt` on top of `cache` and generate. After each value the cache holds exactly what was yielded.

        `on_prompt` hears of tokens read and their total, and returns True to stop, which raises Stopped.
        """
        import mlx.core as mx
        from mlx_lm import stream_generate
        from mlx_lm.sample_utils import make_sampler

        def progress(read: int, total: int) -> None:
            # The last report comes when the first token is already in the cache: too late to stop without losing count.
            if on_prompt(read, total) and read < total:
                raise Stopped(read)

        mx.random.seed(seed)
        stream = stream_generate(
            self._model,
            self._tokenizer,
            mx.array(list(prompt)),
            max_tokens=max_tokens,
            sampler=make_sampler(temp=temperature),
            logits_processors=[_MaskedLogits(mask, min(self.end_tokens))],
            prompt_cache=cache.layers,
            prefill_step_size=PREFILL_STEP,
            prompt_progress_callback=progress,
        )
        with contextlib.closing(stream):
            for response in stream:
                done = cast(Literal["stop", "length"] | None, response.finish_reason)
                # Text arrives with the end token's own spelling left out.
                yield Generated(int(response.token), str(response.text), done)


class _MaskedLogits:
    """An mlx-lm logits processor. It runs one step ahead of what is yielded, also past the end."""

    def __init__(self, mask: LogitsMask, end: int) -> None:
        self._mask = mask
        self._end = end
        self._seen: int | None = None

    def __call__(self, tokens: Any, logits: Any) -> Any:
        import mlx.core as mx
        import numpy as np

        new = [] if self._seen is None else cast(list[int], tokens[self._seen :].tolist())
        self._seen = int(tokens.size)
        allowed = self._mask(new)
        width = int(logits.shape[-1])
        bits: Any = np.zeros(width, bool)
        if allowed is None:
            bits[self._end] = True
        else:
            # The model may score more tokens than its tokenizer has, and the bits fill up to whole words.
            known = np.unpackbits(np.frombuffer(allowed, np.uint8), bitorder="little")[:width]
            bits[: known.size] = known
        return mx.where(mx.array(bits)[None], logits, mx.array(-float("inf"), logits.dtype))


def release() -> None:
    """Free this thread's streams; a thread that ends without it makes the process abort on exit."""
    import mlx.core as mx

    mx.synchronize()
    mx.clear_streams()
    mx.clear_cache()


def on_gpu() -> bool:
    """Whether MLX computes on a GPU here."""
    import mlx.core as mx

    return bool(mx.default_device() == mx.Device(mx.gpu)) and bool(mx.metal.is_available())


def memory_bytes() -> int:
    """Most bytes that this process has held, on the CPU or the GPU."""
    import mlx.core as mx

    # ru_maxrss is KiB on Linux and bytes on macOS.
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return max(resident, int(mx.get_peak_memory()))


def _context(folder: Path, tokenizer: Any) -> int:
    """Tokens the model can attend to: the smallest limit that its files state."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    stated = (config.get("max_position_embeddings"), getattr(tokenizer, "model_max_length", None))
    return min((int(limit) for limit in stated if limit and limit < _NO_LIMIT), default=_NO_LIMIT)
