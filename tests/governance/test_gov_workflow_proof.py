"""What proves a failing and a passing run, and what does not."""

from __future__ import annotations

import pytest

from remit_governance.workflow.exemptions import DEFAULT_GLOBS, unfit_paths
from remit_governance.workflow.proof import (
    NotProven,
    Red,
    TestCase,
    TestFiles,
    TestRun,
    prove_green,
    prove_passing,
    prove_red,
)
from remit_governance.workflow.test_pieces import leaf_of

OLD = "def test_old():\n    assert add(1, 2) == 3\n"
NEW = OLD + "\n\ndef test_new():\n    assert add(1, 2, 3) == 6\n"
BEFORE = TestFiles({"tests/test_a.py": OLD})
NOW = TestFiles({"tests/test_a.py": NEW})
FAILED = TestCase("tests/test_a.py::test_new", "failed", by_assertion=True)
PASSED = TestCase("tests/test_a.py::test_old", "passed")


def red() -> Red:
    proven = prove_red(TestRun((FAILED, PASSED), whole=True), BEFORE, NOW)
    assert isinstance(proven, Red)
    return proven


def test_FLW_04_a_new_test_that_fails_by_an_assertion_is_red() -> None:
    assert red().proven == {"tests/test_a.py::test_new"}


@pytest.mark.parametrize(
    ("run", "before", "now", "why"),
    [
        (TestRun(()), BEFORE, NOW, "no test ran"),
        (TestRun((PASSED,)), BEFORE, NOW, "no test failed"),
        (TestRun((TestCase(FAILED.id, "skipped"), PASSED)), BEFORE, NOW, "no test failed"),
        (TestRun((TestCase(FAILED.id, "failed"),)), BEFORE, NOW, "by an assertion"),
        (TestRun((TestCase("tests/test_a.py", "error", by_assertion=True),)), BEFORE, NOW, "by an assertion"),
        (TestRun((FAILED,)), NOW, NOW, "neither new nor changed"),
        (TestRun((TestCase(PASSED.id, "failed", by_assertion=True),)), BEFORE, NOW, "neither new nor changed"),
        (TestRun((FAILED,), doubt="something rewrote the report"), BEFORE, NOW, "not believed"),
    ],
)
def test_FLW_04_what_is_no_proof_says_why(run: TestRun, before: TestFiles, now: TestFiles, why: str) -> None:
    said = prove_red(run, before, now)
    assert isinstance(said, NotProven)
    assert why in said.why


def test_FLW_04_a_comment_or_layout_makes_no_test_new() -> None:
    now = TestFiles({"tests/test_a.py": "# here\n" + OLD.replace("    assert", "\n    # why\n    assert")})
    old = TestCase(PASSED.id, "failed", by_assertion=True)
    assert isinstance(prove_red(TestRun((old,)), BEFORE, now), NotProven)


@pytest.mark.parametrize(
    ("path", "test_id", "old", "new"),
    [
        ("a.test.ts", "a.test.ts > sum > adds three", "it('adds', () => {\n  ok()\n})\n", "it('adds three', () => {\n  expect(1).toBe(2)\n})\n"),
        ("a_test.go", "m/p.TestThree", "func TestTwo(t *testing.T) {\n}\n", "func TestThree(t *testing.T) {\n\tt.Fatal()\n}\n"),
        ("tests/a.rs", "three", "#[test]\nfn two() {\n}\n", "#[test]\nfn three() {\n    assert!(false);\n}\n"),
        ("tests/test_c.py", "tests.test_c.Case.test_x", "", "class Case:\n    def test_x(self): assert 0\n"),
    ],
)  # fmt: skip
def test_FLW_04_a_new_test_is_found_in_each_language(path: str, test_id: str, old: str, new: str) -> None:
    run = TestRun((TestCase(test_id, "failed", by_assertion=True),))
    assert isinstance(prove_red(run, TestFiles({path: old}), TestFiles({path: old + new})), Red)
    assert isinstance(
        prove_red(run, TestFiles({path: old + new}), TestFiles({path: old + new + "\n// x\n"})), NotProven
    )


TABLE = "ROWS = [1]\n\n@parametrize('row', ROWS)\ndef test_row(row):\n    assert row < 2\n"
NESTED = "def check(n):\n    assert n < limit()\n\ndef limit():\n    return 2\n\ndef test_row():\n    check(1)\n"
CLASS = "class TestRow:\n    MOST = 2\n    def test_row(self):\n        assert 1 < self.MOST\n"
DATA = (
    "import json\nDATA = HERE / 'data/rows.json'\n\ndef test_row():\n    assert json.loads(DATA.read_text()) == [1]\n"
)


@pytest.mark.parametrize(
    ("text", "was", "becomes", "path"),
    [
        (TABLE, "[1]", "[1, 2]", "tests/test_a.py"),
        (NESTED, "return 2", "return 1", "tests/test_a.py"),
        (CLASS, "MOST = 2", "MOST = 1", "tests/test_a.py"),
        (DATA, "[1]", "[2]", "tests/data/rows.json"),
    ],
    ids=["a row of its table", "a helper of its helper", "a value of its class", "its file of data"],
)
def test_FLW_04_a_test_is_changed_where_what_it_is_made_of_is(text: str, was: str, becomes: str, path: str) -> None:
    other = "\n\ndef test_other():\n    assert False\n"
    before = {"tests/test_a.py": text + other, "tests/data/rows.json": "[1]"}
    now = {**before, path: before[path].replace(was, becomes)}
    row, rest = (
        TestCase(f"tests/test_a.py::{name}", "failed", by_assertion=True) for name in ("test_row", "test_other")
    )
    proven = prove_red(TestRun((row, rest)), TestFiles(before), TestFiles(now))
    assert isinstance(proven, Red)
    assert proven.proven == {row.id}


def test_FLW_04_a_test_below_a_condition_is_found() -> None:
    below = "import sys\nif sys.platform:\n    with quiet():\n        class TestAdd:\n            def test_new(self):\n                assert add(1) == 2\n"
    failed = TestCase("tests/test_a.py::TestAdd::test_new", "failed", by_assertion=True)
    assert isinstance(prove_red(TestRun((failed,)), BEFORE, TestFiles({"tests/test_a.py": below})), Red)


def test_FLW_04_data_that_a_test_does_not_name_makes_it_no_other() -> None:
    now = TestFiles({**BEFORE.texts, "tests/data/rows.json": "[2]"})
    old = TestCase(PASSED.id, "failed", by_assertion=True)
    assert isinstance(prove_red(TestRun((old,)), BEFORE, now), NotProven)


def test_FLW_04_a_changed_body_makes_a_test_of_javascript_changed() -> None:
    old = "it('adds', () => {\n  expect(1).toBe(1)\n})\nit('other', () => {\n  expect(1).toBe(1)\n})\n"
    new = old.replace("toBe(1)", "toBe(2)", 1)
    files = TestFiles({"a.test.js": old}), TestFiles({"a.test.js": new})
    adds = TestRun((TestCase("a.test.js > adds", "failed", by_assertion=True),))
    other = TestRun((TestCase("a.test.js > other", "failed", by_assertion=True),))
    assert isinstance(prove_red(adds, *files), Red)
    assert isinstance(prove_red(other, *files), NotProven)


@pytest.mark.parametrize(
    ("test_id", "leaf"),
    [
        ("tests/test_a.py::TestC::test_x[1-a.b]", "test_x"),
        ("a.test.ts > outer > adds two", "adds two"),
        ("example.com/m/p.TestX/sub case", "TestX"),
        ("module::tests::adds", "adds"),
        ("tests.test_a.Case.test_x", "test_x"),
    ],
)
def test_FLW_04_a_tests_own_name(test_id: str, leaf: str) -> None:
    assert leaf_of(test_id) == leaf


def test_FLW_04_green_is_all_tests_with_the_locked_ones_unchanged_and_passed() -> None:
    passed = TestRun((TestCase(FAILED.id, "passed"), PASSED), whole=True)
    assert prove_green(passed, red(), NOW) is None
    for run, now, why in [
        (TestRun(passed.cases), NOW, "a run of all tests"),
        (passed, BEFORE, "not as they were"),
        (passed, TestFiles({**NOW.texts, "tests/test_b.py": ""}), "not as they were"),
        (TestRun((PASSED,), whole=True), NOW, "have to pass"),
        (TestRun((TestCase(FAILED.id, "skipped"), PASSED), whole=True), NOW, "have to pass"),
        (
            TestRun((TestCase(FAILED.id, "passed"), TestCase(PASSED.id, "failed")), whole=True),
            NOW,
            "did not fail before",
        ),
        (TestRun(passed.cases, whole=True, doubt="stopped"), NOW, "not believed"),
    ]:
        said = prove_green(run, red(), now)
        assert said is not None
        assert why in said.why


def test_FLW_04_what_failed_before_may_fail_still() -> None:
    other = TestCase("tests/test_b.py::test_other", "failed", by_assertion=True)
    before = prove_red(TestRun((FAILED, PASSED, other), whole=True), BEFORE, NOW)
    assert isinstance(before, Red)
    assert prove_green(TestRun((TestCase(FAILED.id, "passed"), PASSED, other), whole=True), before, NOW) is None


def test_FLW_04_without_a_red_run_all_that_ran_has_to_pass() -> None:
    assert prove_passing(TestRun((PASSED,))) is None
    assert prove_passing(TestRun((PASSED, FAILED))) is not None


def test_FLW_05_an_exemption_is_for_paths_of_its_category_only() -> None:
    assert unfit_paths("documentation", ["docs/a.md", "LICENSE"], DEFAULT_GLOBS) == ()
    assert unfit_paths("documentation", ["docs/a.md", "src/a.py"], DEFAULT_GLOBS) == ("src/a.py",)
    assert unfit_paths("config_change", ["x.json/a.py", "a.toml"], DEFAULT_GLOBS) == ("x.json/a.py",)
