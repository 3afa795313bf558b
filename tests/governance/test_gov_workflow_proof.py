"""What counts as a failing and as a passing run of tests, and what does not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from messages import SAYS
from rows import rows

from remit_governance.workflow.proof.pieces import leaf_of
from remit_governance.workflow.proof.runs import (
    AgentChange,
    AgentWork,
    NotProven,
    Red,
    TestCase,
    TestFiles,
    TestRun,
    prove_green,
    prove_passing,
    prove_red,
)
from remit_governance.workflow.test_files import (
    DEFAULT_GLOBS,
    RUNNER_CONFIG_GLOBS,
    RUNNER_PROGRAM_GLOBS,
    TEST_GLOBS,
    data_of_tests,
    unfit_paths,
)

OLD = "def test_old():\n    assert add(1, 2) == 3\n"
NEW = OLD + "\n\ndef test_new():\n    assert add(1, 2, 3) == 6\n"
BEFORE = TestFiles({"tests/test_a.py": OLD})
NOW = TestFiles({"tests/test_a.py": NEW})
FAILED = TestCase("tests/test_a.py::test_new", "failed", by_assertion=True)
UNKNOWN = AgentWork(doubt="nothing of it is saved")
SHARED = AgentWork((AgentChange("tests/conftest.py", "", ""),))
PASSED = TestCase("tests/test_a.py::test_old", "passed")


def red() -> Red:
    proven = prove_red(TestRun((FAILED, PASSED), whole=True), BEFORE, NOW)
    assert isinstance(proven, Red)
    return proven


def test_FLW_04_a_new_test_that_fails_by_an_assertion_is_red() -> None:
    assert red().proven == {"tests/test_a.py::test_new"}


@rows(
    ("run", "before", "now", "why"),
    [
        (TestRun((), whole=True), BEFORE, NOW, "no test ran"),
        (TestRun((PASSED,), whole=True), BEFORE, NOW, "no test failed"),
        (TestRun((TestCase(FAILED.id, "skipped"), PASSED), whole=True), BEFORE, NOW, "no test failed"),
        (TestRun((TestCase(FAILED.id, "failed"),), whole=True), BEFORE, NOW, "by an assertion"),
        (
            TestRun((TestCase("tests/test_a.py", "error", by_assertion=True),), whole=True),
            BEFORE,
            NOW,
            "by an assertion",
        ),
        (TestRun((FAILED,), whole=True), NOW, NOW, "neither new nor changed"),
        (
            TestRun((TestCase(PASSED.id, "failed", by_assertion=True),), whole=True),
            BEFORE,
            NOW,
            "neither new nor changed",
        ),
        (TestRun((FAILED,)), BEFORE, NOW, "only a run of all tests counts"),
        (TestRun((FAILED,), doubt="something rewrote the report"), BEFORE, NOW, "not trusted"),
    ],
)
def test_FLW_04_what_is_no_proof_says_why(run: TestRun, before: TestFiles, now: TestFiles, why: str) -> None:
    said = prove_red(run, before, now)
    assert isinstance(said, NotProven)
    assert why in said.why


@rows(
    ("conftest", "work", "is_red"),
    [
        ("import pytest\nimport pytest_asyncio\n\n@pytest.fixture\ndef shop(): return {}\n", SHARED, True),
        ("def pytest_runtest_makereport(): ...\n", SHARED, False),
        ("def pytest_runtest_makereport(): ...\n", AgentWork(), True),
        ("pytest_plugins = ['p']\n", UNKNOWN, False),
        ("from forge import *\n", UNKNOWN, False),
        ("from forge import f as pytest_runtest_call\n", UNKNOWN, False),
        ("globals()['py' + 'test_runtest_call'] = print\n", UNKNOWN, False),
        ("def shop(request): request.config.pluginmanager.register(1)\n", UNKNOWN, False),
        ("def (:\n", UNKNOWN, False),
    ],
)  # fmt: skip
def test_THR_workflow_a_conftest_of_the_session_holds_fixtures_alone(
    conftest: str, work: AgentWork, is_red: bool
) -> None:
    now = TestFiles({**NOW.texts, "tests/conftest.py": conftest})
    assert isinstance(prove_red(TestRun((FAILED,), whole=True), BEFORE, now, work), Red) == is_red


OF_PERSON = "from help import rows\n\ndef test_theirs():\n    assert rows() == 3\n"


def by_agent(*texts: str) -> AgentWork:
    """Returns the work of an agent that changed the file from each text to the next."""
    return AgentWork(tuple(AgentChange("tests/test_a.py", *step) for step in pairwise(texts)))


OTHER = NEW.replace("1, 2, 3", "4")
MISSED = TestCase(FAILED.id, "failed", advice="`shop` is no module of this workspace")


@rows(
    ("cases", "work", "proven"),
    [
        ((FAILED, PASSED), AgentWork(), {FAILED.id}),
        ((TestCase(FAILED.id, "failed"), PASSED), AgentWork(), {FAILED.id}),
        ((MISSED, PASSED), AgentWork(), None),
        ((TestCase(FAILED.id, "failed"), TestCase(PASSED.id, "failed", by_assertion=True)), AgentWork(), {PASSED.id}),
        ((FAILED, TestCase(PASSED.id, "failed", by_assertion=True)), by_agent("", OLD), {FAILED.id}),
        ((FAILED,), by_agent(NEW, ""), {FAILED.id}),
        ((FAILED,), by_agent("", NEW), None),
        ((FAILED,), by_agent("", NEW, OTHER), None),
        ((FAILED,), by_agent("", OTHER), {FAILED.id}),
        ((FAILED,), by_agent(NEW, NEW + "# more"), {FAILED.id}),
        ((FAILED,), by_agent("", OLD, NEW), None),
        ((TestCase("tests/test_a.py", "error"),), AgentWork(), None),
        ((FAILED,), UNKNOWN, None),
    ],
)
def test_FLW_04_a_failing_test_that_the_person_wrote_is_red(
    cases: tuple[TestCase, ...], work: AgentWork, proven: set[str] | None
) -> None:
    said = prove_red(TestRun(cases, whole=True), NOW, NOW, work)
    assert (said.proven if isinstance(said, Red) else None) == proven


def test_FLW_04_where_it_is_not_known_whose_a_failing_test_is_the_reason_says_why() -> None:
    said = prove_red(TestRun((FAILED,), whole=True), NOW, NOW, UNKNOWN)
    assert isinstance(said, NotProven)
    assert UNKNOWN.doubt in said.why


def test_FLW_04_a_new_test_is_red_and_not_what_failed_for_the_person_before() -> None:
    now = TestFiles({**NOW.texts, "tests/test_theirs.py": OF_PERSON})
    before = TestFiles({**BEFORE.texts, "tests/test_theirs.py": OF_PERSON})
    theirs = TestCase("tests/test_theirs.py::test_theirs", "failed", by_assertion=True)
    said = prove_red(TestRun((FAILED, theirs), whole=True), before, now, by_agent("", NEW))
    assert isinstance(said, Red)
    assert (said.proven, said.failing) == ({FAILED.id}, {FAILED.id, theirs.id})


@rows(
    ("committed", "before", "is_red"),
    [
        (NOW.texts, NOW, True),
        (BEFORE.texts, NOW, True),
        (NOW.texts, TestFiles({**NOW.texts, "tests/test_more.py": ""}), False),
        (BEFORE.texts, TestFiles({**NOW.texts, "tests/test_more.py": ""}), True),
    ],
)
def test_FLW_04_what_is_committed_counts_only_where_no_test_was_written(
    committed: dict[str, str], before: TestFiles, is_red: bool
) -> None:
    said = prove_red(TestRun((FAILED, PASSED), whole=True), before, NOW, AgentWork(), committed)
    assert isinstance(said, Red) == is_red
    if isinstance(said, NotProven):
        assert FAILED.id in said.why
        assert "tests/test_more.py" in said.why


def test_FLW_04_data_of_the_person_makes_no_test_of_the_session_theirs() -> None:
    now = TestFiles({"tests/test_a.py": DATA, "tests/data/rows.json": "[2]"})
    row = TestRun((TestCase("tests/test_a.py::test_row", "failed", by_assertion=True),), whole=True)
    assert isinstance(prove_red(row, now, now, by_agent("", DATA)), NotProven)


def test_FLW_04_a_comment_or_layout_makes_no_test_new() -> None:
    now = TestFiles({"tests/test_a.py": "# here\n" + OLD.replace("    assert", "\n    # why\n    assert")})
    old = TestCase(PASSED.id, "failed", by_assertion=True)
    assert isinstance(prove_red(TestRun((old,), whole=True), BEFORE, now), NotProven)


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
    run = TestRun((TestCase(test_id, "failed", by_assertion=True),), whole=True)
    assert isinstance(prove_red(run, TestFiles({path: old}), TestFiles({path: old + new})), Red)
    assert isinstance(
        prove_red(run, TestFiles({path: old + new}), TestFiles({path: old + new + "\n// x\n"})), NotProven
    )


NAMESAKE_PY = "class Old:\n    def test_x(self):\n        assert 0\n"
NAMESAKE_JS = "const ok = require('ok')\ndescribe('a', () => {\n  test('x', () => {\n    ok(0)\n  })\n})\n"
NAMESAKE_GO = "package a\n\nfunc TestX(t *testing.T) {\n\tt.Fatal()\n}\n"
NAMESAKE_RS = "#[test]\nfn x() {\n    assert!(false);\n}\n"


@rows(
    ("test_id", "file", "text", "other", "more"),
    [
        ("test_a.Old.test_x", "test_a.py", NAMESAKE_PY, "test_b.py", "class New:\n    def test_x(self): ...\n"),
        ("test_a.py::Old::test_x", "test_a.py", NAMESAKE_PY, "test_a.py", "class New:\n    def test_x(self): ...\n"),
        ("a.test.js > a > x", "a.test.js", NAMESAKE_JS, "a.test.js", "describe('b', () => {\n  test('x', () => {})\n})\n"),
        ("a.test.js > a > x", "a.test.js", NAMESAKE_JS, "a.test.js", "describe('a', () => {\n  test('x', () => {})\n})\n"),
        ("a.test.js > a > x", "a.test.js", NAMESAKE_JS, "a.test.js", "test('new', () => { 'x'; })\n"),
        ("example.org/m.TestX", "a_test.go", NAMESAKE_GO, "b/b_test.go", "package b\n\nfunc TestX(t *testing.T) {\n}\n"),
        ("web/example.org/m/a.TestX/row", "web/a/a_test.go", NAMESAKE_GO, "b/b_test.go", "package b\n\nfunc TestX(t *testing.T) {\n}\n"),
        ("x", "tests/a.rs", NAMESAKE_RS, "tests/b.rs", "#[test]\nfn x() {\n}\n"),
        ("m::x", "tests/a.rs", "mod m {\n    #[test]\n    fn x() {\n        assert!(false);\n    }\n}\n", "tests/b.rs", "mod m {\n    #[test]\n    fn x() {\n    }\n}\n"),
    ],
)  # fmt: skip
def test_THR_workflow_a_namesake_makes_no_old_test_new(
    test_id: str, file: str, text: str, other: str, more: str
) -> None:
    module = {"go.mod": "module example.org/m\n", "web/go.mod": "module example.org/m\n"}
    before = {**module, file: text}
    now = {**before, other: more + before.get(other, "")}
    failed = TestRun((TestCase(test_id, "failed", by_assertion=True),), whole=True)
    assert isinstance(prove_red(failed, TestFiles(before), TestFiles(now)), NotProven)
    assert isinstance(prove_red(failed, TestFiles(module), TestFiles(before)), Red), "by itself it is new"


def test_FLW_04_a_test_of_cargo_is_looked_for_in_the_file_that_is_told_of_it() -> None:
    before, now = {"tests/a.rs": "fn x() {}\n"}, {"tests/a.rs": "fn x() {}\n", "tests/b.rs": NAMESAKE_RS}
    failed = TestRun((TestCase("x", "failed", by_assertion=True, file="tests/b.rs"),), whole=True)
    assert isinstance(prove_red(failed, TestFiles(before), TestFiles(now)), Red)


def test_FLW_04_an_inherited_test_is_found_where_it_stands() -> None:
    base = {"tests/base.py": NAMESAKE_PY, "tests/test_a.py": "from base import Old\nclass New(Old): ...\n"}
    for test in ("tests.test_a.New.test_x", "tests/test_a.py::New::test_x"):
        failed = TestRun((TestCase(test, "failed", by_assertion=True),), whole=True)
        assert isinstance(prove_red(failed, TestFiles({}), TestFiles(base)), Red)


COMMENT = {"tests/test_a.py": "# x", "tests/a.test.js": "// x", "p/a_test.go": "// x"}
NEWLINE = "\n"
TABLE = "ROWS = [1]\n\n@parametrize('row', ROWS)\ndef test_row(row):\n    assert row < 2\n"
NESTED = "def check(n):\n    assert n < limit()\n\ndef limit():\n    return 2\n\ndef test_row():\n    check(1)\n"
CLASS = "class TestRow:\n    MOST = 2\n    def test_row(self):\n        assert 1 < self.MOST\n"
DATA = (
    "import json\nDATA = HERE / 'data/rows.json'\n\ndef test_row():\n    assert json.loads(DATA.read_text()) == [1]\n"
)


TABLE_JS = "const rows = [1]\ntest('row', () => {\n  rows.forEach(check)\n})\n"
HELPER_JS = "function check (n) {\n  expect(n).toBe(1)\n}\ndescribe('a', () => {\n  test('row', () => {\n    check(1)\n  })\n})\n"
DATA_JS = "const rows = require('./data/rows.json')\ntest('row', () => {\n  rows.forEach(check)\n})\n"
TABLE_GO = "var rows = []int{1}\n\nfunc TestRow(t *testing.T) {\n\tcheck(t, rows)\n}\n"


@rows(
    ("test", "text", "was", "becomes", "path"),
    [
        ("tests/test_a.py::test_row", TABLE, "[1]", "[1, 2]", ""),
        ("tests/test_a.py::test_row", NESTED, "return 2", "return 1", ""),
        ("tests/test_a.py::TestRow::test_row", CLASS, "MOST = 2", "MOST = 1", ""),
        ("tests/test_a.py::test_row", f"if True:\n    {CLASS.replace(NEWLINE, NEWLINE + '    ')}", "MOST = 2", "MOST = 1", ""),
        ("tests/test_a.py::test_row", DATA, "[1]", "[2]", "tests/data/rows.json"),
        ("tests/a.test.js > row", TABLE_JS, "[1]", "[1, 2]", ""),
        ("tests/a.test.js > a > row", HELPER_JS, "toBe(1)", "toBe(2)", ""),
        ("tests/a.test.js > row", DATA_JS, "[1]", "[2]", "tests/data/rows.json"),
        ("tests/a.test.js > adds 1", TABLE_JS.replace("'row'", "'adds %i'"), "[1]", "[1, 2]", ""),
        ("m/p.TestRow", TABLE_GO, "{1}", "{1, 2}", ""),
    ],
)  # fmt: skip
def test_FLW_04_a_test_is_changed_where_what_it_is_made_of_is(
    test: str, text: str, was: str, becomes: str, path: str
) -> None:
    file = next((name for name in ("tests/test_a.py", "tests/a.test.js") if test.startswith(name)), "p/a_test.go")
    before = {file: text, "tests/data/rows.json": "[1]"}
    now = {**before, path or file: before[path or file].replace(was, becomes)}
    run = TestRun((TestCase(test, "failed", by_assertion=True),), whole=True)
    assert isinstance(prove_red(run, TestFiles(before), TestFiles(now)), Red)
    for same in (before, {**before, "tests/data/other.json": "[3]"}, {**before, file: f"{text}{COMMENT[file]}\n"}):
        assert isinstance(prove_red(run, TestFiles(before), TestFiles(same)), NotProven)


@pytest.mark.parametrize(
    ("file", "text", "other"),
    [
        ("tests/test_a.py", "def test_row():\n    n = 1\n    assert n\n\n", "def test_other():\n    n = {}\n    assert n\n"),
        ("tests/a.test.js", "test('row', () => {\n  const n = 1\n  ok(n)\n})\n", "test('other', () => {\n  const n = {}\n  ok(n)\n})\n"),
    ],
)  # fmt: skip
def test_FLW_04_what_another_test_has_for_itself_makes_a_test_no_other(file: str, text: str, other: str) -> None:
    row = "tests/test_a.py::test_row" if file.endswith(".py") else f"{file} > row"
    run = TestRun((TestCase(row, "failed", by_assertion=True),), whole=True)
    files = (TestFiles({file: text + other.replace("{}", number)}) for number in "12")
    assert isinstance(prove_red(run, *files), NotProven)


def test_FLW_04_a_test_below_a_condition_is_found() -> None:
    below = "import sys\nif sys.platform:\n    with quiet():\n        class TestAdd:\n            def test_new(self):\n                assert add(1) == 2\n"
    failed = TestCase("tests/test_a.py::TestAdd::test_new", "failed", by_assertion=True)
    assert isinstance(prove_red(TestRun((failed,), whole=True), BEFORE, TestFiles({"tests/test_a.py": below})), Red)


def test_FLW_04_data_that_a_test_does_not_name_makes_it_no_other() -> None:
    now = TestFiles({**BEFORE.texts, "tests/data/rows.json": "[2]"})
    old = TestCase(PASSED.id, "failed", by_assertion=True)
    assert isinstance(prove_red(TestRun((old,), whole=True), BEFORE, now), NotProven)


def test_FLW_04_a_changed_body_makes_a_test_of_javascript_changed() -> None:
    old = "it('adds', () => {\n  expect(1).toBe(1)\n})\nit('other', () => {\n  expect(1).toBe(1)\n})\n"
    new = old.replace("toBe(1)", "toBe(2)", 1)
    files = TestFiles({"a.test.js": old}), TestFiles({"a.test.js": new})
    adds = TestRun((TestCase("a.test.js > adds", "failed", by_assertion=True),), whole=True)
    other = TestRun((TestCase("a.test.js > other", "failed", by_assertion=True),), whole=True)
    assert isinstance(prove_red(adds, *files), Red)
    assert isinstance(prove_red(other, *files), NotProven)


@rows(
    ("test_id", "leaf"),
    [
        ("tests/test_a.py::TestC::test_x[1-a.b]", "test_x"),
        ("a.test.ts > outer > adds two", "adds two"),
        ("example.com/m/p.TestX/sub case", "TestX"),
        ("module::tests::adds", "adds"),
        ("module::doubles::case_2_of_two", "doubles"),
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
        (TestRun((PASSED,), whole=True), NOW, "had to pass"),
        (TestRun((TestCase(FAILED.id, "skipped"), PASSED), whole=True), NOW, "had to pass"),
        (
            TestRun((TestCase(FAILED.id, "passed"), TestCase(PASSED.id, "failed")), whole=True),
            NOW,
            "did not fail before",
        ),
        (TestRun(passed.cases, whole=True, doubt="stopped"), NOW, "not trusted"),
    ]:
        said = prove_green(run, red(), now)
        assert said is not None
        assert why in said.why


@rows(
    ("passed", "texts", "lost"),
    [
        ("tests/test_a.py::test_old", {}, True),
        ("tests/test_a.py::test_row[1]", {"tests/test_a.py": NEW + TABLE.replace("[1]", "rows()")}, True),
        ("tests/test_a.py::test_row[2]", {"tests/test_a.py": NEW + TABLE.replace("[1]", "rows()")}, False),
        ("test_b.C.test_x", {"test_b.py": "class C:\n    def test_x(self): ...\n"}, True),
        ("b.test.js > a > row", {"b.test.js": HELPER_JS}, True),
        ("b.test.js > row 1", {"b.test.js": "import { rows } from './b.js'\nrows.map((n) => test(`row ${n}`, run))\n"}, False),
        ("example.org/m.TestRow", {"a_test.go": TABLE_GO}, True),
        ("example.org/m.TestMore/1", {"a_test.go": "func TestMore(t *testing.T) {\n}\n"}, False),
        ("m::tests::adds", {"tests/a.rs": "#[test]\nfn adds() {\n}\n"}, False),
    ],
)  # fmt: skip
def test_THR_workflow_what_passed_before_is_not_skipped_or_gone(passed: str, texts: dict[str, str], lost: bool) -> None:
    now = TestFiles({**NOW.texts, "go.mod": "module example.org/m\n", **texts})
    others = (PASSED, TestCase("tests/test_a.py::test_row[3]", "passed"), TestCase("example.org/m.TestMore", "passed"))
    others = tuple(case for case in others if passed not in {case.id, case.id.replace("[3]", "[1]")})
    before = prove_red(TestRun((FAILED, *others, TestCase(passed, "passed")), whole=True), BEFORE, now)
    assert isinstance(before, Red)
    for after in ((), (TestCase(passed, "skipped"),)):
        run = TestRun((TestCase(FAILED.id, "passed"), *others, *after), whole=True)
        said = prove_green(run, before, now)
        assert (said is not None and SAYS.passed_before_and_do_not in said.why) == lost


def test_THR_workflow_of_two_tests_of_one_name_both_have_to_pass() -> None:
    good, bad = TestCase(FAILED.id, "passed"), FAILED
    before = prove_red(TestRun((good, bad, PASSED), whole=True), BEFORE, NOW)
    assert isinstance(before, Red)
    assert prove_green(TestRun((good, bad, PASSED), whole=True), before, NOW) is not None
    assert prove_green(TestRun((good, good, PASSED), whole=True), before, NOW) is None


def test_FLW_04_what_failed_before_may_fail_still() -> None:
    other = TestCase("tests/test_b.py::test_other", "failed", by_assertion=True)
    before = prove_red(TestRun((FAILED, PASSED, other), whole=True), BEFORE, NOW)
    assert isinstance(before, Red)
    assert prove_green(TestRun((TestCase(FAILED.id, "passed"), PASSED, other), whole=True), before, NOW) is None


def test_FLW_04_without_a_red_run_all_that_ran_has_to_pass() -> None:
    assert prove_passing(TestRun((PASSED,), whole=True)) is None
    assert prove_passing(TestRun((PASSED, FAILED), whole=True)) is not None
    assert prove_passing(TestRun((), whole=True)) == NotProven(SAYS.no_test_ran)
    assert prove_passing(TestRun((PASSED,)), of_all=True) is not None
    assert prove_passing(TestRun((PASSED,), whole=True), of_all=True) is None


def test_FLW_05_an_exemption_is_for_paths_of_its_category_only() -> None:
    assert unfit_paths("documentation", ["docs/a.md", "LICENSE"], DEFAULT_GLOBS) == ()
    assert unfit_paths("documentation", ["docs/a.md", "src/a.py"], DEFAULT_GLOBS) == ("src/a.py",)
    assert unfit_paths("config_change", ["x.json/a.py", "a.toml"], DEFAULT_GLOBS) == ("x.json/a.py",)
    assert unfit_paths("config_change", ["node_modules/vitest/package.json"], DEFAULT_GLOBS)


def test_FLW_05_what_tests_compare_with_is_no_configuration_and_no_document() -> None:
    globs = (TEST_GLOBS, ("spec/**",))
    of_tests = ("tests/wanted.json", "a/testdata/x.toml", "__snapshots__/a.md", "tests/logo.svg", "spec/a.txt")
    assert data_of_tests("config_change", [*of_tests, "a.json"], globs) == of_tests
    assert data_of_tests("documentation", of_tests, globs) == data_of_tests("asset_update", of_tests, globs) == of_tests
    assert data_of_tests("config_change", ["tests/pytest.ini", "tests/package.json"], globs) == ()
    assert data_of_tests("type_refactor", ["types/a.test-d.ts", "tests/test_a.py"], globs) == ()


@rows(
    "path",
    [
        "CMakeLists.txt",
        "src/cmakelists.TXT",
        "meson_options.txt",
        "requirements.txt",
        "requirements-dev.txt",
        "dev-requirements.txt",
        "requirements/base.txt",
        "constraints.txt",
        "AGENTS.md",
        "docs/CLAUDE.md",
        ".github/copilot-instructions.md",
        "app.py\u200b.md",
        "a\u202etxt.md",
        "notes\u00a0.txt",
    ],
)
def test_FLW_05_what_decides_what_runs_is_no_documentation_whatever_its_name_ends_with(path: str) -> None:
    assert unfit_paths("documentation", [path], {"documentation": ("*.md", "*.txt", "**")}) == (path,)
    assert unfit_paths("asset_update", [path], {"asset_update": ("**",)}) == (path,)


@pytest.mark.parametrize("glob", RUNNER_CONFIG_GLOBS)
def test_FLW_05_an_exemption_for_configuration_is_granted_for_each_file_whose_refusal_names_it(glob: str) -> None:
    path = glob.replace("**/", "web/").replace("*", "x")
    assert unfit_paths("config_change", [path], DEFAULT_GLOBS) == ()


@pytest.mark.parametrize("glob", RUNNER_PROGRAM_GLOBS)
def test_THR_workflow_a_program_that_runs_with_every_test_is_no_configuration(glob: str) -> None:
    path = glob.replace("*", "x")
    assert unfit_paths("config_change", [path], DEFAULT_GLOBS) == (path,)


def test_FLW_05_configuration_stays_of_its_category_and_a_hidden_character_is_of_none() -> None:
    assert unfit_paths("config_change", ["package.json", ".github/workflows/a.yml"], DEFAULT_GLOBS) == ()
    assert unfit_paths("config_change", ["a\u200b.json"], DEFAULT_GLOBS) == ("a\u200b.json",)
    assert unfit_paths("documentation", ["docs/caf\u00e9 notes.md"], DEFAULT_GLOBS) == ()
