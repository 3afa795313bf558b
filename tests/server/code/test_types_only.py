"""Syntax trees tell edits that change only types from all other edits (FLW-09)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS
from rows import rows

from remit_server.tools.code.index.languages import LANGUAGES
from remit_server.tools.code.types_only.compare import READERS, WHY_NOT, cannot_compare, runs_otherwise

values = st.sampled_from(["1", "2", "'a'", "f(1)", "f(2)", "x.y", "not x", "[1, 2]", "x + 1"])
types = st.sampled_from(["", "int", "str | None", "list[int]", "dict[str, 'A']", "A.B"])
scripts = st.sampled_from(["1", "2", "'a'", "f(1)", "f(2)", "x.y", "!x", "[1, 2]", "x + 1", "`a ${x} b`"])
script_types = st.sampled_from(["", "number", "string | null", "Array<number>", "{ a: A }", "(a: A) => B", "typeof x"])
assertions = st.sampled_from(["", " as A", " satisfies B", " as const", "!"])


def python(value: str, given_type: str, returned: str, local: str) -> bytes:
    head = "from __future__ import annotations\nfrom typing import Any\n" if local else ""
    takes, gives = f"x: {given_type}" if given_type else "x", f" -> {returned}" if returned else ""
    kept = f"y: {local} = {value}" if local else f"y = {value}"
    return f"{head}def g({takes}){gives}:\n    {kept}\n    return y\n".encode()


def script(value: str, given_type: str, returned: str, asserted: str) -> bytes:
    head = "import type { A, B } from './types';\nexport interface C { a: A }\n" if asserted else ""
    takes, gives = f"x: {given_type}" if given_type else "x", f": {returned}" if returned else ""
    return f"{head}function g({takes}){gives} {{\n  const y = ({value}){asserted};\n  return y;\n}}\n".encode()


@given(values, values, st.tuples(types, types, types), st.tuples(types, types, types))
def test_FLW_09_in_python_a_changed_value_is_never_an_edit_of_types_alone(
    one: str, other: str, before: tuple[str, str, str], after: tuple[str, str, str]
) -> None:
    found = runs_otherwise("a.py", python(one, *before), python(other, *after))
    assert (found is None) == (one == other)


@given(
    scripts,
    scripts,
    st.tuples(script_types, script_types, st.just(" as A")),
    st.tuples(script_types, script_types, st.just(" satisfies B")),
    st.sampled_from(["a.ts", "a.tsx"]),
)
def test_FLW_09_in_typescript_a_changed_value_is_never_an_edit_of_types_alone(
    one: str, other: str, before: tuple[str, str, str], after: tuple[str, str, str], path: str
) -> None:
    found = runs_otherwise(path, script(one, *before), script(other, *after))
    assert (found is None) == (one == other)


TYPES = [
    ("a.ts", "const x = f(1);", "const x: Foo<Bar> = f<number>(1)!;"),
    (
        "a.ts",
        "class A { x = 1; m() {} }",
        "abstract class A<T> implements B { private readonly x: number = 1; m(): T {} }",
    ),
    ("a.ts", "b.c();", "(b as D).c(); declare const e: number;"),
    ("a.ts", "export {};", "export {}; export type T = string;"),
    ("a.ts", "function f(a) {}", "function f(a: number): void; function f(a?: string) {}"),
    ("a.tsx", "const a = <b c={d}>e</b>;", "const a: JSX.Element = <b c={d as string}>e</b>;"),
    ("a.py", "x = 1\n", "x: int = 1\ny: str\n"),
    (
        "a.py",
        "def f(): pass\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import B\ndef f() -> 'B': pass\n",
    ),
    ("a.py", "def f(): pass  # one\n", "def f():\n    pass\n"),
    ("a.py", "def f(x: int): pass\nf(1)\n", "def f(x: str): pass\nf(1)\n"),
    (
        "a.py",
        "class A:\n    def f(self, x): pass\nclass B(A): pass\nisinstance(1, A)\nA().f(1)\ndef g(x): pass\n",
        "class A:\n    def f(self, x: int): pass\nclass B(A): pass\nisinstance(1, A)\nA().f(1)\ndef g(x: A) -> B: pass\n",
    ),
    ("a.pyi", "x: int\n", "def y() -> str: ...\n"),
    ("a.d.ts", "export const a: number;", "export const b: string;"),
    ("a.test-d.ts", "expectType<number>(a());", "expectType<string>(b());"),
    ("a.tst.tsx", "expect(a).type.toBe<number>();", ""),
]
CODE = [
    ("a.ts", "class A { constructor(x: number) {} }", "class A { constructor(private x: number) {} }"),
    ("a.ts", "enum A { B }", "enum A { C }"),
    ("a.ts", "const a = `x ${1}`;", "const a = `x  ${1}`;"),
    ("a.ts", "for (;a;) {}", "for (a;;) {}"),
    ("a.ts", "[1,,2]", "[1,2]"),
    ("a.ts", "import { A } from 'a';", ""),
    ("a.ts", "@d class A { x: number }", "@d class A { x: string }"),
    ("a.ts", "const a = 1;", "const a = ;"),
    ("a.ts", "(a as B) ** 2", "(-a as B) ** 2"),
    ("a.tsx", "const a = <b>c</b>;", "const a = <b>c </b>;"),
    ("a.py", "@dataclass\nclass A:\n    x: int\n", "@dataclass\nclass A:\n    x: str\n"),
    ("a.py", "@route\ndef f(x: int): pass\n", "@route\ndef f(x: str): pass\n"),
    ("a.py", "def f(x): pass\n", "def f(x: print('a')): pass\n"),
    *(
        ("a.py", f"def f(x: int = 1): pass\n{reads}\n", f"def f(x: str = 1): pass\n{reads}\n")
        for reads in (
            "import typer\ntyper.run(f)",
            "import inspect\ninspect.signature(f)",
            "from inspect import signature as s\ns(f)",
            "f.__annotations__",
            "getattr(f, '__annotations__')",
            "other.register(f)",
            "other.register(key=f)",
            "routes = {'/': f}",
            "alias = f",
            "import typing\nfor each in globals().values(): typing.get_type_hints(each)",
        )
    ),
    (
        "a.py",
        "class A:\n    def __init__(self, x: int): pass\nbox.add(A)\n",
        "class A:\n    def __init__(self, x: str): pass\nbox.add(A)\n",
    ),
    ("a.py", "class A:\n    def f(self, x: int): run(self.f)\n", "class A:\n    def f(self, x: str): run(self.f)\n"),
    ("a.py", "def f():\n    def g(x: int): pass\n    return g\n", "def f():\n    def g(x: str): pass\n    return g\n"),
    ("a.py", "x: int = 1\nprint(__annotations__)\n", "x: str = 1\nprint(__annotations__)\n"),
    ("a.py", "def f(): x\n", "def f():\n    x: int\n    x\n"),
    ("a.py", "def f():\n    'one'\n", "def f():\n    'two'\n"),
    ("a.py", "List = 1\nprint(list())\n", "List = 1\nfrom typing import List as list\nprint(list())\n"),
    ("a.py", "TYPE_CHECKING = True\n", "TYPE_CHECKING = True\nif TYPE_CHECKING:\n    import os\n"),
    ("a.py", "x = (\n", "x = 1\n"),
    ("a.py", "", "x = " + "(" * 5000),
]


@rows(("path", "before", "after"), TYPES)
def test_FLW_09_types_and_their_declarations_are_left_out(path: str, before: str, after: str) -> None:
    assert runs_otherwise(path, before.encode(), after.encode()) is None
    assert runs_otherwise(path, after.encode(), before.encode()) is None


@rows(("path", "before", "after"), CODE)
def test_FLW_09_what_a_run_can_see_is_no_edit_of_types_alone(path: str, before: str, after: str) -> None:
    assert runs_otherwise(path, before.encode(), after.encode()) is not None
    assert runs_otherwise(path, after.encode(), before.encode()) is not None


def test_FLW_09_every_language_with_a_grammar_is_compared_or_refused_with_the_reason() -> None:
    assert set(READERS) | set(WHY_NOT) == set(LANGUAGES.values())
    assert cannot_compare("a.go") == SAYS.in_go_a_type_decides
    assert "`a.sh`" in str(cannot_compare("bin/a.sh"))
    assert runs_otherwise("a.py", None, b"x = 1\n") is not None
    assert runs_otherwise("a.py", b"x = 1\n", None) is not None
