"""Finds variables of the environment that a command line puts into its words, here-strings or here-documents: what it
prints may then be a secret.

A variable that the line itself has set before is its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from remit_governance.policy.shell.here import without_here_documents
from remit_governance.policy.shell.parse import parsed
from remit_governance.policy.shell.words import spelled

MOST_CHARACTERS = 4_000
_KNOWN = frozenset(
    {
        *("HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "PATH", "TERM", "LANG", "TMPDIR", "HOSTNAME", "EDITOR"),
        *("PAGER", "VIRTUAL_ENV", "CONDA_PREFIX", "GOPATH", "GOROOT", "CI", "PYTHONPATH", "RANDOM", "SECONDS", "UID"),
        *("EUID", "LINENO", "IFS", "OSTYPE", "MACHTYPE", "HOSTTYPE", "BASH_VERSION", "ZSH_VERSION", "COLUMNS", "LINES"),
        *("JAVA_HOME", "NODE_ENV", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "BASHPID", "PPID", "SHLVL", "DISPLAY"),
        *("PIPESTATUS", "BASH_SOURCE", "FUNCNAME", "OPTIND", "OPTARG", "REPLY", "VISUAL", "MANPATH", "TZ", "LC_ALL"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "WAYLAND_DISPLAY"),
    }
)
"""Variables that have no secret in them."""
_BODY = re.compile(r"<<-?[ \t]*(\w+)[^\n]*\n(.*?)^\t*\1$", re.DOTALL | re.MULTILINE)
_EXPANSION = re.compile(r"\$\{?([!#]?)([A-Za-z_]\w*)", re.ASCII)
_HELD_BY = frozenset({"variable_assignments", "declaration_command"})
_SEPARATE = frozenset({"command", "pipeline"})
"""What an assignment in one of these sets, nothing beside it sees."""


def shown_variable(script: str) -> str | None:
    """Returns a variable of the environment that a command line shows, or None. A line that is too long to be read is
    doubted anyway."""
    if "$" not in script:
        return None
    plain = without_here_documents(script)
    text = script if plain is None else plain
    if len(text) > MOST_CHARACTERS:
        return None
    root = parsed(text)
    sets = [*_assigned(root)]
    for node in _nodes(root):
        if node.type in {"simple_expansion", "expansion", "arithmetic_expansion"}:
            own = {name for name, begin, end in sets if begin <= node.start_byte < end}
            for name in _named(node):
                if name not in own | _KNOWN:
                    return name
    anywhere = {name for name, _, _ in sets}
    bodies = (found for body in _BODY.finditer(script) for found in _EXPANSION.finditer(body[2]))
    return next((found[2] for found in bodies if found[2] not in anywhere | _KNOWN), None)


def _nodes(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(node.named_children))
        yield node


def _named(node: Node) -> Iterator[str]:
    """Yields the names that an expansion looks up: none if it only counts."""
    text = spelled(node)
    if node.type == "arithmetic_expansion":
        yield from (spelled(each) for each in _nodes(node) if each.type == "variable_name")
    elif (found := _EXPANSION.match(text)) and found[1] != "#":
        # `${!NAME}` shows the variable whose name another one has.
        yield f"!{found[2]}" if found[1] == "!" and not text.endswith(("@}", "*}")) else found[2]


def _assigned(root: Node) -> Iterator[tuple[str, int, int]]:
    """Yields each name that the line gives a value, with the bytes between which that value is certain."""
    for node in _nodes(root):
        if node.type == "for_statement":
            for name in node.children_by_field_name("variable"):
                yield spelled(name), node.start_byte, node.end_byte
        elif node.type == "variable_assignment" and "+=" not in spelled(node).partition("=")[0] + "=":
            end = _certain_until(node)
            for name in node.children_by_field_name("name"):
                yield spelled(name).partition("[")[0], node.end_byte, end
        elif node.type == "command" and spelled(node).startswith("read "):
            for word in spelled(node).split()[1:]:
                yield word, node.end_byte, root.end_byte


def _certain_until(node: Node) -> int:
    """Returns where the statements end that run only after this assignment."""
    parent = node.parent
    while parent is not None and parent.type in _HELD_BY:
        parent = parent.parent
    if parent is None or parent.type in _SEPARATE:
        return node.end_byte
    if parent.type == "if_statement":
        clauses = (child.start_byte for child in parent.children if child.type in {"elif_clause", "else_clause"})
        return min(clauses, default=parent.end_byte)
    return parent.end_byte
