"""A Python module without types, by `ast` (FLW-09).

Annotations are left out where no run of the code reads them. They stay in a class's body, because dataclasses and the
like read them; on a decorated function, because its decorator may; on a function that is passed as a value
(`typer.run(main)`); in a module that reads annotations itself; and where an annotation would call something.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

_TYPING = frozenset({"typing", "typing_extensions", "collections.abc"})
_INERT = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.BinOp,
    ast.BitOr,
    ast.Load,
)
_LOOKS = frozenset(
    {
        "__annotations__",
        "__annotate__",
        "__signature__",
        "__dict__",
        "annotationlib",
        "get_annotations",
        "get_type_hints",
        "getfullargspec",
        "getmembers",
        "inspect",
        "signature",
        "globals",
        "locals",
        "vars",
        "eval",
        "exec",
    }
)
"""Names in modules that read annotations, or that reach functions in ways that cannot be followed."""
_ASKS_ITS_KIND = frozenset({"isinstance", "issubclass"})


def without_types(source: bytes) -> object:
    """Returns a value that is equal for two modules that differ in types alone. Raises SyntaxError and ValueError."""
    tree = ast.parse(source)
    looks = any(name in _LOOKS for node in ast.walk(tree) for name in _words(node))
    stripper = _Stripper(guarded=not _binds(tree, "TYPE_CHECKING"), looks=looks, handed=_handed_over(tree))
    stripped = cast("ast.Module", stripper.visit(tree))
    used = {node.id for node in ast.walk(stripped) if isinstance(node, ast.Name)}
    used |= {name for node in ast.walk(stripped) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    kept = [node for node in stripped.body if not _is_unused_import(node, used, postponed=not stripper.kept)]
    return ast.dump(ast.Module(kept, []))


class _Stripper(ast.NodeTransformer):
    """Removes annotations. `kept` says that an annotation was left in, which a run of the code may read.

    `looks` says that the module reads annotations; `handed` are the names that the module passes to code that may read
    them.
    """

    def __init__(self, *, guarded: bool, looks: bool, handed: frozenset[str]) -> None:
        self.guarded, self.kept, self.in_class, self.in_function = guarded, False, False, False
        self.looks, self.handed, self.held = looks, handed, False

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        before, self.held = self.held, self.held or node.name in self.handed
        visited = self._within(node, in_class=True, in_function=False)
        self.held = before
        return visited

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._within(node, in_class=False, in_function=True)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        checks = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        imports = all(isinstance(each, ast.Import | ast.ImportFrom) for each in node.body)
        if self.guarded and checks and imports and not node.orelse:
            return None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if self.in_class or self.looks or not _is_inert(node.annotation):
            self.kept = True
            return self.generic_visit(node)
        if node.value is not None:
            return self.generic_visit(ast.Assign([node.target], node.value, None))
        if self.in_function or not isinstance(node.target, ast.Name):
            # Without a value the statement still makes the name local.
            node.annotation = ast.Constant(None)
            return self.generic_visit(node)
        return None

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for each in named:
            if each is not None and each.annotation is not None:
                each.type_comment = None
                each.annotation = self._left(each.annotation, node)
        node.returns = None if node.returns is None else self._left(node.returns, node)
        return self._within(node, in_class=False, in_function=True)

    def _left(self, annotation: ast.expr, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
        read = self.looks or self.held or node.name in self.handed or bool(node.decorator_list)
        if read or not _is_inert(annotation):
            self.kept = True
            return annotation
        return None

    def _within(self, node: ast.AST, *, in_class: bool, in_function: bool) -> ast.AST:
        before = self.in_class, self.in_function
        self.in_class, self.in_function = in_class, in_function
        visited = self.generic_visit(node)
        self.in_class, self.in_function = before
        return visited


def _words(node: ast.AST) -> Iterator[str]:
    """Yields the names in a node, strings included, because a string may name an attribute."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            yield name
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names):
            yield from (module or "", *(alias.name for alias in names))
        case _:
            pass


def _handed_over(tree: ast.Module) -> frozenset[str]:
    """Returns the names that a module uses as values, except where it only calls them or asks for their type."""
    only_used = {id(each) for node in ast.walk(tree) for each in _uses(node)}
    found = (node for node in ast.walk(tree) if id(node) not in only_used)
    return frozenset(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in found
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
    )


def _uses(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes below `node` that name a function or class without passing it on as a value."""
    match node:
        case ast.Call(func=ast.Name(id=name) as func, args=arguments) if name in _ASKS_ITS_KIND:
            yield func
            yield from (each for argument in arguments for each in ast.walk(argument))
        case ast.Call(func=func):
            yield func
        case ast.Attribute(value=value):
            yield value
        case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
            yield from ast.walk(annotation)
        case ast.ClassDef(bases=bases, decorator_list=decorators):
            yield from (*bases, *decorators)
        case (
            ast.FunctionDef(returns=returns, decorator_list=decorators)
            | ast.AsyncFunctionDef(returns=returns, decorator_list=decorators)
        ):
            yield from (*decorators, *(() if returns is None else ast.walk(returns)))
        case ast.ExceptHandler(type=ast.expr() as kind):
            yield from ast.walk(kind)
        case ast.MatchClass(cls=kind):
            yield kind
        case _:
            pass


def _is_inert(annotation: ast.expr) -> bool:
    """Returns whether evaluating the annotation only looks names up."""
    return all(isinstance(node, _INERT) for node in ast.walk(annotation))


def _binds(tree: ast.Module, name: str) -> bool:
    """Returns whether a name means something else in the module than in `typing`."""
    imported = any(
        isinstance(node, ast.ImportFrom)
        and node.module in _TYPING
        and any(alias.name == name and alias.asname is None for alias in node.names)
        for node in tree.body
    )
    bound = any(
        (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.alias) and node.asname == name)
        or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name)
        for node in ast.walk(tree)
    )
    return bound or not imported


def _is_unused_import(node: ast.stmt, used: set[str], *, postponed: bool) -> bool:
    """Returns whether an import only imports names of `typing` that nothing but types uses.

    `postponed`: nothing reads annotations, so it does not matter whether they are evaluated.
    """
    if not isinstance(node, ast.ImportFrom) or node.level:
        return False
    names = {alias.asname or alias.name for alias in node.names}
    if node.module == "__future__":
        return names == {"annotations"} and postponed
    return node.module in _TYPING and "*" not in names and not names & used
