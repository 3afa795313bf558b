"""The upper limit of what a turn, or a sub-agent that it hands work to, may do (AGT-16). Pure.

An authority can be narrowed and never widened. It allows nothing by itself, because policy judges each call as well.
`meet` only takes away: an authority made from another one never permits more than that one does.
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
"""Syscalls that are also permitted on the folders above a permitted path, because what they return about such a folder
is judged path by path."""
_OF_COMMANDS = "process."
"""The prefix of the syscalls that run a command, or that deal with a running one."""
_WILD = frozenset("*?[]\\!")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request for a narrower authority; None keeps that field as it is. `paths` are globs as in `.gitignore`,
    relative to the workspace; `hosts` are exact hosts as `Endpoint` spells them."""

    intents: frozenset[Intent] | None = None
    paths: Globs | None = None
    hosts: frozenset[str] | None = None
    steps: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Beyond:
    """A request for more than the authority has, in words: `what` was asked for, and what is `left` to give."""

    what: str
    left: str


@dataclass(frozen=True, slots=True)
class Authority:
    """What the holder may still do: the intents; the paths that match every set of globs in `within`; the hosts, or
    all if None; the steps and tokens, without a limit of this authority's own if None."""

    intents: frozenset[Intent] = frozenset(Intent)
    within: frozenset[Globs] = frozenset()
    hosts: frozenset[str] | None = None
    steps: int | None = None
    tokens: int | None = None

    def meet(self, wanted: Wanted) -> Authority:
        """Returns the authority that both this one and `wanted` permit."""
        return replace(
            self,
            intents=self.intents if wanted.intents is None else self.intents & wanted.intents,
            within=self.within if wanted.paths is None else self.within | {tuple(sorted(set(wanted.paths)))},
            hosts=_least(self.hosts, wanted.hosts),
            steps=_fewest(self.steps, wanted.steps),
            tokens=_fewest(self.tokens, wanted.tokens),
        )

    def attenuate(self, wanted: Wanted) -> Authority | Beyond:
        """Returns the authority of a child that asks for `wanted`, or a Beyond if it asks for more than there is.

        Globs are never refused, because a path has to match the globs of both. For steps and tokens the smaller number
        counts.
        """
        if more := sorted((wanted.intents or frozenset()) - self.intents):
            return Beyond(f"the intents {', '.join(more)}", ", ".join(sorted(self.intents)) or "no intent")
        if self.hosts is not None and (others := sorted((wanted.hosts or frozenset()) - self.hosts)):
            return Beyond(f"the hosts {', '.join(others)}", ", ".join(sorted(self.hosts)) or "no host")
        return self.meet(wanted)


EVERYTHING = Authority()
"""The authority without any limit, under which policy alone decides."""


def beyond_authority(action: Action) -> str | None:
    """Returns why an action is beyond its caller's authority, in words, or None if it is not.

    If the authority is limited to some paths, no command may run and no running one may be read or ended, because a
    command sees every file.
    """
    if action.within and action.syscall.startswith(_OF_COMMANDS):
        return f"a command can see every file, but this sub-agent may only use {_spell(action.within)}"
    if action.within and action.path is not None and not is_within(action.within, action.syscall, action.path):
        return f"this sub-agent may only use {_spell(action.within)}"
    if action.reaches is not None and action.host is not None and action.host not in action.reaches:
        hosts = ", ".join(sorted(action.reaches))
        return f"this sub-agent may only reach {hosts}" if hosts else "this sub-agent may reach no host"
    return None


def is_within(within: Iterable[Globs], syscall: str, path: str) -> bool:
    """Returns whether every set of globs in `within` permits a path, which is relative to the workspace. The path has
    to match both as it is spelled and as a file system that ignores case would read it."""
    plain = normalise(path)
    return all(_leaves(globs, syscall, plain) for globs in within)


def roots_of(globs: Globs) -> tuple[str, ...]:
    """Returns the folders and files that together hold everything the globs match; `.` is the workspace."""
    return tuple(dict.fromkeys(_root(glob) for glob in globs if not glob.startswith("!")))


@lru_cache(maxsize=1024)
def _leaves(globs: Globs, syscall: str, path: str) -> bool:
    if compile_globs(globs)(path) and compile_globs(globs, fold_case=True)(fold(path)):
        return True
    return syscall in LOOKING and any(path == "." or f"{root}/".startswith(f"{path}/") for root in roots_of(globs))


def _root(glob: str) -> str:
    """Returns the deepest folder that holds all matches: `.` for a glob with no inner slash, which matches anywhere."""
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
