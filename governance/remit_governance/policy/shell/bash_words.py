"""What of a command line only bash understands: where no bash runs it, it is refused by its name (CMD-07)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from remit_governance.policy.shell.here import without_here_documents
from remit_governance.policy.shell.parse import parsed
from remit_governance.policy.shell.words import spelled

_MOST_SHOWN = 30
_NODES = frozenset({"process_substitution", "herestring_redirect", "array", "ansi_c_string", "brace_expression"})
_TOKENS = frozenset({"[[", "&>", "&>>", "|&", "function", "((", ";&", ";;&", "+=", "select"})
_COMMANDS = frozenset(
    {
        *("source", "shopt", "declare", "typeset", "mapfile", "readarray", "pushd", "popd", "dirs", "let", "builtin"),
        *("compgen", "complete", "enable", "caller", "disown"),
    }
)
_OPTIONS = {("set", "pipefail"), ("echo", "-e"), ("echo", "-ne"), ("echo", "-en"), ("printf", "-v"), ("read", "-a")}
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_EXPANSION = re.compile(r"\$\{(?:!|\w+(?:[\^,/@]|:[^-+=?]))")


def bash_words(script: str) -> tuple[str, ...]:
    """Returns what in it other shells read otherwise or not at all, each once, as it is written. Never raises."""
    plain = without_here_documents(script)
    return tuple(dict.fromkeys(_words_in(parsed(script if plain is None else plain))))


def _words_in(root: Node) -> Iterator[str]:
    pending = [root]
    while pending:
        node = pending.pop()
        text = spelled(node)
        braces = node.type in {"concatenation", "word"} and _BRACES.search(_unquoted(node))
        if node.type in _NODES or braces or (node.type == "expansion" and _EXPANSION.match(text)):
            yield text[:_MOST_SHOWN]
        elif not node.is_named and node.type in _TOKENS:
            yield node.type
        elif node.type in {"command", "declaration_command"}:
            words = text.split()
            if words[0] in _COMMANDS:
                yield words[0]
            yield from (f"{name} {word}" for name, word in sorted(_OPTIONS) if words[0] == name and word in words[1:])
        pending += reversed(node.children)


def _unquoted(node: Node) -> str:
    return (
        "".join(spelled(child) for child in node.children if child.type == "word") if node.children else spelled(node)
    )
