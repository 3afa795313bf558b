"""How a model is spoken to: which tools it is offered, how they are described, and when it has to answer (MOD-21)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from pydantic import JsonValue

from remit_server.errors import SetupError

SMALL_PARAMETERS = 4_500_000_000
"""The most weights of a small model: a model that is called one of four thousand million may have somewhat more."""


TINY_PARAMETERS = 700_000_000
"""The most weights of a tiny model, which makes up names of files as readily as it reads them."""


ProfileName = Literal["large", "small", "small-native", "tiny", "tiny-native", "built-in"]
ChosenProfile = Literal["large", "small", "tiny"]


class Telling(StrEnum):
    """How a model is told what a step looks like."""

    RULES = "rules"
    """What each tool does and when it fits."""
    EXAMPLES = "examples"
    """A short conversation that uses each tool, because small models copy what they see and skip rules."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One way to speak to a model.

    `tools` are offered in this order; if it is empty, all that fit the window. The model is told the arguments that a
    call needs, and the `optional` ones of a tool; `given` are added to every call of a tool. After `repeats` equal
    calls in a row the model can only answer; None leaves that to the warnings for all models (AGT-03). After results of
    more than `reminds` characters the model is told the request again. A `careful` model may not overwrite a whole file
    that it has not read, nor break a file's syntax. A model that `invents` may name a new file as it likes, and move or
    delete any; any other only the files that the person named. A model that does not see the `editor` is not told which
    file is open. A step has up to `most_tokens` tokens, and is stopped if its last `alike` characters only repeat
    themselves. If the model's window is not known, it is shown up to `most_shown` characters of a result. With
    `by_rules` the model is asked only for what no rule takes (MOD-28). `sums_up` says whether the model's summary of a
    long conversation is of use. `temperature` is used if nobody set one; None leaves that to the engine's row.
    """

    name: ProfileName
    telling: Telling = Telling.RULES
    tools: tuple[str, ...] = ()
    optional: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    given: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict[str, Mapping[str, JsonValue]])
    repeats: int | None = None
    reminds: int | None = None
    careful: bool = False
    invents: bool = True
    editor: bool = True
    by_rules: bool = False
    most_tokens: int | None = None
    alike: int = 1_500
    most_shown: int | None = None
    sums_up: bool = True
    temperature: float | None = None


LARGE = Profile("large")

SMALL = Profile(
    "small",
    Telling.EXAMPLES,
    (
        "search_files",
        "read_file",
        "edit_file",
        "write_file",
        "run_command",
        "delete_file",
        "move_file",
        "list_files",
    ),
    optional={"read_file": ("offset",)},
    given={
        "edit_file": {"replace_all": True, "loosely": True},
        "search_files": {"context_lines": 0},
        "list_files": {"pattern": "*"},
    },
    most_tokens=2_048,
    most_shown=6_000,
    sums_up=False,
    repeats=2,
    reminds=1_000,
    careful=True,
    temperature=0.0,
)

SMALL_NATIVE = replace(
    SMALL,
    name="small-native",
    telling=Telling.RULES,
    tools=tuple("replace_lines" if name == "edit_file" else name for name in SMALL.tools),
)
"""For an engine that no schema holds: the model writes a step in its own syntax of calls, and edits lines by their
numbers."""

TINY = replace(SMALL, name="tiny", invents=False, editor=False, by_rules=True, most_tokens=768, alike=400)

TINY_NATIVE = replace(
    SMALL_NATIVE, name="tiny-native", invents=False, editor=False, by_rules=True, most_tokens=768, alike=400
)

BUILT_IN = Profile("built-in", careful=True)
"""For the model that comes with Remit, whose rules choose the calls, whatever is offered."""

PROFILES: Mapping[ProfileName, Profile] = MappingProxyType(
    {each.name: each for each in (LARGE, SMALL, SMALL_NATIVE, TINY, TINY_NATIVE, BUILT_IN)}
)

_WEIGHTS = re.compile(r"(?<![a-z0-9.])(\d{1,4}(?:\.\d{1,3})?)([bm])(?![a-z0-9])", re.IGNORECASE)
_UNITS = {"b": 1_000_000_000, "m": 1_000_000}


def choose_profile(
    parameters: int | None, model: str, *, by_schema: bool, chosen: ChosenProfile | None = None
) -> Profile:
    """Returns the profile that the person chose, or else the one for the model's number of weights, which its name may
    tell if `parameters` is None.

    `by_schema`: whether the model's engine decodes a whole step by a schema.
    """
    match _by_size(parameters, model) if chosen is None else chosen:
        case "large":
            return LARGE
        case "small":
            return SMALL if by_schema else SMALL_NATIVE
        case "tiny":
            return TINY if by_schema else TINY_NATIVE


def _by_size(parameters: int | None, model: str) -> ChosenProfile:
    weights = named_parameters(model) if parameters is None else parameters
    if weights is None or weights > SMALL_PARAMETERS:
        return "large"
    return "small" if weights > TINY_PARAMETERS else "tiny"


def chosen_profile(environment: Mapping[str, str]) -> ChosenProfile | None:
    """Returns what `REMIT_PROFILE` says, or None if it is not set. Raises SetupError if it is no profile."""
    match environment.get("REMIT_PROFILE") or None:
        case None:
            return None
        case "large" | "small" | "tiny" as chosen:
            return chosen
        case other:
            fix = "set `large`, `small` or `tiny`, or unset it"
            raise SetupError(f"cannot use REMIT_PROFILE=`{other}`", "no profile has this name", fix)


def named_parameters(model: str) -> int | None:
    """Returns how many weights a model's name says that it has (`qwen2.5-coder:1.5b`, `SmolLM2-135M`), else None."""
    found = _WEIGHTS.search(model)
    return None if found is None else round(float(found[1]) * _UNITS[found[2].lower()])
