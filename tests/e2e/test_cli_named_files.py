"""The built-in model, in the real program, edits the file that was named, though several files have the same name."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import CommandLine
from messages import SAYS

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.model]

CODE = "def old_name():\n    return old_name\n"
RENAMED = CODE.replace("old_name", "new_name")
SHARED = ("util.py", "src/a/util.py", "src/b/util.py")
POLICY = """\
version: 1
capabilities:
  - { name: any, match: { syscall: [fs.read, fs.list, fs.write], path_glob: ["**"] }, action: allow }
"""


@pytest.fixture
def remit(tmp_path: Path) -> CommandLine:
    """`remit` in a workspace whose files all have the same code, under a policy that asks nobody."""
    for name in SHARED:
        (tmp_path / "shop" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shop" / name).write_text(CODE)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text(POLICY)
    return CommandLine.alone(tmp_path / "shop", tmp_path)


def changed(remit: CommandLine) -> dict[str, str]:
    """Returns the files that have changed, with their text."""
    found = {name: (remit.workspace / name).read_text() for name in SHARED}
    return {name: text for name, text in found.items() if text != CODE}


@pytest.mark.parametrize("path", SHARED)
def test_B5_of_files_that_share_a_name_the_named_one_is_edited(path: str, remit: CommandLine) -> None:
    done = remit(f"Use `new_name` instead of `old_name` throughout {path}")
    assert (done.code, changed(remit)) == (0, {path: RENAMED}), done.out
    assert SAYS.renamed_every_occurrence in done.out


def test_MOD_23_of_two_files_that_are_named_each_is_edited(remit: CommandLine) -> None:
    done = remit(f"Use `new_name` instead of `old_name` throughout {' and '.join(SHARED[:2])}")
    assert (done.code, changed(remit)) == (0, dict.fromkeys(SHARED[:2], RENAMED)), done.out


@pytest.mark.parametrize("place", ["Makefile", "src/c/util.py", "a/util.py"])
def test_B5_where_no_file_or_more_than_one_is_meant_none_is_edited(place: str, remit: CommandLine) -> None:
    """The model says so in words, and the exit code is 1."""
    done = remit(f"Use `new_name` instead of `old_name` throughout {place}")
    assert changed(remit) == {}
    assert done.code == 1
    assert "I stopped: " in done.out
    assert "Renamed" not in done.out
