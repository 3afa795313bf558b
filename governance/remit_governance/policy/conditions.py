"""`match` and `except` compiled into predicates: keys AND, values OR (003 §Match semantics)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from remit_governance.policy.commands import command_prefix, resembles, starts_with
from remit_governance.policy.file import MatchForm
from remit_governance.policy.globs import compile_globs
from remit_governance.policy.paths import outside
from remit_governance.policy.risk import risk_of
from remit_governance.policy.rules import Condition, Subject


def compile_match(form: MatchForm, fold_case: bool, *, stops: bool = False) -> Condition:
    """A predicate that holds where every given key does. `syscall` is one of them: `except` is not indexed by it.

    `stops` is for rules that deny or ask: their commands are meant in every spelling.
    """
    given = [(key, values) for key, values in form if values is not None]
    conditions = tuple(
        _path(values, fold_case)
        if key == "path_glob"
        else _command(values, stops=stops)
        if key == "command"
        else CONDITIONS[key](values)
        for key, values in given
    )
    if len(conditions) == 1:
        return conditions[0]
    return lambda subject: all(condition(subject) for condition in conditions)


def _syscall(names: tuple[str, ...]) -> Condition:
    wanted = frozenset(names)
    return lambda subject: subject.action.syscall in wanted


def _path(globs: tuple[str, ...], fold_case: bool) -> Condition:
    matches = compile_globs(globs, fold_case)

    def condition(subject: Subject) -> bool:
        # Globs speak about the workspace; what is outside it is the built-in rule's business.
        path = subject.folded if fold_case else subject.path
        return path is not None and not outside(path) and matches(path)

    return condition


def _caller_tag(tags: tuple[str, ...]) -> Condition:
    wanted = frozenset(tags)
    return lambda subject: not wanted.isdisjoint(subject.action.caller_tags)


def _state(states: tuple[str, ...]) -> Condition:
    wanted = frozenset(states)
    return lambda subject: subject.action.state in wanted


def _mode(modes: tuple[str, ...]) -> Condition:
    wanted = frozenset(modes)
    return lambda subject: subject.action.mode in wanted


def _intent(intents: tuple[str, ...]) -> Condition:
    wanted = frozenset(intents)
    return lambda subject: subject.action.intent in wanted


def _tool(tools: tuple[str, ...]) -> Condition:
    wanted = frozenset(tools)
    return lambda subject: subject.action.tool in wanted


def _command(commands: tuple[str, ...], *, stops: bool) -> Condition:
    prefixes = tuple(command_prefix(command) for command in commands)
    means = resembles if stops else starts_with

    def condition(subject: Subject) -> bool:
        command = subject.action.command
        return command is not None and any(means(command, prefix) for prefix in prefixes)

    return condition


def _host(hosts: tuple[str, ...]) -> Condition:
    wanted = frozenset(host.lower() for host in hosts)
    return lambda subject: subject.action.host is not None and subject.action.host.lower() in wanted


def _risk(levels: tuple[str, ...]) -> Condition:
    wanted = frozenset(levels)
    return lambda subject: risk_of(subject.action) in wanted


CONDITIONS: Mapping[str, Callable[[tuple[str, ...]], Condition]] = MappingProxyType(
    {
        "syscall": _syscall,
        "caller_tag": _caller_tag,
        "state": _state,
        "mode": _mode,
        "intent": _intent,
        "tool": _tool,
        "host": _host,
        "risk": _risk,
    }
)
"""What makes a condition of a `match` key's values; `path_glob` and `command` need to know more."""
