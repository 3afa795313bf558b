"""BOX-02: if a command does not find a program of the project, the error says how to run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit_server.tools.run.command_parts import way_on


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("/usr/bin/bash: line 1: lint: command not found\n", True),
        ("sh: 1: lint: not found", True),
        ("sh: 1: other: not found", False),
        ("sh: 1: ../lint: not found", False),
        ("lint: all is well", False),
        ("a" * 2_000_000, False),
        (": not found\n" * 1_000, False),
    ],
)
def test_BOX_02_a_program_of_the_project_is_told_where_it_is(printed: str, told: bool, tmp_path: Path) -> None:
    programs = tmp_path / "node_modules" / ".bin"
    programs.mkdir(parents=True)
    (programs / "lint").touch()
    said = way_on(printed, tmp_path, tmp_path / "src")
    assert (said is not None and "../node_modules/.bin/lint" in said) is told


def test_BOX_02_a_program_whose_python_is_not_seen_is_named_with_it(tmp_path: Path) -> None:
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "pytest").touch()
    (programs / "python3").symlink_to(tmp_path / "elsewhere")
    said = way_on("sh: 1: pytest: not found", tmp_path, tmp_path)
    assert said is not None
    assert str(tmp_path / "elsewhere") in said
