"""Tells whether a test runs what the text of its file says, because code that tests import could replace it (FLW-04).

Of Remit only the files beside this one are in the sandbox, so this module imports only them and the standard library,
and works with any Python 3.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import os
import re
import sysconfig
import tokenize
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

MOST_REACHED = 500
CODINGS = re.compile(
    r"(?:utf-?8(?:-sig)?|ascii|us-ascii|latin-?1|iso-?8859-\d+|(?:cp|windows-)\d+|koi8-[rtu]|gbk|gb2312|gb18030|big5|"
    r"euc-\w+|shift[-_]?jis\w*)"
)
"""The encodings that a file of tests may have. A review shows the file's text, so no codec written by the project may
give it another meaning."""
_INSTALLED = tuple(
    os.path.realpath(path) + os.sep
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)

_FUNCTIONS: tuple[type[Any], ...] = (
    *(FunctionType, MethodType, staticmethod, classmethod, property),
    *(functools.partial, functools.partialmethod),
)
# Bound now, because code that tests import could replace it.
_detect = tokenize.detect_encoding
_NOTHING_KEPT = (str, bytes, int, float, type(None), type, ModuleType)
Rewrite = Callable[[ast.Module, bytes, str], None]


class Origins:
    """The code that files of tests compile to, in each way they may have been compiled: unchanged, and after
    `rewrite`."""

    def __init__(self, rewrite: Rewrite | None = None) -> None:
        self.rewrite = rewrite
        self.known: dict[str, tuple[CodeType, ...]] = {}

    def judge(self, file: str, names: Sequence[str], function: Any) -> tuple[bool, str]:
        """Returns whether a test of this file, found by these names, runs what a file says; and the file that it comes
        from, if that is another one.
        """
        if not self.compiled(file):
            return not file.endswith(".py"), ""
        reached = tuple(reach(function))
        wanted = [code for module in self.compiled(file) for code in _named(module, names)]
        if wanted:
            return any(code == each for code in reached for each in wanted), ""
        if not reached or any(self.is_of(code, file) for code in reached):
            return True, ""
        # The code is inherited, imported, or made by an installed package, and in the last case no file need contain
        # it.
        other = os.path.realpath(reached[0].co_filename)
        if not Path(other).is_file() or is_installed(other):
            return True, ""
        return self.is_of(reached[0], other), other

    def is_of(self, code: CodeType, file: str) -> bool:
        """Returns whether the file contains this code anywhere."""
        return any(code == each for module in self.compiled(file) for each in _within(module))

    def compiled(self, file: str) -> tuple[CodeType, ...]:
        """Returns the file's code, once for each way of compiling; empty if the file is no Python text."""
        if file not in self.known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python gave these warnings when it loaded the file
                self.known[file] = tuple(self.compile(file))
        return self.known[file]

    def compile(self, file: str) -> Iterator[CodeType]:
        """Compiles the file as pytest does, without the compiler flags of this module."""
        try:
            text = Path(file).read_bytes()
            coding = _detect(io.BytesIO(text).readline)[0].lower().replace("_", "-")
            if CODINGS.fullmatch(coding) is None:
                return
            yield compile(text, file, "exec", dont_inherit=True)
            if self.rewrite is not None:
                tree: Any = compile(text, file, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
                self.rewrite(tree, text, file)
                yield compile(tree, file, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError, RecursionError):
            return


def is_installed(file: str) -> bool:
    """Returns whether the file belongs to the standard library or an installed package."""
    return file.startswith(_INSTALLED) or not {"site-packages", "dist-packages"}.isdisjoint(file.split("/"))


def _named(code: CodeType, names: Sequence[str]) -> Iterator[CodeType]:
    """Yields the code that a module or class defines under these names: the last is the name itself, those before it
    are classes."""
    for each in _defined(code):
        if each.co_name == names[0] and len(names) == 1:
            yield each
        elif each.co_name == names[0]:
            yield from _named(each, names[1:])


def _defined(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType) and each.co_name.startswith("<generic parameters"):
            yield from _defined(each)
        elif isinstance(each, CodeType):
            yield each


def names_in(code: CodeType) -> Iterator[str]:
    """Yields the names that code uses: of attributes, globals and imports."""
    for each in (code, *_within(code)):
        yield from each.co_names


def _within(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _within(each)


def reach(value: Any) -> Iterator[CodeType]:
    """Yields the code of a function and of the functions that it wraps, as far as decorators keep them, and nothing
    else."""
    pending: list[Any] = [value]
    seen = {id(value)}
    while pending and len(seen) < MOST_REACHED:
        here = pending.pop(0)
        code = getattr(here, "__code__", None) if isinstance(here, _FUNCTIONS) else None
        if isinstance(code, CodeType):
            yield code
        new = [each for each in _kept_by(here) if id(each) not in seen and not isinstance(each, _NOTHING_KEPT)]
        seen.update(map(id, new))
        pending += new


def _kept_by(value: Any) -> Iterator[Any]:
    if type(value) in (tuple, list):
        yield from value
        return
    if isinstance(value, _FUNCTIONS):
        for name in ("__func__", "__wrapped__", "fget", "func", "__defaults__"):
            yield getattr(value, name, None)
        for cell in getattr(value, "__closure__", None) or ():
            with contextlib.suppress(ValueError):  # the cell is empty
                yield cell.cell_contents
        yield from _values(getattr(value, "__kwdefaults__", None))
    # Read only the stored attributes of other values, because asking for an attribute could run their code.
    with contextlib.suppress(AttributeError):
        yield from _values(object.__getattribute__(value, "__dict__"))


def _values(kept: Any) -> tuple[Any, ...]:
    return tuple(cast("dict[str, Any]", kept).values()) if type(kept) is dict else ()
