"""Rows of programs in files: pydantic models of what a row may say, in which unknown keys are errors, and the rows that
come with Remit (`policy/programs/*.yaml`; CMD-08).

Each of Remit's rows is parsed when its program is first asked for, because parsing all takes some 40 ms, and finding
where each stands takes 2 ms. A row begins at the start of a line with its names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import product
from typing import Annotated, NamedTuple, cast

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictStr, ValidationError, model_validator

from remit_governance.errors import PolicyError, Problem
from remit_governance.policy.shell.catalogue.rows import (
    EFFECTS,
    Command,
    Doubted,
    DoubtName,
    Effect,
    Entry,
    JudgeName,
    Mark,
    Program,
    Wrapper,
    WrittenName,
    is_option,
)

_OPTION = r"(?:--?[A-Za-z0-9#][\w.-]*|[a-z]+(?==))"
_TOKEN = re.compile(rf"({_OPTION}(?:\|{_OPTION})*)(?:=|\[=\])?(?:[<>]--[a-z-]+)*")
_MOST_WAYS = 2_000


def _entry(text: str) -> str:
    words = text.split()
    if not words or " ".join(words) != text:
        raise ValueError(f"`{text}` is not a list of words: write them with one space between them")
    for word in words:
        choices = word.split("|")
        if not all(choices):
            raise ValueError(f"`{word}` has an empty choice: write a word on both sides of each `|`")
        if len(set(map(is_option, choices))) > 1:
            raise ValueError(f"`{word}` is a choice between options and operands: write two entries")
    if "$" in words[:-1]:
        raise ValueError(f"`{text}` continues after its end: write `$` last")
    return text


def _options(text: str) -> str:
    seen: set[str] = set()
    for token in text.split():
        found = _TOKEN.fullmatch(token)
        if found is None:
            raise ValueError(
                f"`{token}` is not an option: write `-o`, `--option`, or `-o|--option=` if a value follows"
            )
        for name in found[1].split("|"):
            if name in seen:
                raise ValueError(f"the option `{name}` is given twice: keep one of them")
            seen.add(name)
    return text


def _option(word: str) -> str:
    if not word.startswith("-"):
        raise ValueError(f"`{word}` is not an option: write it with its dashes")
    return word


Words = Annotated[StrictStr, Field(min_length=1)]
EntryText = Annotated[StrictStr, AfterValidator(_entry)]
Options = Annotated[StrictStr, AfterValidator(_options)]
Option = Annotated[StrictStr, AfterValidator(_option)]
Entries = tuple[EntryText, ...]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CommandForm(_Form):
    """The options of a subcommand, or the subcommand for which it is another name."""

    options: Options = ""
    marks: frozenset[Mark] = frozenset()
    other_name_of: Words | None = Field(default=None, alias="is")


class OwnProgramForm(_Form):
    """What a person or a project may say about a program: what its words do, which files it writes, its options."""

    programs: tuple[Words, ...] = Field(min_length=1)
    reads: Entries = ()
    asks: Entries = ()
    changes: Entries = ()
    runs: Entries = ()
    loses: Entries = ()
    sends: Entries = ()
    fetches: Entries = ()
    unknown: Entries = ()
    otherwise: Effect | None = None
    unlisted: Effect | None = None
    writes: tuple[Option, ...] = ()
    marks: frozenset[Mark] = frozenset()
    options: Options | None = None
    subcommands: tuple[Words, ...] = ()
    commands: dict[Words, CommandForm] = Field(default_factory=dict[str, CommandForm])

    @model_validator(mode="after")
    def _is_small(self) -> OwnProgramForm:
        ways = sum(len(list(_ways(text))) for effect in EFFECTS for text in getattr(self, effect))
        if ways > _MOST_WAYS:
            raise ValueError(f"`{self.programs[0]}` has more than {_MOST_WAYS} entries: leave some to `otherwise`")
        return self

    def program(self, subject: str = "") -> Program:
        """Returns the row as a value."""
        return Program(
            entries=tuple(
                Entry.of(words, effect) for effect in EFFECTS for text in getattr(self, effect) for words in _ways(text)
            ),
            otherwise=self.otherwise,
            unlisted=self.unlisted,
            writes=self.writes,
            options=self.options,
            marks=frozenset(self.marks),
            commands=(
                *map(Command, self.subcommands),
                *(
                    Command(path, form.options, frozenset(form.marks), tuple((form.other_name_of or "").split()))
                    for path, form in self.commands.items()
                ),
            ),
            subject=subject,
        )


def _ways(text: str) -> Iterator[tuple[str, ...]]:
    return product(*(word.split("|") for word in text.split()))


class WrapperForm(_Form):
    """The options of a wrapper: a program that runs the command after its options."""

    valued: frozenset[Option] = frozenset()
    plain: frozenset[Option] = frozenset()
    operands: int = 0
    assigns: bool = False


class DoubtedForm(_Form):
    """Options that make a call not certain, and why."""

    why: Words
    options: tuple[Option, ...]


class ProgramForm(OwnProgramForm):
    """A row of Remit's own, which may also name functions and use keys that only Remit may use."""

    other_name_of: Words | None = Field(default=None, alias="is")
    judge: JudgeName | None = None
    doubts: DoubtName | None = None
    doubted: DoubtedForm | None = None
    written: WrittenName | None = None
    any_words: bool = False
    builtin: bool = False
    wraps: WrapperForm | None = None
    refused: Words | None = None
    replaced_by: Words | None = None

    def program(self, subject: str = "") -> Program:
        """Returns the row as a value."""
        wraps, doubted = self.wraps, self.doubted
        return replace(
            super().program(subject),
            other_name_of=tuple((self.other_name_of or "").split()),
            strict=not self.any_words and self.unlisted is None,
            judge=self.judge,
            doubts=self.doubts,
            doubted=Doubted(doubted.why, doubted.options) if doubted else None,
            written=self.written,
            any_words=self.any_words,
            builtin=self.builtin,
            wraps=Wrapper(wraps.valued, wraps.plain, wraps.operands, wraps.assigns) if wraps else None,
            refused=self.refused,
            replaced_by=self.replaced_by,
        )


_Loader: type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Reads every scalar as text, because `true` and `yes` are programs. The faster loader needs libyaml, which PyYAML's
wheels bring."""

_ROW = re.compile(r"^- programs: \[(.*?)\]$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"\"([^\"]+)\"|([^\s,\"]+(?: [^\s,\"]+)*)")


class RowText(NamedTuple):
    """The text of one row, with its file, its first line (counted from 1) and the names of its programs."""

    file: str
    line: int
    names: tuple[str, ...]
    text: str


def row_texts() -> Iterator[RowText]:
    """Yields the text of every row that comes with Remit, ordered by file and line."""
    folder = files("remit_governance.policy") / "programs"
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith(".yaml"):
            yield from _rows_of(path.name, path.read_text(encoding="utf-8"))


def _rows_of(file: str, text: str) -> Iterator[RowText]:
    found = list(_ROW.finditer(text))
    for row, end in zip(found, [*(each.start() for each in found[1:]), len(text)], strict=True):
        names = tuple(quoted or plain for quoted, plain in _NAME.findall(row[1]))
        yield RowText(file, text.count("\n", 0, row.start()) + 1, names, text[row.start() : end])


@lru_cache(maxsize=1)
def _index() -> Mapping[str, RowText]:
    return {name: row for row in row_texts() for name in row.names}


def packaged_names() -> tuple[str, ...]:
    """Returns the names of the programs that have a row, sorted."""
    return tuple(sorted(_index()))


@lru_cache(maxsize=4096)
def packaged(name: str) -> Program | None:
    """Returns Remit's own row of a program, or None if there is none."""
    row = _index().get(name)
    return None if row is None else read_row(row)


@cache
def read_row(row: RowText) -> Program:
    """Returns the row as a value. Raises PolicyError with the file, the program and the fault if it is not valid."""
    try:
        form = ProgramForm.model_validate(cast("list[object]", yaml.load(row.text, _Loader))[0])  # noqa: S506 text alone
    except yaml.YAMLError as error:
        raise _faulty(row, " ".join(str(error).split()), "correct the YAML") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        why, _, fix = first["msg"].removeprefix("Value error, ").partition(": ")
        place = ".".join(map(str, first["loc"]))
        raise _faulty(row, f"`{place}`: {why}", fix or "correct the value") from None
    return form.program(row.file.removesuffix(".yaml"))


def _faulty(row: RowText, why: str, fix: str) -> PolicyError:
    return PolicyError((Problem(row.file, row.line, 1, f"the row of `{row.names[0]}` cannot be used: {why}", fix),))
