"""Reports as runners wrote them, read by pure functions (LSP-04). test_run_tests.py has the reports of Node, pytest and
unittest, which really run there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_governance.secrets.redaction import Redactor
from remit_server.errors import ToolError
from remit_server.harness.record.audit_events import redact_data
from remit_server.sandbox.ports import CommandOutput
from remit_server.tools.run.testing.finding import Facts, Place, elsewhere, fitting, home_of, nearest
from remit_server.tools.run.testing.narrowing import cargo_targets, go_packages, node_files
from remit_server.tools.run.testing.report import MAX_LISTED, advise_on_missing, render_report
from remit_server.tools.run.testing.reports.cargo_text import cargo_results
from remit_server.tools.run.testing.reports.coverage import FileCoverage, go_profile, percent, told_lines
from remit_server.tools.run.testing.reports.event_lines import node_results, pytest_results, unittest_results
from remit_server.tools.run.testing.reports.json_reports import go_results, jest_results
from remit_server.tools.run.testing.reports.results import BadReport, Report, Result
from remit_server.tools.run.testing.rerunning import Id, is_run_by, read_id
from remit_server.tools.run.testing.runners import RUNNERS, Runner, RunnerAsk
from remit_server.tools.run.testing.test_request import Choice
from remit_server.tools.spec import Outcome

ROOT = Path("/home/me/shop")
NEVER = ToolError("the command was stopped", "it took too long", "do less at once")

GO = r"""{"Time":"2025-01-01T10:00:00Z","Action":"start","Package":"shop"}
{"Action":"run","Package":"shop","Test":"TestOk"}
{"Action":"output","Package":"shop","Test":"TestOk","Output":"=== RUN   TestOk\n"}
{"Action":"output","Package":"shop","Test":"TestOk","Output":"{\"Action\":\"pass\",\"Test\":\"Forged\"}\n"}
{"Action":"pass","Package":"shop","Test":"TestOk","Elapsed":0.01}
{"Action":"output","Package":"shop","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output","Package":"shop","Test":"TestBad","Output":"    cart_test.go:9: got 3, want 4\n"}
{"Action":"output","Package":"shop","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"shop","Test":"TestBad","Elapsed":0}
{"Action":"skip","Package":"shop","Test":"TestLater","Elapsed":0}
{"Action":"output","Package":"shop","Test":"TestBoom","Output":"panic: runtime error: index out of range [recovered]\n"}
{"Action":"output","Package":"shop","Test":"TestBoom","Output":"\t/home/me/shop/cart.go:4 +0x1d\n"}
{"Action":"fail","Package":"shop","Test":"TestBoom","Elapsed":0}
{"Action":"fail","Package":"shop","Elapsed":0.02}
{"ImportPath":"shop/broken [shop/broken.test]","Action":"build-output","Output":"broken/b.go:3:1: syntax error: unexpected name\n"}
{"ImportPath":"shop/broken [shop/broken.test]","Action":"build-fail"}
{"Action":"fail","Package":"shop/broken","Elapsed":0,"FailedBuild":"shop/broken [shop/broken.test]"}
"""


def test_go() -> None:
    assert go_results(GO.encode(), ROOT).tests == (
        Result("shop.TestOk", "passed", 0.01),
        Result("shop.TestBad", "failed", 0.0, "assertion", "    cart_test.go:9: got 3, want 4", "cart_test.go", 9),
        Result("shop.TestLater", "skipped", 0.0),
        Result(
            "shop.TestBoom",
            "failed",
            0.0,
            "error",
            "panic: runtime error: index out of range [recovered]\n\t/home/me/shop/cart.go:4 +0x1d",
            "/home/me/shop/cart.go",
            4,
        ),
        Result(
            "shop/broken", "error", None, "error", "broken/b.go:3:1: syntax error: unexpected name", "broken/b.go", 3
        ),
    )


JEST = {
    "numFailedTests": 2,
    "success": False,
    "testResults": [
        {
            "name": "/home/me/shop/src/cart.test.ts",
            "status": "failed",
            "message": "",
            "assertionResults": [
                {"ancestorTitles": ["cart"], "title": "adds", "status": "passed", "duration": 2, "failureMessages": []},
                {
                    "ancestorTitles": ["cart"],
                    "title": "takes away",
                    "status": "failed",
                    "duration": 5.5,
                    "failureMessages": [
                        (
                            "Error: \u001b[2mexpect(\u001b[22m\u001b[31mreceived\u001b[39m).toBe(2)\n\nExpected: 2\nReceived: 3\n"
                            "    at Object.toBe (/home/me/shop/src/cart.test.ts:9:13)\n"
                            "    at run (/home/me/shop/node_modules/jest/run.js:1:2)"
                        )
                    ],
                },
                {
                    "ancestorTitles": [],
                    "title": "breaks",
                    "status": "failed",
                    "duration": None,
                    "failureMessages": ["TypeError: no\n    at /home/me/shop/src/cart.ts:4:1"],
                },
                {"ancestorTitles": [], "title": "later", "status": "pending", "failureMessages": []},
            ],
        },
        {"name": "/home/me/shop/b.test.ts", "status": "failed", "message": "SyntaxError: no", "assertionResults": []},
    ],
}


def test_jest_and_vitest() -> None:
    file = "src/cart.test.ts"
    assert jest_results(json.dumps(JEST).encode(), ROOT).tests == (
        Result(f"{file} > cart > adds", "passed", 0.002, file=file),
        Result(
            f"{file} > cart > takes away",
            "failed",
            0.0055,
            "assertion",
            "Error: expect(received).toBe(2)\nExpected: 2\nReceived: 3",
            file,
            9,
        ),
        Result(f"{file} > breaks", "failed", None, "error", "TypeError: no", file, None),
        Result(f"{file} > later", "skipped", file=file),
        Result("b.test.ts", "error", None, "error", "SyntaxError: no", "b.test.ts"),
    )


CARGO = """
running 4 tests
test tests::ok ... ok
test tests::bad ... FAILED
test tests::later ... ignored, not yet
test tests::boom - should panic ... FAILED

failures:

---- tests::bad stdout ----
something printed
thread 'tests::bad' panicked at src/lib.rs:9:9:
assertion `left == right` failed
  left: 1
 right: 2
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

---- tests::boom stdout ----
note: test did not panic as expected

failures:
    tests::bad
    tests::boom

test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


def test_cargo() -> None:
    assert [(r.id, r.ending, r.kind, r.file, r.line) for r in cargo_results(CARGO.encode(), ROOT).tests] == [
        ("tests::ok", "passed", None, None, None),
        ("tests::bad", "failed", "assertion", "src/lib.rs", 9),
        ("tests::later", "skipped", None, None, None),
        ("tests::boom", "failed", "error", None, None),
    ]


def test_go_that_is_stopped_has_named_what_it_ran() -> None:
    stopped = (
        '{"Action":"run","Package":"shop","Test":"TestA"}\n{"Action":"pass","Package":"shop","Test":"TestA","Elapsed":0}\n'
        '{"Action":"run","Package":"shop","Test":"TestB"}\n{"Action":"outp'
    )
    assert [(r.id, r.ending) for r in go_results(stopped.encode(), ROOT).tests] == [
        ("shop.TestA", "passed"),
        ("shop.TestB", "unfinished"),
    ]


def test_cargo_that_is_stopped_has_not_finished_all_that_it_planned() -> None:
    first, second = CARGO, "\nrunning 3 tests\ntest a ... ok\ntest b ... FAILED\n"
    report = cargo_results((first + second).encode(), ROOT)
    assert (len(report.tests), report.planned) == (6, 7)
    assert cargo_results(first.encode(), ROOT).planned == 4


LINES = (
    '{"event": "plan", "id": "", "count": 4}\n'
    '{"event": "start", "id": "a", "file": "a.py", "line": 1}\n'
    '{"event": "end", "id": "a", "ending": "failed", "kind": "error", "text": "E  no", "file": "a.py", "line": 1}\n'
    '{"event": "end", "id": "a", "ending": "passed"}\n'
    '{"event": "start", "id": "b", "file": "a.py", "line": 5}\n'
    '{"event": "start", "id": "c"}\n{"event": "drop", "id": "c"}\n'
)


def test_what_went_wrong_first_counts_and_what_began_and_never_ended_is_unfinished() -> None:
    report = pytest_results(LINES.encode() + b'{"event": "en', ROOT)
    assert report == Report(
        (
            Result("a", "failed", None, "error", "no", "a.py", 1),
            Result("b", "unfinished", file="a.py", line=5),
        ),
        4,
    )


@pytest.mark.parametrize("report", [b"<testsuites/>\n", b'{"event": "end"}\n', b"[" * 5000 + b"\n"])
def test_lines_that_are_none_are_refused(report: bytes) -> None:
    with pytest.raises(BadReport):
        pytest_results(report, ROOT)


def outcome_of(
    tests: tuple[Result, ...], code: int = 0, planned: int | None = None, measured: tuple[FileCoverage, ...] = ()
) -> Outcome:
    report = Report(tests, planned)
    runner = Runner("go", "go", lambda _: (), lambda _data, _root: report, coverage=lambda _data, _root: measured)
    output = CommandOutput(code, b"\0digest\na report\0key\0", b"")
    choice = Choice(runner, RunnerAsk(coverage=bool(measured)))
    return render_report(output, choice, ROOT, lambda text: text.replace("s3cret", "[redacted]"), too_long=NEVER)


def test_each_test_is_data_for_clients() -> None:
    data = outcome_of(
        (
            Result("a.TestOk", "passed", 0.5, file="a.go", line=3),
            Result("a.TestBad", "failed", 0.1, "assertion", "got s3cret", "a.go", 9),
            Result("a.TestHangs", "unfinished"),
        ),
        1,
    ).data
    assert data["totals"] == {"failed": 1, "error": 0, "passed": 1, "skipped": 0, "unfinished": 1, "all": 3}
    assert data["tests"] == [
        {
            "id": "a.TestBad",
            "outcome": "failed",
            "duration_s": 0.1,
            "kind": "assertion",
            "message": "got [redacted]",
            "file": "a.go",
            "line": 9,
        },
        {
            "id": "a.TestHangs",
            "outcome": "unfinished",
            "duration_s": None,
            "kind": None,
            "message": None,
            "file": None,
            "line": None,
        },
        {
            "id": "a.TestOk",
            "outcome": "passed",
            "duration_s": 0.5,
            "kind": None,
            "message": None,
            "file": "a.go",
            "line": 3,
        },
    ]
    assert (data["passed"], data["left_out"]) == (False, 0)


def test_data_is_bounded_and_says_how_much_is_left_out() -> None:
    many = outcome_of(tuple(Result(f"{n}", "passed") for n in range(MAX_LISTED + 7))).data
    assert (len(many["tests"]), many["left_out"], many["passed"]) == (MAX_LISTED, 7, True)  # type: ignore[arg-type]


LONG = (
    Result("x" * 4_000, "passed"),
    Result("é\ud800" * 200, "failed", message="\n\t\x01" * 300),
    Result("a", "passed"),
)


@given(st.lists(st.tuples(st.sampled_from(LONG), st.integers(1, 900)), max_size=4))
def test_TOOL_03_a_run_of_tests_of_any_size_has_data_for_clients_all_of_which_are_handed_on(
    runs: list[tuple[Result, int]],
) -> None:
    tests = tuple(replace(test, id=f"{test.id}{n}") for test, count in runs for n in range(count))
    data = outcome_of(tests).data
    assert redact_data(data, Redactor())["totals"]["all"] == len(tests)  # type: ignore[index,call-overload]
    assert len(data["tests"]) + data["left_out"] == len(tests)  # type: ignore[arg-type,operator]


def test_TOOL_03_lines_that_did_not_run_leave_room_for_the_tests() -> None:
    measured = tuple(FileCoverage(f"src/{n}.py", 0, 2_000, tuple(range(2_000))) for n in range(100))
    data = outcome_of((Result("a", "passed"),), measured=measured).data
    handed_on: Any = redact_data(data, Redactor())
    assert (len(handed_on["tests"]), handed_on["coverage"]["code"]["all"]) == (1, 200_000)
    assert 0 < len(handed_on["coverage"]["files"]) < 100


@pytest.mark.parametrize(
    ("tests", "planned"), [((), None), ((Result("a", "unfinished"),), None), ((Result("a", "passed"),), 2)]
)
def test_nothing_passed_that_did_not_finish(tests: tuple[Result, ...], planned: int | None) -> None:
    assert outcome_of(tests, planned=planned).data["passed"] is False


@given(st.binary(max_size=200))
def test_any_report_is_read_or_refused(report: bytes) -> None:
    for read in (pytest_results, node_results, jest_results, unittest_results, go_results, cargo_results):
        try:
            read(report, ROOT)
        except BadReport:
            continue


def test_coverage_of_every_kind() -> None:
    ours = {"path": "/tmp/remit-aids/inside_node_tests.mjs", "ran": 1, "all": 9, "missed": []}
    told = {"files": [{"path": "/home/me/shop/a.ts", "ran": 3, "all": 4, "missed": [7]}, ours]}
    assert told_lines(json.dumps(told).encode(), ROOT) == (FileCoverage("a.ts", 3, 4, (7,)),)
    go = go_profile(b"mode: set\nshop/a.go:1.2,3.4 2 1\nshop/a.go:5.2,6.4 2 0\nshop/a.go:1.2,3.4 2 0\n", ROOT)
    assert percent(go) == 50.0
    assert percent(()) is None


@pytest.mark.parametrize("data", [b"", b"[]", b'{"files": 1}', b'{"files": [{"path": "a", "ran": 1}]}'])
def test_coverage_that_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(BadReport):
        told_lines(data, ROOT)


@rows(
    ("top", "files", "texts", "suffix", "found"),
    [
        ("", "tests/test_a.py", {}, "", ("unittest",)),
        ("conftest.py", "", {}, "", ("pytest",)),
        ("", "a_test.py", {"pyproject.toml": "[tool.pytest.ini_options]"}, "", ("pytest",)),
        ("package.json", "a.test.js", {"package.json": '{"devDependencies": {"vitest": "1"}}'}, "", ("vitest",)),
        ("jest.config.js", "a.test.js", {}, "", ("jest",)),
        ("package.json", "a.test.js", {"package.json": '{"scripts": {"test": "echo jest"}}'}, "", ("node",)),
        ("package.json", "", {"package.json": "[1"}, "", ()),
        ("go.mod Cargo.toml", "", {}, "", ("go", "cargo")),
        ("go.mod", "test_a.py a.test.mjs", {}, ".mjs", ("node",)),
    ],
)
def test_the_runner_that_a_workspace_speaks_for(
    top: str, files: str, texts: dict[str, str], suffix: str, found: tuple[str, ...]
) -> None:
    assert fitting(Facts(frozenset(top.split()), tuple(files.split()), texts), suffix) == found


def test_every_runner_is_told_where_and_what() -> None:
    narrowed = {"node": ("./src/x/a.test.js",), "go": ("./src/x/...",), "cargo": ("--lib", "x::")}
    said = {
        runner.name: " ".join(runner.said(RunnerAsk("src/x", True, "adds", True, narrowed.get(runner.name, ()))))
        for runner in RUNNERS
    }
    assert said["pytest"].endswith("--cov=. --cov-report= -k adds src/x")
    assert said["unittest"] == "python3 -m unittest discover -s src/x -k adds"
    assert said["go"] == "go test -json -coverprofile=/tmp/remit-coverage/report -run adds ./src/x/..."
    assert said["cargo"] == "cargo test --offline --no-fail-fast --lib x:: adds"
    assert said["node"].endswith("--experimental-test-coverage --test-name-pattern=adds ./src/x/a.test.js")
    assert said["jest"].endswith("-t adds /src/x/")
    assert said["vitest"].startswith("vitest run --coverage.enabled")
    assert said["vitest"].endswith("-t adds src/x/")


def test_vitest_that_cannot_measure_lines_runs_all_the_same() -> None:
    (vitest,) = (runner for runner in RUNNERS if runner.name == "vitest")
    assert any("coverage" in word for word in vitest.said(RunnerAsk(coverage=True)))
    assert not any("coverage" in word for word in vitest.said(RunnerAsk(coverage=True, provider=False)))


def test_thr_no_expression_is_a_file_of_options_to_pytest() -> None:
    """For an argument `@x` pytest would read options from the file `x`."""
    (pytest_row,) = (runner for runner in RUNNERS if runner.name == "pytest")
    assert not [word for word in pytest_row.said(RunnerAsk(part="@x")) if word.startswith("@")]


RUST = (
    "Cargo.toml",
    "src/lib.rs",
    "src/deep.rs",
    "src/in/mod.rs",
    "src/bin/tool.rs",
    "tests/outer.rs",
    "tests/common/mod.rs",
)


@rows(
    ("path", "told"),
    [
        ("src", ("--lib", "--bins")),
        ("src/lib.rs", ("--lib",)),
        ("src/deep.rs", ("--lib", "--bins", "deep::")),
        ("src/in/mod.rs", ("--lib", "--bins", "in::")),
        ("src/in", ("--lib", "--bins", "in::")),
        ("src/bin/tool.rs", ("--bin=tool",)),
        ("tests/outer.rs", ("--test=outer",)),
        ("tests", ("--test=*",)),
        ("tests/common/mod.rs", None),
        ("Cargo.toml", None),
        ("docs", None),
        ("src/--help.rs", None),
    ],
)
def test_a_path_narrows_what_cargo_runs_or_is_refused(path: str, told: tuple[str, ...] | None) -> None:
    if told is None:
        with pytest.raises(ToolError):
            cargo_targets(path, "." not in path, RUST, str)
    else:
        assert cargo_targets(path, "." not in path, RUST, str) == told


def test_a_path_narrows_what_go_and_node_run_or_is_refused() -> None:
    tests = "package a\nfunc TestA(t *testing.T) {}\nfunc helper() {}\nfunc ExampleB() {}\n"
    assert go_packages("a/b", True, (), str) == ("./a/b/...",)
    assert go_packages("a/a_test.go", False, (), lambda _: tests) == ("-run=^(?:TestA|ExampleB)$", "./a")
    assert node_files("in", True, ("in/a.test.js", "in/a.js", "out/b.test.js"), str) == ("./in/a.test.js",)
    assert node_files("test/deep", True, ("test/deep/er/a.js", "src/a.js"), str) == ("./test/deep/er/a.js",)
    for refused in (
        lambda: go_packages("a/a.go", False, (), lambda _: tests),
        lambda: go_packages("a/a_test.go", False, (), lambda _: "package a\n"),
        lambda: node_files("in", True, ("in/a.js", "out/b.test.js"), str),
    ):
        with pytest.raises(ToolError):
            refused()


MONO = (
    "pyproject.toml",
    "tests/test_a.py",
    "web/package.json",
    "web/src/a.test.js",
    "web/tools/test_b.py",
    "rust/Cargo.toml",
    "rust/src/lib.rs",
)


def facts_of(folder: str) -> Facts:
    before = "" if folder == "." else f"{folder}/"
    files = tuple(file.removeprefix(before) for file in MONO if file.startswith(before))
    texts = {"pyproject.toml": "[tool.pytest]"} if folder == "." else {"package.json": "{}"}
    return Facts(frozenset(file.partition("/")[0] for file in files), files, texts)


@rows(
    ("path", "suffix", "runner", "folder"),
    [
        (".", "", "pytest", "."),
        ("tests", "", "pytest", "."),
        ("web", "", "node", "web"),
        ("web/src", "", "node", "web"),
        ("web/src/a.test.js", ".js", "node", "web"),
        ("web/tools", "", "pytest", "."),
        ("web/tools/test_b.py", ".py", "pytest", "."),
        ("rust/src", "", "cargo", "rust"),
    ],
)
def test_the_nearest_project_that_has_a_runner_runs_a_path(path: str, suffix: str, runner: str, folder: str) -> None:
    assert nearest(path, suffix, MONO, facts_of)[0] == Place(runner, folder)


def test_runners_that_a_run_leaves_out_are_known() -> None:
    # Node would run the tests in `web` too when it is started at the top.
    assert elsewhere("pytest", MONO, facts_of) == (Place("node", "."), Place("cargo", "rust"))
    assert (home_of("cargo", "rust/src", MONO), home_of("cargo", "web", MONO)) == ("rust", None)


@rows(
    ("text", "runner", "said"),
    [
        ("t/test_a.py::T::test_b[x - 1]", "pytest", ("t/test_a.py::T::test_b[x - 1]",)),
        ("test_a.T.test_b", "unittest", ("python3", "-m", "unittest", "test_a.T.test_b")),
        ("test_a.T.test_b (i=1)", "unittest", ("python3", "-m", "unittest", "test_a.T.test_b")),
        ("t/a.test.js > g > it's (a)", "vitest", (r"--testNamePattern=^g( | > )it's \(a\)$", "t/a.test.js")),
        (
            "t/a.test.js > g > it's (a)",
            "jest",
            (r"--testNamePattern=^g( | > )it's \(a\)$", "--runTestsByPath", "t/a.test.js"),
        ),
        ("t/a.test.js > g > it's (a)", "node", (r"--test-name-pattern=^(?:g )?it's \(a\)$",)),
        ("shop/cart.TestAdd/two", "go", ("-run=^TestAdd$/^two$", "shop/cart")),
        ("tests::ok", "cargo", ("--", "--exact", "tests::ok")),
    ],
)
def test_the_id_that_a_report_gives_a_test_runs_it(text: str, runner: str, said: tuple[str, ...]) -> None:
    found = read_id(text, {"t/test_a.py", "t/a.test.js"}.__contains__, {"t", "tests"}.__contains__)
    assert found is not None
    assert is_run_by(runner, found)
    (row,) = (each for each in RUNNERS if each.name == runner)
    words = row.said(RunnerAsk(found.path, not found.is_file, only=found.test))
    assert words[-len(said) :] == said


@rows(
    "text",
    ["--help", "-k.x", "a b", "$(id)", "tests::ok; id", "nosuch.py::test", "nosuch.test.js > a", "--exact::ok", "t.py"],
)
def test_thr_what_is_no_id_is_run_by_none(text: str) -> None:
    found = read_id(text, lambda _: False, lambda _: False)
    assert found is None or not any(is_run_by(runner.name, found) for runner in RUNNERS)
    assert read_id("t.py::a\nb", lambda _: True, lambda _: True) is None


def test_ids_below_a_project_are_told_from_the_top() -> None:
    assert read_id("rust/tests::ok", lambda _: False, {"rust"}.__contains__) == Id("rust", "tests::ok", False)
    tests = (Result("tests::ok", "failed", None, "error", "no", "src/lib.rs", 3),)
    runner = Runner("cargo", "cargo", lambda _: (), lambda _data, _root: Report(tests))
    choice = Choice(runner, RunnerAsk(), "rust", frozenset({"rust/src/lib.rs"}), (Place("node", "."),))
    told = render_report(
        CommandOutput(101, b"\0digest\na report\0key\0", b""), choice, ROOT / "rust", str, too_long=NEVER
    ).text
    assert "FAILED rust/tests::ok (error) rust/src/lib.rs:3" in told
    assert "not run, although there are tests for them too: node (name a `runner`)" in told


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("E   ModuleNotFoundError: No module named 'calc'", 'sys.path.insert(0, "src")'),
        ("ModuleNotFoundError: No module named 'shop'", 'sys.path.insert(0, "lib")'),
        ("ModuleNotFoundError: No module named 'requests'", "install it in `.venv`"),
        ("ModuleNotFoundError: No module named 'calc.tax'", ""),
        ("AttributeError: no", ""),
    ],
)
def test_FLW_04_a_module_of_the_workspace_is_told_from_a_package(message: str, advice: str) -> None:
    said = advise_on_missing(message, ["src/calc.py", "lib/shop/__init__.py", "tests/test_calc.py"])
    assert advice in said
    assert bool(said) == bool(advice)
