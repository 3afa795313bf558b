"""The ways people ask for a rename, and requests of other kinds that the embedded model turns down."""

from __future__ import annotations

import random
from functools import cache

from training.words import TEMPLATES

_KINDS = (
    "variable", "function", "class", "method", "identifier", "symbol", "field",
    "parameter", "constant", "type", "property", "key", "name",
)  # fmt: skip
_QUOTES = ("`", '"', "'")


@cache
def phrasings(name: str) -> tuple[str, ...]:
    """Read request templates: `{o}` old name, `{n}` new name, `{f}` file, `{k}` kind of thing, `{w}` prose."""
    return tuple((TEMPLATES / f"{name}.txt").read_text("utf-8").splitlines())


def rename_request(rng: random.Random, old: str, new: str, path: str, *, held_out: bool) -> str:
    """Phrase the request to rename `old` to `new` in `path`; names and path are quoted now and then."""
    quote = rng.choice(_QUOTES) if rng.random() < 0.25 else ""
    path_quote = rng.choice(_QUOTES) if rng.random() < 0.1 else ""
    return rng.choice(phrasings("held_out/requests" if held_out else "train/requests")).format(
        o=f"{quote}{old}{quote}", n=f"{quote}{new}{quote}", f=f"{path_quote}{path}{path_quote}", k=rng.choice(_KINDS)
    )


def other_request(rng: random.Random, old: str, new: str, path: str, words: str) -> str:
    """Phrase a request that is no complete rename."""
    return rng.choice(phrasings("train/other_requests")).format(
        o=old, n=new, f=path, p=path.rpartition("/")[0] or ".", k=rng.choice(_KINDS), d=rng.randint(1, 99), w=words
    )
