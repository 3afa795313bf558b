"""CONTRIBUTING.md: with REMIT_REQUIRE_E2E=1 a skip for a missing program is a failure, but no other skip is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TESTS = """
import pytest

@pytest.fixture
def chromium():
    pytest.skip("there is no chromium: apt-get install chromium")

def test_in_a_fixture(chromium): ...
def test_in_the_body(): pytest.skip("needs the mlx extra")
@pytest.mark.skipif(True, reason="needs bubblewrap")
def test_by_a_mark(): ...
@pytest.mark.skipif(True, reason="root may write where the mode says nobody may")
def test_of_this_system(): ...
@pytest.mark.xfail
def test_expected_to_fail(): raise AssertionError
def test_that_runs(): ...
"""
MODULE = 'import pytest\npytest.importorskip("no_such_package", reason="needs the mlx extra")\n'


@pytest.mark.parametrize(
    ("required", "outcomes"),
    [("1", {"failed": 1, "errors": 3}), ("0", {"skipped": 5})],
    ids=["required", "not-required"],
)
def test_a_skip_for_a_missing_program_fails_where_none_may_be_missing(
    required: str, outcomes: dict[str, int], tmp_path: Path
) -> None:
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_whole_module.py").write_text(MODULE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    command += ["--continue-on-collection-errors", "-p", "no:xdist"]
    support = str(Path(__file__).with_name("support"))
    environment = os.environ | {"REMIT_REQUIRE_E2E": required, "PYTHONPATH": support}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    ended = re.findall(r"(\d+) (\w+)", done.stdout.strip().splitlines()[-1])
    counted = {
        kind: int(number) for number, kind in ended if kind in {"passed", "failed", "errors", "skipped", "xfailed"}
    }
    assert counted == {"passed": 1, "xfailed": 1, "skipped": 1} | outcomes, done.stdout
