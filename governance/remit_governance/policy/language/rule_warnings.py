"""Warnings about rules that are well-formed but can never do what they seem to do (POL-05)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from remit_governance.errors import Problem
from remit_governance.policy.language.document import Document, Place
from remit_governance.policy.language.policy_form import MatchForm, PolicyForm, RuleForm
from remit_governance.values import CALLER_TAGS, SYSCALLS


def warnings_of(document: Document, form: PolicyForm) -> Iterator[Problem]:
    """Yields what a person should know about these rules. The policy can be used in spite of these warnings."""
    for i, rule in enumerate(form.capabilities):
        place: Place = ("capabilities", i)
        yield from _odd_values(document, rule.name, rule.match, (*place, "match"))
        for n, item in enumerate(rule.except_):
            yield from _odd_values(document, rule.name, item, (*place, "except", n))
            if item.same(rule.match) or not item.given():
                yield document.problem(
                    (*place, "except", n),
                    f"`{rule.name}` can never apply: its `except` is the same as its `match`",
                    "narrow the except",
                )
        yield from _odd_rule(document, rule, place)


def _odd_rule(document: Document, rule: RuleForm, place: Place) -> Iterator[Problem]:
    if rule.action == "allow" and not rule.match.given():
        yield document.problem((*place, "match"), f"`{rule.name}` allows everything", "say what it allows")
    if rule.action != "allow" and "constraints" in rule.model_fields_set:
        yield document.problem(
            (*place, "constraints"),
            f"`{rule.name}` does not allow anything that its constraints could limit",
            "remove the constraints",
        )


def _odd_values(document: Document, name: str, form: MatchForm, place: Place) -> Iterator[Problem]:
    yield from _misspellings(document, name, form.syscall or (), (*place, "syscall"))
    yield from _unknown_tags(document, name, form.caller_tag or (), (*place, "caller_tag"))
    for key, values in form.given().items():
        if not values:
            yield document.problem(
                (*place, key), f"`{name}` can never match: its `{key}` is empty", f"give `{key}` a value"
            )
        elif key == "path_glob" and all(str(glob).startswith("!") for glob in values):
            yield document.problem(
                (*place, key), f"`{name}` can never match: its `{key}` only excludes", "add what it includes"
            )


def _misspellings(document: Document, name: str, syscalls: tuple[str, ...], place: Place) -> Iterator[Problem]:
    """Yields a warning for each unknown syscall that resembles a known one. Other unknown syscalls get none, because
    another version may know them."""
    whole = len(syscalls) == 1 and "except" not in place
    where = f"`{name}` can never match" if whole else f"a value of `{name}` never matches"
    for i, syscall in enumerate(syscalls):
        if syscall not in SYSCALLS and (near := difflib.get_close_matches(syscall, SYSCALLS, n=1, cutoff=0.75)):
            fix = f"did you mean `{near[0]}`"
            yield document.problem((*place, i), f"{where}: no action has the syscall `{syscall}`", fix)


def _unknown_tags(document: Document, name: str, tags: tuple[str, ...], place: Place) -> Iterator[Problem]:
    """Yields a warning for each tag that no caller is ever given."""
    for i, tag in enumerate(tags):
        if tag not in CALLER_TAGS:
            fix = f"use one of: {', '.join(CALLER_TAGS)}"
            yield document.problem(
                (*place, i), f"a value of `{name}` never matches: no caller has the tag `{tag}`", fix
            )
