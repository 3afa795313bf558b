"""The ways people ask for what the embedded model does, and requests that it turns down."""

from __future__ import annotations

import random
from functools import cache

from training.words import TEMPLATES

_KINDS = (
    "variable", "function", "class", "method", "identifier", "symbol", "field",
    "parameter", "constant", "type", "property", "key", "name",
)  # fmt: skip
_VERBS = (
    "rename", "replace", "change", "delete", "remove", "drop", "insert", "add", "put", "set", "give", "document",
    "find", "run", "execute", "look", "show", "tell", "locate", "write", "update", "make", "explain", "fix", "list",
)  # fmt: skip
_LEADS = (
    "please ", "now ", "next, ", "then ", "also ", "quickly ", "just ", "ok, ", "hi, ", "hey, ", "well, ", "first, ",
    "so ", "would you ", "will you ", "you should ", "we have to ", "we must ", "I need you to ", "help me to ",
    "try to ", "time to ", "make sure to ", "let us ", "for the release, ", "before we go on, ", "as a start, ",
    "would you mind to ", "it is time to ", "hello, ", "can you please ", "I want to ", "can we ", "you may ",
)  # fmt: skip
_TAILS = (" please", " now", ", thanks", " for me", " today", " again", ", ok?", " first", " if you can", "!", " then")
_QUOTES = ("`", '"', "'")


@cache
def phrasings(name: str) -> tuple[str, ...]:
    """Read request templates: `{o}` old name, `{n}` new name, `{f}` file, `{k}` kind of thing, `{w}` prose."""
    return tuple((TEMPLATES / f"{name}.txt").read_text("utf-8").splitlines())


def rename_request(rng: random.Random, old: str, new: str, path: str, *, held_out: bool) -> str:
    """Phrase the request to rename `old` to `new` in `path`; names and path are quoted now and then."""
    quote = rng.choice(_QUOTES) if rng.random() < 0.25 else ""
    return _phrasing(rng, "requests", held_out).format(
        o=f"{quote}{old}{quote}", n=f"{quote}{new}{quote}", f=_path(rng, path), k=rng.choice(_KINDS)
    )


def ask(rng: random.Random, skill: str, held_out: bool, **slots: str) -> str:
    """Phrase a request for a skill.

    Slots: `f` a path, `l` a line number, `o` a name, `v` a value, `g` a given text, which `{g}` quotes and `{t}`, at
    the end of a sentence, leaves as it is.
    """
    given = slots.pop("g", "")
    filled = {
        "f": _path(rng, slots.pop("f", "")), "k": rng.choice(_KINDS), "t": given, "g": _quoted(rng, given),
        "o": _now_and_then(rng, slots.pop("o", "")), "v": _value(rng, slots.pop("v", "")), **slots,
    }  # fmt: skip
    return _phrasing(rng, f"ask_{skill}", held_out).format(**filled)


def other_request(rng: random.Random, old: str, new: str, path: str, words: str, *, held_out: bool) -> str:
    """Phrase a request for none of the skills, or an incomplete one."""
    return _phrasing(rng, "other_requests", held_out).format(
        o=old, n=new, f=path, p=path.rpartition("/")[0] or ".", k=rng.choice(_KINDS), d=rng.randint(1, 99), w=words
    )


def _phrasing(rng: random.Random, name: str, held_out: bool) -> str:
    """One of the phrasings; in training some get words before or after them, of which evaluation has none."""
    text = rng.choice(phrasings(f"{'held_out' if held_out else 'train'}/{name}"))
    if held_out or text.split(" ", 1)[0].lower() not in _VERBS:
        return text
    if rng.random() < 0.3:
        text = rng.choice(_LEADS) + text[0].lower() + text[1:]
    return text + rng.choice(_TAILS) if rng.random() < 0.1 and text.endswith(("}", "`")) and "{t}" not in text else text


def _path(rng: random.Random, path: str) -> str:
    quote = rng.choice(_QUOTES) if rng.random() < 0.1 else ""
    return f"{quote}{path}{quote}"


def _now_and_then(rng: random.Random, name: str) -> str:
    quote = rng.choice(_QUOTES) if rng.random() < 0.2 else ""
    return f"{quote}{name}{quote}"


def _value(rng: random.Random, value: str) -> str:
    """Only backticks: other quotes would be the value's own."""
    return f"`{value}`" if rng.random() < 0.2 and "`" not in value else value


def _quoted(rng: random.Random, given: str) -> str:
    """In quotes that it does not hold itself; bare where it holds all of them."""
    free = [quote for quote in ("`", "`", "`", '"', "'") if quote not in given]
    quote = rng.choice(free) if free else ""
    return f"{quote}{given}{quote}"
