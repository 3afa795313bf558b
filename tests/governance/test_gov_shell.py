"""Command lines read as trees: tricks are seen or doubted, everyday lines are certain (CMD-02)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from shell_cases import HARMLESS, TRICKS

from remit_governance.policy.matching.scripts import parts_of
from remit_governance.policy.shell.parse import read_script
from remit_governance.values import Action


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick["is"])
def test_THR_shell_trick(trick: dict[str, Any]) -> None:
    reading = read_script(trick["script"])
    assert bool(reading.doubts) is trick.get("doubt", False)
    if "runs" in trick:
        assert tuple(trick["runs"]) in reading.commands
    if "denied" in trick:
        assert tuple(trick["denied"]) in reading.wrappers
    assert set(trick.get("writes", ())) <= set(reading.writes)


@pytest.mark.parametrize("script", HARMLESS)
def test_everyday_command_is_certain(script: str) -> None:
    """The other error: what people run all day is not held up."""
    assert read_script(script).doubts == ()


@pytest.mark.parametrize(
    "piece", ["$(", "(", "{ ", "`", "if ", "a=(", "<<E ", '"$(', "${x:-", "case x in ", "a | ", "! "]
)
def test_THR_shell_parsing_is_bounded(piece: str) -> None:
    """Input that makes a parser slow, or nests without end, is cut off and never certain."""
    assert read_script(piece * 2_000).doubts
    assert read_script(piece * (7_999 // len(piece))).doubts


def test_THR_shell_a_line_of_any_length_is_doubted() -> None:
    assert read_script("x" * 9_000).doubts == ("it is longer than 8000 characters",)


@example('0"\u00a1')
@given(st.text(max_size=60) | st.text(alphabet="ab $()'\"\\|&;<>{}`\n=-", max_size=60))
def test_anything_can_be_read(script: str) -> None:
    """Never raises; what runs nothing certain and says nothing is blank, a comment, or a redirection."""
    reading = read_script(script)
    if not (reading.commands or reading.doubts or reading.writes or reading.reads or "[" in script):
        lines = [line.strip() for line in script.split("\n")]
        assert all(not line or line.startswith("#") or "=" in line or "&" in line or "<" in line for line in lines)


@pytest.mark.parametrize(
    ("script", "written"),
    [
        ("echo a > /tmp/x", []),
        ("cd /tmp && echo a > y", ["y"]),  # for the folder may not be entered
        ("cp a /var/tmp/b; tee //tmp/./c", []),
        ("cp a /tmp", []),
        ("echo a > /tmp/../etc/x", ["/tmp/../etc/x"]),
        ("echo a > /tmpfile", ["/tmpfile"]),
        ("echo a > tmp/x", ["tmp/x"]),
        ("echo a > ../tmp/x", ["../tmp/x"]),
        ("echo a > /TMP/x", ["/TMP/x"]),
    ],
)
def test_what_a_command_writes_to_its_own_scratch_is_nobodys_business(script: str, written: list[str]) -> None:
    """In the sandbox these are folders of its own; what leads out of them is judged as ever."""
    parts = parts_of(Action("process.exec", script=script))
    assert [action.path for action in parts.actions if action.syscall == "fs.write"] == written
