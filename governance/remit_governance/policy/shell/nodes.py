"""What the nodes of a command line's tree are, without what runs in them (CMD-01)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from tree_sitter import Node

from remit_governance.policy.shell.effects.judging import effect_of
from remit_governance.policy.shell.here import FED
from remit_governance.policy.shell.variables import harmless_value, runs_project
from remit_governance.policy.shell.words import Word, resolve, spelled


def assigned_names(root: Node) -> Iterator[str]:
    """The names that get a value somewhere, once for each place; where it is a number, `NAME number` as well."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.type in {"variable_assignment", "for_statement"}:
            names = [*map(spelled, node.children_by_field_name(_NAMED_BY[node.type]))]
            yield from names
            if node.type == "variable_assignment" and _is_number(node):
                yield from (f"{name} number" for name in names)
        elif node.type == "declaration_command":
            yield from re.findall(r"\w+", spelled(node)) * 2
        nodes.extend(node.named_children)


def _is_number(node: Node) -> bool:
    value = node.child_by_field_name("value")
    return value is not None and (spelled(value).isdigit() or resolve(value).vague == "number" or _is_sum(value))


def _is_sum(node: Node) -> bool:
    """Whether it is a sum: of numbers, where each of its names is one."""
    return node.type == "arithmetic_expansion"


def is_certain(node: Node) -> bool:
    """Whether an assignment is certainly made, here and in no shell of its own."""
    while True:
        parent, behind = node.parent, node.next_sibling
        if parent is None or (behind is not None and behind.type == "&"):
            return parent is None
        if parent.type == "list" and parent.children[0].id != node.id:
            return False
        if parent.type not in {"program", "list", "variable_assignments"}:
            return False
        node = parent


_TESTED = r"(?:\"?\$(?:\w+|\{\w+(?::?-[\w./-]*)?\})\"?|\"[\w./ -]*\"|'[\w./ -]*'|[\w./*-]+)"
_ONE_TEST = rf"(?:! )?(?:-[a-suw-zA-QS-Z] {_TESTED}|{_TESTED} (?:==?|!=) {_TESTED})"
_PLAIN_TEST = re.compile(rf"\[\[ {_ONE_TEST}(?: (?:&&|\|\|) (?:! )?-[a-suw-zA-QS-Z] {_TESTED})* \]\]", re.ASCII)


def is_plain_test(text: str) -> bool:
    """Whether what stands in double brackets only looks for files and compares text.

    A shell that does not know them looks for programs called `[[` and `-f`, and finds none.
    """
    return _PLAIN_TEST.fullmatch(text) is not None


_NAMED_BY = {"variable_assignment": "name", "for_statement": "variable"}


def strange(node: Node) -> str:
    """Why a node of this kind is not certain."""
    names = {
        "command_substitution": "the output of a command becomes part of another",
        "process_substitution": "a command stands in for a file",
        "function_definition": "it defines a function, which could stand in for a program",
        "simple_expansion": "a variable is known only when it runs",
        "expansion": "a variable is known only when it runs",
        "string": "a text is known only when it runs",
        "unset_command": "it unsets variables",
    }
    return names.get(node.type, f"`{node.type.replace('_', ' ')}` is not read here")


TAKE_NUMBERS = frozenset({"echo", "printf", "exit", "return", "test", "wait", "kill"})
"""What `$?` and `$!` are for: another number changes nothing about what these do."""


def feeds(redirect: Node) -> bool:
    """Whether a redirection gives text of the command line to be read."""
    return redirect.type in {"heredoc_redirect", "herestring_redirect"} or spelled(redirect).endswith(f"<{FED}")


def is_shell(body: Node) -> bool:
    """Whether a command is a shell, which would run what it reads."""
    return body.type == "command" and any(
        child.type == "command_name" and posixpath.basename(spelled(child)) in _SHELLS for child in body.named_children
    )


_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh"})


def chosen(word: Word) -> list[Word]:
    """The words that some shells make of this one."""
    return [Word(choice, word.pattern) for choice in word.choices] or [word]


RESERVED = frozenset(
    {
        *("if", "then", "elif", "else", "fi", "while", "until", "for", "do", "done", "case", "esac", "select"),
        *("function", "{", "}", "!"),
    }
)
"""Words that no program is called by, unless they are quoted."""


def harmless_there(node: Node, name: str, value: str) -> bool:
    """Whether an assignment before a command does no harm to that one: `PAGER=cat git log`, `IFS= read -r line`."""
    command = node.parent.child_by_field_name("name") if node.parent and node.parent.type == "command" else None
    if command is None or "+=" in spelled(node):
        return False
    if runs_project(name, value):
        words = [spelled(child) for child in _command_of(command) if child.type != "variable_assignment"]
        return effect_of(tuple(words)) == "runs"
    return harmless_value(name, value) or (name == "IFS" and spelled(command) == "read")


def _command_of(name: Node) -> list[Node]:
    return name.parent.named_children if name.parent is not None else []


def test_operands(node: Node) -> Iterator[Node]:
    """The words of a test, whatever the grammar takes them for."""
    nodes = [*reversed(node.children)]
    while nodes:
        child = nodes.pop()
        if child.type.endswith("_expression"):
            nodes.extend(reversed(child.children))
        elif child.is_named or child.type in {"=", "!=", "=="}:
            yield child
