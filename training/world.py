"""What tasks are made of in one split of the data: paths, lines, values, sentences, commands and output."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass
from typing import Literal

from training import identifiers, languages, sources
from training.languages import Language
from training.words import HELD_OUT, TRAIN, Vocabulary

Section = Literal["any", "imports", "definitions", "assignments"]

_LETTERS = string.ascii_letters + string.digits + "_-+/*=<>!&|^%$#@~?.,:;()[]{}'\"` "


@dataclass(frozen=True, slots=True)
class World:
    """One split: its vocabulary, its languages, and whether it is the one that training never sees."""

    vocabulary: Vocabulary
    languages: dict[str, Language]
    held_out: bool

    @property
    def split(self) -> str:
        """The folder of its templates."""
        return "held_out" if self.held_out else "train"

    def extension(self, rng: random.Random, section: Section) -> str:
        """A file type that has lines of that section."""
        if section == "any" and rng.random() < 0.3:
            return rng.choice(("rst", "sql", "tex") if self.held_out else ("md", "txt", "css", "html", "sh", "cfg"))
        fitting = [e for e, language in self.languages.items() if section == "any" or getattr(language, section)]
        if section != "imports" and not self.held_out and rng.random() < 0.15:
            # Any other: the file type is copied, not known.
            return "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(1, 4)))
        return rng.choice(fitting)

    def path(self, rng: random.Random, extension: str) -> str:
        """A path to a file of that type."""
        return identifiers.path(rng, self.vocabulary, extension)

    def line(self, rng: random.Random) -> str:
        """A line of some file, indentation included; blank or odd now and then."""
        chance = rng.random()
        if chance < 0.03:
            return ""
        if chance < 0.1 and not self.held_out:
            return "".join(rng.choice(_LETTERS) for _ in range(rng.randint(1, 40))).rstrip() or "x"
        if chance < 0.4 and not self.held_out:
            line = sources.excerpt(rng, sources.training_sources(), 1).rstrip()
            return line[:100] if line.strip() else "    pass"
        indent = rng.choice(("", "", "  ", "    ", "    ", "        ", "\t", "\t\t"))
        return indent + self.code(rng)

    def code(self, rng: random.Random) -> str:
        """One line of code or prose, without indentation."""
        if rng.random() < 0.25 and not self.held_out:
            line = sources.excerpt(rng, sources.training_sources(), 1).strip()[:70].strip()
            if len(line) > 2:
                return line
        language = rng.choice(("python", "script", "go", "data", "config", "prose"))
        text = sources.templated(rng, sources.templates(self.split, language), self.name(rng), self.vocabulary, 1)
        return text.strip() or "pass"

    def name(self, rng: random.Random) -> sources.Names:
        """A source of identifiers."""
        return lambda: identifiers.identifier(rng, self.vocabulary)

    def import_line(self, rng: random.Random, extension: str) -> str:
        """An import as that language spells it."""
        return self._filled(rng, rng.choice(self.languages[extension].imports))

    def definition(self, rng: random.Random, extension: str, name: str) -> str:
        """A line that defines `name`."""
        language = self.languages.get(extension) or rng.choice(list(self.languages.values()))
        choices = language.definitions or self.languages["rb" if self.held_out else "py"].definitions
        return self._filled(rng, rng.choice(choices), name)

    def assignment(self, rng: random.Random, extension: str, name: str, value: str) -> str:
        """A line that gives `name` a value."""
        language = self.languages.get(extension) or rng.choice(list(self.languages.values()))
        return self._filled(rng, rng.choice(language.assignments), name, value)

    def value(self, rng: random.Random) -> str:
        """A literal as it stands in code."""
        number = rng.randint(0, 10 ** rng.randint(1, 5))
        word, quote = identifiers.identifier(rng, self.vocabulary), rng.choice('""\'')
        kinds = (
            f"{number}", f"{number}", f"{number}", f"{number}.{rng.randint(0, 99)}", f"-{number}",
            f"{quote}{word}{quote}", f"{quote}{word}{quote}", f"{quote}{sources.prose(rng, self.vocabulary)}{quote}",
            rng.choice(("True", "False", "true", "false", "None", "null", "nil")), f"{rng.randint(1, 99)}_000",
            f"{quote}/{word}/{number}{quote}", f"0x{number:x}", f"{quote}{word}.{word[:3]}{quote}",
        )  # fmt: skip
        return rng.choice(kinds)

    def sentence(self, rng: random.Random) -> str:
        """A sentence as docstrings hold it."""
        words = sources.prose(rng, self.vocabulary)
        if rng.random() < 0.3:
            words += f" {identifiers.identifier(rng, self.vocabulary)}"
        return words.capitalize() + rng.choice((".", ".", ".", ""))

    def command(self, rng: random.Random) -> str:
        """A command line."""
        text = rng.choice(sources.templates(self.split, "commands"))
        return self._filled(rng, text.replace("{f}", self.path(rng, self.extension(rng, "any"))))

    def output(self, rng: random.Random) -> tuple[str, str]:
        """What a command printed on stdout and stderr."""
        if rng.random() < 0.2:
            return "", ""
        lines = [self.code(rng) for _ in range(rng.randint(1, 6))]
        return ("\n".join(lines), "") if rng.random() < 0.7 else ("", "\n".join(lines))

    def _filled(self, rng: random.Random, template: str, name: str | None = None, value: str = "") -> str:
        name = name or identifiers.identifier(rng, self.vocabulary)
        b, c = (identifiers.identifier(rng, self.vocabulary) for _ in range(2))
        return template.format(
            a=name, b=b, c=c, v=value, n=rng.randint(1, 99), m=rng.randint(1, 99),
            w=sources.prose(rng, self.vocabulary), p=rng.choice(self.vocabulary.folders),
        )  # fmt: skip


TRAINED = World(TRAIN, languages.TRAINED, held_out=False)
UNSEEN = World(HELD_OUT, languages.HELD_OUT | {"py": languages.TRAINED["py"]}, held_out=True)
"""Python is in both for its docstrings alone: no other language has any."""
