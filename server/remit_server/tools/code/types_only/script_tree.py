"""A TypeScript module without types, by tree-sitter (FLW-09).

The compiler erases types, but decorators may read them, so nothing is left out of a file with a decorator.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node, Parser

from remit_server.tools.code.index.languages import grammar_of
from remit_server.workspace.trees.walk import Limits

MAX_SECONDS = 2.0

_ERASED = frozenset(
    {
        "type_annotation",
        "type_arguments",
        "type_parameters",
        "asserts_annotation",
        "type_predicate_annotation",
        "implements_clause",
        "interface_declaration",
        "type_alias_declaration",
        "ambient_declaration",
        "function_signature",
        "method_signature",
        "abstract_method_signature",
        "index_signature",
        "override_modifier",
    }
)
"""Kinds of node that the compiler removes."""
_UNWRAPPED = frozenset({"as_expression", "satisfies_expression", "non_null_expression", "instantiation_expression"})
"""Kinds of node of which only the first child is left."""
_PRIMARY = frozenset({"identifier", "this", "member_expression", "subscript_expression", "call_expression"})
"""Kinds of node that need no parentheses, whatever is beside them."""
_RENAMED = {
    "optional_parameter": "required_parameter",
    "abstract_class_declaration": "class_declaration",
}
_MODIFIERS = frozenset({"accessibility_modifier", "readonly", "abstract", "?", "!"})
"""The type-only parts of a class member. In a constructor's parameters the same words define fields, so they stay."""
_WHOLE = frozenset({"string", "template_string", "regex", "jsx_text"})
"""Kinds of node whose whole text is compared."""


def without_types(source: bytes, language: str) -> object:
    """Returns a value that is equal for two modules that differ in types alone. Raises ValueError and TimeoutError."""
    limits = Limits(seconds=MAX_SECONDS)
    parser = Parser(grammar_of(language).language)

    def read(offset: int, _: object) -> bytes:
        return source[offset : offset + 65_536]

    tree = parser.parse(read, progress_callback=lambda _offset, _error: limits.spent())
    if tree.root_node.has_error:
        raise ValueError("the text has errors")
    erases = b"@" not in source or not _has_decorator(tree.root_node)
    return list(_tokens(tree.root_node, source, erases=erases))


def _has_decorator(node: Node) -> bool:
    return node.type == "decorator" or any(map(_has_decorator, node.named_children))


def _tokens(node: Node, source: bytes, *, erases: bool, field: str | None = None) -> Iterator[str]:
    """Yields the tree as words, with the text between its children. Comments other than `@jsx` pragmas, and semicolons,
    are left out.
    """
    kind = node.type
    if kind == ";" or (kind == "comment" and b"@jsx" not in (node.text or b"")):
        return
    if erases and (kind in _ERASED or _is_type_import(node)):
        return
    if erases and (inner := _asserted(node)) is not None:
        yield from _tokens(inner, source, erases=erases, field=field)
        return
    name = _RENAMED.get(kind, kind) if erases else kind
    yield f"{field or ''}({name}"
    if not node.child_count or kind in _WHOLE:
        yield (node.text or b"").decode(errors="surrogateescape")
    else:
        yield from _children(node, source, erases=erases)
    yield ")"


def _children(node: Node, source: bytes, *, erases: bool) -> Iterator[str]:
    at = node.start_byte
    for number, child in enumerate(node.children):
        if between := source[at : child.start_byte].strip():
            yield between.decode(errors="surrogateescape")
        at = child.end_byte
        if not (erases and _is_of_types(node, child)):
            yield from _tokens(child, source, erases=erases, field=node.field_name_for_child(number))
    if between := source[at : node.end_byte].strip():
        yield between.decode(errors="surrogateescape")


def _asserted(node: Node) -> Node | None:
    """Returns the expression inside a type assertion, without parentheses that only the assertion needed; else None."""
    if node.type in _UNWRAPPED:
        return node.children[0]
    if node.type == "type_assertion":
        return node.named_children[-1]
    if node.type != "parenthesized_expression" or len(node.named_children) != 1:
        return None
    inner = _asserted(node.named_children[0])
    return inner if inner is not None and inner.type in _PRIMARY else None


def _is_of_types(parent: Node, child: Node) -> bool:
    match parent.type:
        case "public_field_definition" | "method_definition":
            return child.type in _MODIFIERS
        case "optional_parameter":
            return child.type == "?"
        case "variable_declarator":
            return child.type == "!"
        case "abstract_class_declaration":
            return child.type == "abstract"
        case _:
            return False


def _is_type_import(node: Node) -> bool:
    """Returns whether the node is an `import type`, an `export` of a type, or a heritage clause with only
    `implements`."""
    if node.type == "class_heritage":
        return all(child.type in _ERASED for child in node.named_children)
    if node.type not in {"import_statement", "export_statement"}:
        return False
    if any(child.type == "type" for child in node.children):
        return True
    declaration = node.child_by_field_name("declaration")
    return declaration is not None and declaration.type in _ERASED
