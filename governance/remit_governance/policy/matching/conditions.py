"""Compiles `match` and `except` into predicates: every key has to hold, by any of its values (POL-07)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType

from remit_governance.hosts import DEFAULT_PORT, host_and_port
from remit_governance.policy.decision.risk import risk_of
from remit_governance.policy.language.policy_form import MatchForm
from remit_governance.policy.matching.command_match import Match, command_prefix, matches_command, starts_with
from remit_governance.policy.matching.paths import compile_globs, outside
from remit_governance.policy.rules import Condition, Subject
from remit_governance.values import Action


def compile_match(form: MatchForm, fold_case: bool, *, stops: Match | None = None, indexed: bool = False) -> Condition:
    """Returns a predicate that holds if every given key holds.

    `stops` is given for rules that deny or ask: they mean commands in every spelling and hosts at every port, and it is
    how certain it has to be that a command is meant. `indexed` leaves `syscall` out, because the index then finds the
    rule only for actions with one of its syscalls.
    """
    given = {key: values for key, values in form.given().items() if not (indexed and key == "syscall")}
    path, command, host = (given.pop(key, None) for key in ("path_glob", "command", "host"))
    conditions = [CONDITIONS.get(key, _one_of(attrgetter(key)))(values) for key, values in given.items()]
    # The cheap conditions come first, because most rules that do not match already fail at one of them.
    if host is not None:
        conditions.append(on_host(host, stops=stops is not None))
    if command is not None:
        conditions.append(on_command(command, stops))
    if path is not None:
        conditions.append(on_path(path, fold_case))
    return _all_of(conditions)


def _all_of(conditions: Sequence[Condition]) -> Condition:
    match conditions:
        case []:
            return lambda _: True
        case [one]:
            return one
        case [one, *others]:
            rest = _all_of(others)
            return lambda subject: one(subject) and rest(subject)
        case _:
            raise AssertionError(conditions)


def any_of(conditions: Sequence[Condition]) -> Condition | None:
    """Returns a predicate that holds if one of these conditions holds; None if there are no conditions."""
    match conditions:
        case []:
            return None
        case [one]:
            return one
        case _:
            return lambda subject: any(condition(subject) for condition in conditions)


def _one_of(word: Callable[[Action], object]) -> Callable[[tuple[str, ...]], Condition]:
    def condition(values: tuple[str, ...]) -> Condition:
        wanted = frozenset(values)
        return lambda subject: word(subject.action) in wanted

    return condition


@lru_cache(maxsize=1024)
def on_path(globs: tuple[str, ...], fold_case: bool) -> Condition:
    """Makes a condition that holds for a path in the workspace that one of the globs matches."""
    matches = compile_globs(globs, fold_case)

    def condition(subject: Subject) -> bool:
        # Globs are about the workspace; the built-in rule decides about what is outside.
        path = subject.folded if fold_case else subject.path
        return path is not None and matches(path) and not outside(path)

    return condition


def _caller_tag(tags: tuple[str, ...]) -> Condition:
    wanted = frozenset(tags)
    return lambda subject: not wanted.isdisjoint(subject.action.caller_tags)


@lru_cache(maxsize=1024)
def on_command(commands: tuple[str, ...], stops: Match | None) -> Condition:
    """Makes a condition that holds for these commands: in every spelling, at least as certain as `stops`, or if that is
    None by exactly their first words."""
    prefixes = tuple(command_prefix(command) for command in commands)

    def condition(subject: Subject) -> bool:
        command = subject.action.command
        if command is None:
            return False
        if stops is None:
            return any(starts_with(command, prefix) for prefix in prefixes)
        return any(matches_command(prefix, command) >= stops for prefix in prefixes)

    return condition


def on_host(hosts: tuple[str, ...], *, stops: bool) -> Condition:
    """Makes a condition that holds if an action reaches one of these hosts. For a rule that `stops`, a host without a
    port is meant at every port."""
    wanted = frozenset(map(host_and_port, hosts))

    def condition(subject: Subject) -> bool:
        if subject.action.host is None:
            return False
        name, port = host_and_port(subject.action.host)
        port = port or DEFAULT_PORT
        # A host without a port is stopped at every port, and allowed at the default port.
        return (name, port) in wanted or ((stops or port == DEFAULT_PORT) and (name, None) in wanted)

    return condition


CONDITIONS: Mapping[str, Callable[[tuple[str, ...]], Condition]] = MappingProxyType(
    {"caller_tag": _caller_tag, "risk": _one_of(risk_of)}
)
"""`match` key → the function that makes a condition of its values. Other keys hold if the action's field of that name
is one of the values; `path_glob`, `command` and `host` are not here, because they need more arguments."""
