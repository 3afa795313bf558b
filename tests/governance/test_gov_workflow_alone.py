"""What proves tests that are written without code, with every runner, and what does not (FLW-16)."""

from __future__ import annotations

import pytest
from rows import rows

from remit_governance.workflow.position import Position
from remit_governance.workflow.proof.alone import prove_alone
from remit_governance.workflow.proof.runs import Red, TestCase, TestFiles, TestRun
from remit_governance.workflow.states import Mode, State, Trigger

OLD = {"tests/test_a.py": "def test_old():\n    assert add(1, 2) == 3\n"}
NEW = {"tests/test_b.py": "def test_new():\n    assert rows('rows.json') == [1]\n"}
PASSED = (TestCase("tests/test_a.py::test_old", "passed"), TestCase("tests/test_b.py::test_new", "passed"))


def is_proven(
    now: dict[str, str], *, cases: tuple[TestCase, ...] = PASSED, whole: bool = True, doubt: str = ""
) -> bool:
    return prove_alone(TestRun(cases, whole, doubt), TestFiles(OLD), TestFiles(now)) is None


@rows(
    ("more", "proven"),
    [
        ({}, True),
        ({"tests/__init__.py": ""}, True),
        ({"tests/data/rows.json": "[1]"}, True),
        ({"tests/__snapshots__/test_b.py.snap": "1"}, True),
        ({"tests/data/other.json": "[1]"}, False),
        ({"tests/help.py": "x = 1\n"}, False),
        ({"tests/conftest.py": "import pytest\n"}, False),
        ({"tests/rows.json.py": "# rows.json\n"}, False),
        ({"tests/test_c.py": "def test_old():\n    assert 1\n"}, False),
        ({"tests/test_a.py": OLD["tests/test_a.py"] + "\n# more\n"}, False),
    ],
)
def test_FLW_16_tests_alone_are_new_files_each_of_tests_that_passed_or_their_data(
    more: dict[str, str], proven: bool
) -> None:
    assert is_proven({**OLD, **NEW, **more}) == proven


def test_FLW_16_what_is_gone_skipped_or_not_of_all_tests_proves_no_tests_alone() -> None:
    assert not is_proven(NEW), "an old file of tests is gone"
    assert not is_proven(OLD), "nothing is new"
    assert not is_proven({**OLD, **NEW}, whole=False)
    assert not is_proven({**OLD, **NEW}, doubt="something rewrote the report")
    assert not is_proven({**OLD, **NEW}, cases=(PASSED[0], TestCase(PASSED[1].id, "skipped")))
    assert not is_proven({**OLD, **NEW}, cases=(TestCase(PASSED[0].id, "failed"), PASSED[1]))


@pytest.mark.parametrize(
    ("path", "test_id", "text"),
    [
        ("b.test.ts", "b.test.ts > sum > adds three", "it('adds three', () => {\n  expect(3).toBe(3)\n})\n"),
        ("b_test.go", "m/p.TestThree", "func TestThree(t *testing.T) {\n\tadd(t)\n}\n"),
        ("tests/b.rs", "three", "#[test]\nfn three() {\n    assert!(true);\n}\n"),
        ("test_b.py", "test_b.Case.test_x", "class Case:\n    def test_x(self): assert 1\n"),
        ("test_b.py", "test_b.Many.test_7", "class Many: ...\n\nfor n in range(9): setattr(Many, f'test_{n}', f)\n"),
    ],
)
def test_FLW_16_the_file_of_a_test_is_found_in_each_language(path: str, test_id: str, text: str) -> None:
    assert is_proven({**OLD, path: text}, cases=(PASSED[0], TestCase(test_id, "passed")))


def test_FLW_16_tests_alone_lead_back_to_tests_and_work_with_code_to_the_code() -> None:
    alone = Position(Mode.STRICT, State.TEST_WRITING).take(Trigger.TESTS_ENDED, tests_alone=True)[0]
    assert alone.is_tests_alone
    assert alone.take(Trigger.APPROVED)[0].is_tests_alone
    assert alone.take(Trigger.REJECTED)[0].state is State.TEST_WRITING
    red = Red(frozenset({"t"}), frozenset({"t"}), TestFiles(OLD))
    with_code = Position(Mode.STRICT, State.REVIEWING, red=red)
    assert not with_code.is_tests_alone
    assert with_code.take(Trigger.REJECTED)[0].state is State.CODE_WRITING
