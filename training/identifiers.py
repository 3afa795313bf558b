"""Random identifiers and paths, in the case styles real code uses."""

from __future__ import annotations

import random
import re

from training.words import Vocabulary

EXTENSIONS: tuple[str, ...] = ("py", "ts", "js", "go", "json", "yaml", "tsx", "yml", "mjs", "toml", "rs", "md")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def occurs(identifier: str, text: str) -> bool:
    """Tell whether `identifier` stands in `text` as a whole identifier."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(identifier)}(?![A-Za-z0-9_])", text) is not None


def identifier(rng: random.Random, vocabulary: Vocabulary) -> str:
    """Make one identifier: one to four parts in a random case style, now and then with a digit or underscores."""
    count = rng.choices((1, 2, 3, 4), (30, 45, 20, 5))[0]
    name = join([_part(rng, vocabulary) for _ in range(count)], _style(rng))
    if rng.random() < 0.12:
        name += str(rng.randint(0, 99))
    if rng.random() < 0.06:
        name = "_" * rng.choice((1, 1, 2)) + name
    return name


def derived(rng: random.Random, name: str, vocabulary: Vocabulary) -> str:
    """Make an identifier close to `name`: a part added, dropped or replaced, a plural, or another case style."""
    parts = split(name) or [name]
    kind = rng.randrange(6)
    if kind == 0:
        parts = [_part(rng, vocabulary), *parts]
    elif kind == 1:
        parts = [*parts, _part(rng, vocabulary)]
    elif kind == 2:
        parts[rng.randrange(len(parts))] = _part(rng, vocabulary)
    elif kind == 3 and len(parts) > 1:
        parts.pop(rng.randrange(len(parts)))
    elif kind == 4:
        return name + rng.choice(("s", "_", "2", "s", "er", "_id", "List"))
    result = join(parts, _style(rng) if rng.random() < 0.4 else style_of(name))
    return result if result != name else name + "_" + _part(rng, vocabulary)


def split(name: str) -> list[str]:
    """Split an identifier into its lower-case parts at underscores and case changes."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+", name)]


def style_of(name: str) -> str:
    """Name the case style that `name` is written in."""
    if "_" in name:
        return "upper" if name.isupper() else "snake"
    return "pascal" if name[:1].isupper() else ("camel" if not name.islower() else "snake")


def join(parts: list[str], style: str) -> str:
    """Write `parts` as one identifier in a case style."""
    match style:
        case "snake":
            return "_".join(parts)
        case "upper":
            return "_".join(parts).upper()
        case "camel":
            return parts[0] + "".join(part.capitalize() for part in parts[1:])
        case "flat":
            return "".join(parts)
        case _:
            return "".join(part.capitalize() for part in parts)


def path(rng: random.Random, vocabulary: Vocabulary, extension: str) -> str:
    """Make a relative path: up to four folders, some dotted or hyphenated, and a file name."""
    depth = rng.choices((0, 1, 2, 3, 4), (18, 38, 26, 12, 6))[0]
    folders = [_folder(rng, vocabulary) for _ in range(depth)]
    parts = [_part(rng, vocabulary) for _ in range(rng.choices((1, 2, 3), (55, 35, 10))[0])]
    stem = rng.choice(("_", "_", "-", "", ".")).join(parts)
    if rng.random() < 0.1:
        stem = stem.capitalize()
    prefix = "./" if rng.random() < 0.02 else ""
    return prefix + "/".join([*folders, f"{stem}.{extension}"])


def _folder(rng: random.Random, vocabulary: Vocabulary) -> str:
    if rng.random() < 0.6:
        return rng.choice(vocabulary.folders)
    name = rng.choice(("-", "_", "")).join(_part(rng, vocabulary) for _ in range(rng.randint(1, 2)))
    return "." + name if rng.random() < 0.08 else name


def _part(rng: random.Random, vocabulary: Vocabulary) -> str:
    """Make a word, a made-up word, pieces of words, or plain noise: what cannot be guessed has to be copied."""
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(vocabulary.words)
    if kind < 0.6:
        return "".join(rng.choice(vocabulary.syllables) for _ in range(rng.randint(1, 3)))
    if kind < 0.8:
        return "".join(_piece(rng, rng.choice(vocabulary.words)) for _ in range(rng.randint(1, 3)))
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(1, 8)))


def _piece(rng: random.Random, word: str) -> str:
    start = rng.randrange(len(word))
    return word[start : start + rng.randint(2, 6)]


def _style(rng: random.Random) -> str:
    return rng.choices(("snake", "camel", "pascal", "upper", "flat"), (45, 25, 15, 8, 7))[0]
