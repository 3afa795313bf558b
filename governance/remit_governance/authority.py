"""The most that a turn may do, or a sub-agent that it hands work to: it is narrowed, and never widened (AGT-16). Pure.

It allows nothing: policy judges each call as well. It only takes away, in the order meant by `meet`: whatever an
authority that was made of another leaves, the other one leaves, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from remit_governance.policy.matching.paths import compile_globs, fold, normalise
from remit_governance.values import Action, Intent

Globs = tuple[str, ...]

LOOKING = frozenset({"fs.read", "fs.list"})
"""What is also done to the folders on the way to a path: what is told of them is judged path by path."""
_OF_COMMANDS = "process."
"""How system calls begin that run a command, or have to do with one that runs."""
_WILD = frozenset("*?[]\\!")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be left of an authority; None leaves all of it. `paths` are globs as in `.gitignore`, relative to the
    workspace, `hosts` exact ones as `Endpoint` spells them."""

    intents: frozenset[Intent] | None = None
    paths: Globs | None = None
    hosts: frozenset[str] | None = None
    steps: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Beyond:
    """What was asked for that there is not to give, in words."""

    what: str
    left: str


@dataclass(frozen=True, slots=True)
class Authority:
    """What is left: intents; paths that each of `within` matches; hosts, all where that is None; steps and tokens,
    without a limit of its own where they are None."""

    intents: frozenset[Intent] = frozenset(Intent)
    within: frozenset[Globs] = frozenset()
    hosts: frozenset[str] | None = None
    steps: int | None = None
    tokens: int | None = None

    def meet(self, wanted: Wanted) -> Authority:
        """Returns what both leave."""
        return replace(
            self,
            intents=self.intents if wanted.intents is None else self.intents & wanted.intents,
            within=self.within if wanted.paths is None else self.within | {tuple(sorted(set(wanted.paths)))},
            hosts=_least(self.hosts, wanted.hosts),
            steps=_fewest(self.steps, wanted.steps),
            tokens=_fewest(self.tokens, wanted.tokens),
        )

    def attenuate(self, wanted: Wanted) -> Authority | Beyond:
        """Returns the authority of a child that is to have this much, or what of it there is not to give.

        Globs are never refused: a path has to match those of both. Of steps and tokens the fewer count.
        """
        if more := sorted((wanted.intents or frozenset()) - self.intents):
            return Beyond(f"the intents {', '.join(more)}", ", ".join(sorted(self.intents)) or "no intent")
        if self.hosts is not None and (others := sorted((wanted.hosts or frozenset()) - self.hosts)):
            return Beyond(f"the hosts {', '.join(others)}", ", ".join(sorted(self.hosts)) or "no host")
        return self.meet(wanted)


EVERYTHING = Authority()
"""What policy alone decides about."""


def beyond_authority(action: Action) -> str | None:
    """Returns why an action is beyond what its caller was left, in words; None where it is not.

    Where only some paths are left no command runs, and none that runs is looked at: it sees all files.
    """
    if action.within and action.syscall.startswith(_OF_COMMANDS):
        return f"a command sees every file, and only {_spell(action.within)} was left to this sub-agent"
    if action.within and action.path is not None and not is_within(action.within, action.syscall, action.path):
        return f"only {_spell(action.within)} was left to this sub-agent"
    if action.reaches is not None and action.host is not None and action.host not in action.reaches:
        return f"only {', '.join(sorted(action.reaches)) or 'no host'} was left to this sub-agent"
    return None


def is_within(within: Iterable[Globs], syscall: str, path: str) -> bool:
    """Returns whether a path, relative to the workspace, is one that all of these globs leave. A path has to match in
    the spelling that it has, and as a file system would take it that ignores case."""
    plain = normalise(path)
    return all(_leaves(globs, syscall, plain) for globs in within)


def roots_of(globs: Globs) -> tuple[str, ...]:
    """Returns folders and files that hold all that the globs match, `.` for the workspace."""
    return tuple(dict.fromkeys(_root(glob) for glob in globs if not glob.startswith("!")))


@lru_cache(maxsize=1024)
def _leaves(globs: Globs, syscall: str, path: str) -> bool:
    if compile_globs(globs)(path) and compile_globs(globs, fold_case=True)(fold(path)):
        return True
    return syscall in LOOKING and any(path == "." or f"{root}/".startswith(f"{path}/") for root in roots_of(globs))


def _root(glob: str) -> str:
    """What a glob without a slash before its end names may lie anywhere."""
    body = glob.removeprefix("/")
    if "/" not in glob.rstrip("/"):
        return "."
    parts = body.rstrip("/").split("/")
    plain = next((number for number, part in enumerate(parts) if _WILD & set(part)), len(parts))
    return "/".join(parts[:plain]) or "."


def _spell(within: Iterable[Globs]) -> str:
    return " and ".join(" or ".join(globs) for globs in sorted(within)) or "no path"


def _least(one: frozenset[T] | None, other: frozenset[T] | None) -> frozenset[T] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _fewest(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)
