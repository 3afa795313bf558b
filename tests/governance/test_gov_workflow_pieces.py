"""The pieces that a test is made of: a change counts as one of exactly the tests that reach the changed piece
(FLW-04)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows
from work_done import calls_made_by

from remit_governance.workflow.proof.by_language import MOST_LOOKED_AT, loose_text_pieces, text_pieces
from remit_governance.workflow.proof.runs import (
    AgentChange,
    AgentWork,
    NotProven,
    Red,
    TestCase,
    TestFiles,
    TestRun,
    prove_red,
)

HELPERS, TESTS = 4, 3


@dataclass(frozen=True)
class File:
    """Helpers, each of which calls some later ones, and tests, each of which calls some helpers."""

    calls: tuple[frozenset[int], ...]
    values: tuple[int, ...]

    def reached_from(self, test: int) -> set[int]:
        """Returns the indexes of the pieces of a test, including its own, found in a second, obvious way."""
        reached, open_ = {test}, [test]
        while open_:
            more = self.calls[open_.pop()] - reached
            reached |= more
            open_ += more
        return reached


@st.composite
def files(draw: st.DrawFn) -> File:
    helpers = [frozenset(draw(st.sets(st.integers(n + 1, HELPERS - 1)))) if n + 1 < HELPERS else frozenset() for n in range(HELPERS)]  # fmt: skip
    tests = [frozenset(draw(st.sets(st.integers(0, HELPERS - 1)))) for _ in range(TESTS)]
    values = draw(st.lists(st.integers(0, 99), min_size=HELPERS + TESTS, max_size=HELPERS + TESTS))
    return File(tuple(helpers + tests), tuple(values))


def name(index: int) -> str:
    return f"help_{index}" if index < HELPERS else f"test_{index}"


def as_python(file: File) -> str:
    bodies = (
        [f"assert {file.values[n]} >= 0", *(f"{name(call)}()" for call in sorted(calls))] for n, calls in enumerate(file.calls)
    )  # fmt: skip
    return "\n\n".join(f"def {name(n)}():\n    " + "\n    ".join(body) + "\n" for n, body in enumerate(bodies))


def as_go(file: File) -> str:
    parts = ["package a\n"]
    for n, calls in enumerate(file.calls):
        head = f"func Test{n}(t *testing.T) {{" if n >= HELPERS else f"func {name(n)}() {{"
        parts.append("\n".join([head, f"\tcheck({file.values[n]})", *(f"\t{name(c)}()" for c in sorted(calls)), "}\n"]))
    return "\n".join(parts)


def as_javascript(file: File) -> str:
    parts: list[str] = []
    for n, calls in enumerate(file.calls):
        head, end = (f"test('{name(n)}', () => {{", "});\n") if n >= HELPERS else (f"function {name(n)}() {{", "}\n")
        parts.append("\n".join([head, f"  check({file.values[n]});", *(f"  {name(c)}();" for c in sorted(calls)), end]))
    return "\n".join(parts)


LANGUAGES: dict[str, tuple[str, Callable[[File], str], str]] = {
    "python": ("tests/test_a.py", as_python, "tests/test_a.py::test_{}"),
    "go": ("a_test.go", as_go, "example.org/m.Test{}"),
    "javascript": ("a.test.js", as_javascript, "a.test.js > test_{}"),
}


@pytest.mark.parametrize("language", LANGUAGES)
@given(files(), st.integers(0, HELPERS + TESTS - 1))
def test_FLW_04_a_change_is_one_of_the_tests_that_reach_it_and_of_no_other(
    language: str, file: File, changed: int
) -> None:
    path, write, test_id = LANGUAGES[language]
    other = File(file.calls, tuple(value + 100 * (n == changed) for n, value in enumerate(file.values)))
    before, now = TestFiles({path: write(file)}), TestFiles({path: write(other)})
    for test in range(HELPERS, HELPERS + TESTS):
        run = TestRun((TestCase(test_id.format(test), "failed", by_assertion=True),), whole=True)
        assert isinstance(prove_red(run, before, now), Red if changed in file.reached_from(test) else NotProven)
        assert isinstance(prove_red(run, now, now), NotProven), "what was changed back is as it was"


RSTEST = "#[rstest]\n#[case(1, 2)]\nfn doubles(#[case] a: i32, #[case] b: i32) {\n    assert_eq!(a * 2, b);\n}\n"
JS_EACH = "test.each([[1, 2]])('doubles %i', (a, b) => {\n  expect(a * 2).toBe(b)\n})\n"
GO_ROWS = (
    "package a\n\nfunc TestD(t *testing.T) {\n\tfor _, row := range []struct{ n, m int }{\n\t\t{1, 2},\n\t} {\n"
    '\t\tt.Run(fmt.Sprint(row.n), func(t *testing.T) {\n\t\t\tt.Error("no")\n\t\t})\n\t}\n}\n'
)
PYTEST_ROWS = (
    "import pytest\n\n@pytest.mark.parametrize(('a', 'b'), [(1, 2)])\ndef test_d(a, b):\n    assert a * 2 == b\n"
)
SUBTEST = "class C(TestCase):\n    def test_d(self):\n        for a, b in [(1, 2)]:\n            with self.subTest(a=a):\n                self.assertEqual(a * 2, b)\n"


MAKES = "from tests import attach\n\n\nclass TestMade(Base): ...\n\n\nattach(TestMade, 'marks{}')\n"
READS = "def test_read(example):\n    assert example('marks{}') == 1\n"
GLOBS = (
    "@pytest.mark.parametrize('file', sorted(DATA.glob('*.txt')), ids=str)\ndef test_all(file):\n    assert ok(file)\n"
)


@rows(
    ("test_id", "text"),
    [
        ("tests/test_a.py::TestMade::test_marks_002", MAKES.format(".txt")),
        ("tests/test_a.py::TestMade::test_marks_002", MAKES.format("")),
        ("tests.test_a.TestMade.test_marks_002", MAKES.format(".txt")),
        ("tests/test_a.py::test_read", READS.format("")),
        ("tests/test_a.py::test_all[marks.txt]", GLOBS),
        ("tests/test_a.py::test_all[data/marks.txt]", GLOBS),
        ("tests/test_a.py::test_all[strict-marks]", GLOBS),
    ],
)
def test_FLW_04_a_test_that_is_made_of_data_is_changed_by_that_data_and_by_no_other(test_id: str, text: str) -> None:
    def files(marks: str, other: str) -> TestFiles:
        return TestFiles({"tests/test_a.py": text, "tests/data/marks.txt": marks, "tests/data/other.txt": other})

    run = TestRun((TestCase(test_id, "failed", by_assertion=True),), whole=True)
    assert isinstance(prove_red(run, files("1", "1"), files("2", "1")), Red)
    assert isinstance(prove_red(run, files("1", "1"), files("1", "2")), NotProven)
    theirs = prove_red(run, files("2", "1"), files("2", "1"), AgentWork())
    assert isinstance(theirs, Red), "data that no agent wrote makes a test of the person's"
    of_agent = AgentWork((AgentChange("tests/data/marks.txt", "1", "2"),))
    if "Made" in test_id:
        assert isinstance(prove_red(run, files("2", "1"), files("2", "1"), of_agent), NotProven)


@rows(
    ("test_id", "path", "text"),
    [
        ("doubles::case_1", "tests/a.rs", RSTEST),
        ("doubles::case_1_named", "tests/a.rs", RSTEST),
        ("a.test.js > doubles 1", "a.test.js", JS_EACH),
        ("a.TestD/1", "a_test.go", GO_ROWS),
        ("test_a.py::test_d[1-3]", "test_a.py", PYTEST_ROWS),
        ("test_a.C.test_d (a=1)", "test_a.py", SUBTEST),
    ],
)
def test_FLW_04_a_changed_row_of_a_table_is_a_changed_test(test_id: str, path: str, text: str) -> None:
    run = TestRun((TestCase(test_id, "failed", by_assertion=True, file=path),), whole=True)
    now = text.replace("1, 2", "1, 3")
    assert isinstance(prove_red(run, TestFiles({path: text}), TestFiles({path: now})), Red)
    more = text + ("# x\n" if path.endswith(".py") else "// x\n")
    assert isinstance(prove_red(run, TestFiles({path: text}), TestFiles({path: more})), NotProven)


@pytest.mark.parametrize(
    "line", ["function f(a: number): string {", '  test("f", () => {', "fn f() {", "#[test]", 'func f() { f("x") }']
)
def test_FLW_04_a_test_in_a_file_that_repeats_itself_is_all_of_it(line: str) -> None:
    """Otherwise each line would be compared with each other one; instead the whole file counts as the test's piece."""
    text = "\n".join([*[line] * 5_000, 'test("f", () => {', "  f(1)", "})"])

    def look() -> None:
        for _ in (*text_pieces(text, "f", ("f",)), *loose_text_pieces(text, "f", named_by_table=True)):
            pass

    assert calls_made_by(look, in_c=True) < 10 * MOST_LOOKED_AT
    parts = [part for pieces, _ in loose_text_pieces(text, "f", named_by_table=True) for part in pieces]
    assert any("f(1)" in part for part in parts)
