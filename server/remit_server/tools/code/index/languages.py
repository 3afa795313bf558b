"""The languages of a map, by file suffix: for each a tree-sitter grammar, and which of its nodes define names and which
use them.

These are tables and a walk instead of tree-sitter's queries, because a query takes minutes on a hostile text and cannot
be stopped.

Also counts source files in languages that a map does not know, so that the map can say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from types import MappingProxyType

import tree_sitter_c
import tree_sitter_cpp
import tree_sitter_go
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_python
import tree_sitter_rust
import tree_sitter_typescript
from tree_sitter import Language

NAMES = frozenset(
    {"identifier", "type_identifier", "field_identifier", "property_identifier", "private_property_identifier"}
)
"""The kinds of node that are a name in any of the grammars."""

ANY = "*"

Paths = Mapping[str, tuple[tuple[str, ...], ...]]
"""For each kind of node, the ways from the node to a name. A way is the fields to follow, with `ANY` for each child; an
empty way leads to the node itself."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """Where names are defined, used by themselves, and used as a `member` of something.

    A node of a kind in `only` counts as a definition only if the field named there holds one of the kinds listed there.
    """

    language: Language
    defines: Paths
    uses: Paths
    members: Paths
    only: Mapping[str, tuple[str, frozenset[str]]] = field(default_factory=dict[str, tuple[str, frozenset[str]]])


def _named(*kinds: str) -> Paths:
    return dict.fromkeys(kinds, (("name",),))


_TYPE: Paths = {"type_identifier": ((),)}
_PYTHON: Paths = {
    "call": (("function",),),
    "import_from_statement": (("name", ANY), ("name", "name", ANY)),
}
_SCRIPT: Paths = {
    "call_expression": (("function",),),
    "new_expression": (("constructor",),),
    "import_specifier": (("name",),),
    "extends_clause": (("value",),),
    "class_heritage": ((ANY,),),
}
_IN_JAVASCRIPT = _named(
    "class_declaration",
    "function_declaration",
    "generator_function_declaration",
    "method_definition",
    "variable_declarator",
)
_IN_TYPESCRIPT: Paths = {
    **_IN_JAVASCRIPT,
    **_named(
        "abstract_class_declaration",
        "interface_declaration",
        "type_alias_declaration",
        "enum_declaration",
        "function_signature",
        "abstract_method_signature",
    ),
}
_FUNCTIONS = {"variable_declarator": ("value", frozenset({"arrow_function", "function_expression"}))}
_CALL: Paths = {"call_expression": (("function",),), **_TYPE}
_RUST: Paths = {
    "call_expression": (("function",), ("function", "name")),
    "macro_invocation": (("macro",),),
    **_TYPE,
}
_IN_RUST = _named(
    "struct_item",
    "enum_item",
    "union_item",
    "trait_item",
    "function_item",
    "function_signature_item",
    "type_item",
    "macro_definition",
)
_IN_JAVA = _named(
    "class_declaration",
    "interface_declaration",
    "enum_declaration",
    "record_declaration",
    "method_declaration",
    "constructor_declaration",
)
_IN_C: Paths = {
    "function_definition": (("declarator", "declarator"), ("declarator", "declarator", "declarator")),
    "type_definition": (("declarator",),),
    **_named("struct_specifier", "union_specifier", "enum_specifier"),
}
_WITH_BODY = {
    "struct_specifier": ("body", frozenset({"field_declaration_list"})),
    "union_specifier": ("body", frozenset({"field_declaration_list"})),
    "enum_specifier": ("body", frozenset({"enumerator_list"})),
}
_IN_CPP: Paths = {
    **_IN_C,
    **_named("class_specifier", "alias_declaration", "concept_definition"),
    "function_definition": (
        ("declarator", "declarator"),
        ("declarator", "declarator", "name"),
        ("declarator", "declarator", "name", "name"),
        ("declarator", ANY, "declarator"),
        ("declarator", ANY, "declarator", "name"),
        ("declarator", ANY, "declarator", "name", "name"),
    ),
    "field_declaration": (("declarator", "declarator"),),
}
_CPP_CALL: Paths = {"call_expression": (("function",), ("function", "name")), **_TYPE}
_IN_CPP_ONLY = {
    **_WITH_BODY,
    "class_specifier": ("body", frozenset({"field_declaration_list"})),
    "field_declaration": ("declarator", frozenset({"function_declarator"})),
}

_FIELD: Paths = {"call_expression": (("function", "field"),)}
_PROPERTY: Paths = {"call_expression": (("function", "property"),)}
_TYPED: Paths = {**_SCRIPT, **_TYPE}

_GRAMMARS: Mapping[str, Callable[[], Grammar]] = MappingProxyType(
    {
        "python": lambda: Grammar(
            Language(tree_sitter_python.language()),
            _named("class_definition", "function_definition"),
            _PYTHON,
            {"call": (("function", "attribute"),)},
        ),
        "javascript": lambda: Grammar(
            Language(tree_sitter_javascript.language()), _IN_JAVASCRIPT, _SCRIPT, _PROPERTY, _FUNCTIONS
        ),
        "typescript": lambda: Grammar(
            Language(tree_sitter_typescript.language_typescript()), _IN_TYPESCRIPT, _TYPED, _PROPERTY, _FUNCTIONS
        ),
        "tsx": lambda: Grammar(
            Language(tree_sitter_typescript.language_tsx()), _IN_TYPESCRIPT, _TYPED, _PROPERTY, _FUNCTIONS
        ),
        "go": lambda: Grammar(
            Language(tree_sitter_go.language()),
            _named("function_declaration", "method_declaration", "type_spec", "type_alias"),
            _CALL,
            _FIELD,
        ),
        "rust": lambda: Grammar(Language(tree_sitter_rust.language()), _IN_RUST, _RUST, _FIELD),
        "java": lambda: Grammar(
            Language(tree_sitter_java.language()), _IN_JAVA, _TYPE, {"method_invocation": (("name",),)}
        ),
        "c": lambda: Grammar(Language(tree_sitter_c.language()), _IN_C, _CALL, {}, _WITH_BODY),
        "cpp": lambda: Grammar(Language(tree_sitter_cpp.language()), _IN_CPP, _CPP_CALL, _FIELD, _IN_CPP_ONLY),
    }
)


@cache
def grammar_of(language: str) -> Grammar:
    """Returns the grammar of one of `LANGUAGES`, created when it is first needed."""
    return _GRAMMARS[language]()


def language_of(relative: str) -> str | None:
    """Returns the language of a file by its suffix, or None if the suffix is unknown."""
    return LANGUAGES.get(PurePosixPath(relative).suffix.lower())


FAMILIES: Mapping[str, str] = MappingProxyType(
    {"javascript": "scripts", "typescript": "scripts", "tsx": "scripts", "c": "c family", "cpp": "c family"}
)
"""Languages whose files use each other's names, with the name of their family."""

LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        ".py": "python",
        ".pyi": "python",
        ".js": "javascript",
        ".jsx": "javascript",
        ".cjs": "javascript",
        ".mjs": "javascript",
        ".ts": "typescript",
        ".cts": "typescript",
        ".mts": "typescript",
        ".tsx": "tsx",
        ".go": "go",
        ".rs": "rust",
        ".java": "java",
        ".c": "c",
        ".h": "c",
        **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp"), "cpp"),
    }
)


_ENDINGS = frozenset(
    {
        *(".cs", ".vb", ".fs", ".swift", ".m", ".mm", ".kt", ".kts"),
        *(".scala", ".groovy", ".clj", ".rb", ".php", ".pl", ".pm", ".lua", ".r", ".jl", ".hs", ".ml", ".mli", ".ex"),
        *(
            ".exs",
            ".erl",
            ".dart",
            ".zig",
            ".nim",
            ".pas",
            ".f90",
            ".sh",
            ".bash",
            ".ps1",
            ".sql",
            ".vue",
            ".svelte",
            ".vhd",
        ),
    }
)
_MOST_NAMED = 5


class UnknownLanguages:
    """Counts source files for which there is no grammar, by suffix."""

    def __init__(self) -> None:
        self._counted = Counter[str]()

    def count(self, relative: str, permits: Callable[[str, str], bool]) -> None:
        """Counts a file that is in none of `LANGUAGES`, if it is source code that may be read."""
        ending = PurePosixPath(relative).suffix.lower()
        if ending in _ENDINGS and permits("fs.read", relative):
            self._counted[ending] += 1

    def said(self) -> list[str]:
        """Returns a line for the summary that names the counted suffixes, or nothing."""
        named = [f"{ending} ({count})" for ending, count in self._counted.most_common(_MOST_NAMED)]
        more = ["…"] if len(self._counted) > _MOST_NAMED else []
        return (
            [f"not looked at, because Remit does not know their language: {', '.join(named + more)}"] if named else []
        )
