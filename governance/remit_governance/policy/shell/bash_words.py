"""Finds the parts of a command line that only bash understands. If no bash would run the line, it is refused with these
parts named (CMD-07)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from remit_governance.policy.shell.here import without_here_documents
from remit_governance.policy.shell.parse import MOST_CHARACTERS, MOST_PARSED, parsed
from remit_governance.policy.shell.words import spelled
from remit_governance.secrets.cutting import shorten

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
    """Returns the words of a script that other shells are known to read differently or not at all, each once, as
    written. Never raises. For a line that is too long to be read there are none; that line has a doubt anyway (CMD-06).
    """
    plain = without_here_documents(script) if len(script) <= MOST_CHARACTERS else None
    text = script if plain is None else plain
    return tuple(dict.fromkeys(_words_in(parsed(text)))) if len(text) <= MOST_PARSED else ()


def _words_in(root: Node) -> Iterator[str]:
    pending = [root]
    while pending:
        node = pending.pop()
        text = spelled(node)
        braces = node.type in {"concatenation", "word"} and _BRACES.search(_unquoted(node))
        if node.type in _NODES or braces or (node.type == "expansion" and _EXPANSION.match(text)):
            yield shorten(text, _MOST_SHOWN)
        elif not node.is_named and node.type in _TOKENS:
            yield node.type
        elif node.type in {"command", "declaration_command"}:
            words = text.split() or [""]  # a command of an incomplete line may have no words
            if words[0] in _COMMANDS:
                yield words[0]
            yield from (f"{name} {word}" for name, word in sorted(_OPTIONS) if words[0] == name and word in words[1:])
        pending += reversed(node.children)


def _unquoted(node: Node) -> str:
    return (
        "".join(spelled(child) for child in node.children if child.type == "word") if node.children else spelled(node)
    )
