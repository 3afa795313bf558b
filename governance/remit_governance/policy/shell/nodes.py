"""What the nodes of a command line's tree are, without what runs in them (governance.md §2)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from tree_sitter import Node

from remit_governance.policy.shell.here import FED
from remit_governance.policy.shell.programs import harmless_value
from remit_governance.policy.shell.words import Word, spelled


def assigned_names(root: Node) -> Iterator[str]:
    """The names that get a value somewhere, once for each place."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.type in {"variable_assignment", "for_statement"}:
            yield from map(spelled, node.children_by_field_name(_NAMED_BY[node.type]))
        elif node.type == "declaration_command":
            yield from re.findall(r"\w+", spelled(node)) * 2
        nodes.extend(node.named_children)


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
    return harmless_value(name, value) or (name == "IFS" and spelled(command) == "read")


def test_operands(node: Node) -> Iterator[Node]:
    """The words of a test, whatever the grammar takes them for."""
    for child in node.children:
        if child.type.endswith("_expression"):
            yield from test_operands(child)
        elif child.is_named or child.type in {"=", "!=", "=="}:
            yield child
