"""Each threat in the table has a test that attacks as the table says, or the table says what is missing."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
from threat_table import DOORS, TESTS, Threat, Tried, doors, found_in, names_in, threats, tried

TABLE = threats(Path(__file__).with_name("threats.yaml").read_text("utf-8"))
HELD = [threat for threat in TABLE if not threat.open]
OPEN = [threat for threat in TABLE if threat.open]
DOCS = TESTS.parent / "docs" / "threats.md"


def _tries(threat: Threat) -> list[Tried]:
    return [test for name in threat.tests for test in tried().get(name, ())]


def test_every_threat_has_the_tests_that_the_table_names() -> None:
    assert [f"{threat.what}: {name}" for threat in HELD for name in threat.tests if name not in tried()] == []


def test_every_threat_is_tried_through_the_door_that_the_table_names() -> None:
    """A test that starts no server does not attack one, whatever its name says."""
    wrong = [
        f"{threat.what}: nothing goes through `{threat.through}`"
        for threat in HELD
        if not any(threat.through in test.doors for test in _tries(threat))
    ]
    assert wrong == []


def test_a_threat_without_a_door_says_why() -> None:
    assert {threat.through for threat in HELD} <= {*DOORS, "pure"}
    assert [threat.what for threat in HELD if (threat.through == "pure") is not bool(threat.why)] == []


def test_no_attack_is_left_out_on_purpose() -> None:
    """A test that is skipped for a missing program fails where all are required; one that is always skipped would never
    fail."""
    assert [test.place for threat in HELD for test in _tries(threat) if test.skipped] == []


def test_the_table_has_every_section_and_says_each_threat_once() -> None:
    assert list(dict.fromkeys(threat.group for threat in TABLE)) == [
        "Shell",
        "Paths",
        "Configuration and persistence",
        "Approvals",
        "Storage (audit)",
        "Sandbox (network)",
        "Sandbox",
        "Sandbox (toolchains)",
        "Protocol",
        "Model",
        "Redaction",
        "Workflow",
        "HTTP",
        "MCP",
        "ACP",
        "Hooks",
        "MCP servers",
        "Pages of the web",
        "Plugins",
        "Background",
        "Queue",
    ]
    assert [what for what, count in Counter(threat.what for threat in TABLE).items() if count > 1] == []
    assert [threat.what for threat in TABLE if bool(threat.tests) is bool(threat.open)] == []


def test_what_is_not_held_yet_is_printed_and_told_to_whoever_reads_the_docs(capsys: pytest.CaptureFixture[str]) -> None:
    told = DOCS.read_text("utf-8")
    assert [threat.what for threat in OPEN if f"| {threat.what} | {threat.open} |" not in told] == []
    assert told.count("\n| ") - 1 == len(OPEN)
    with capsys.disabled():
        print(f"\n{len(HELD)} threats are tried, {len(OPEN)} are open: {', '.join(threat.what for threat in OPEN)}")


def test_a_name_that_no_test_bears_is_missed(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(
        "CASES = {'THR-c-d': 1}\nHERE = 'THR-not-used'\n\n"
        "def helper():\n    'THR-of-a-helper'\n\n"
        "@mark.parametrize('name', CASES)\ndef test_THR_a_b(server):\n    'THR-e: why'\n\n"
        "@mark.skip\ndef test_f(remit):\n    'THR-f'\n    return CommandLine\n"
    )
    found = dict(found_in(tmp_path / "test_some.py"))
    assert set(found) == {"THR-a-b", "THR-c-d", "THR-e", "THR-f"}
    assert {name: test.skipped for name, test in found.items() if test.skipped} == {"THR-f": True}
    assert found["THR-e"].doors == {"pure"}  # a fixture of this name starts nothing in this file
    assert found["THR-f"].doors == {"cli"}


def test_names_and_doors_are_read_as_they_are_written() -> None:
    assert names_in(ast.parse("x = ['THR-a-b: why', 'THR', 'THR-c']")) == {"THR-a-b", "THR-c"}
    assert doors({"make_bench", "sandbox"}) == {"runtime", "sandbox"}
    assert doors({"anything"}) == {"pure"}
