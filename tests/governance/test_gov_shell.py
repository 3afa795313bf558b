"""Command lines read as trees: tricks are recognised or doubted, everyday lines are certain (CMD-02)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rows import rows
from shell_cases import HARMLESS, TRICKS
from work_done import calls_made_by

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.load import load_policy
from remit_governance.policy.matching.scripts import parts_of
from remit_governance.policy.shell.bash_words import bash_words
from remit_governance.policy.shell.parse import read_script
from remit_governance.policy.shell.words import as_written, to_parse
from remit_governance.values import Action

DEFAULT = load_policy()


@rows("trick", TRICKS, ids=lambda trick: trick["is"])
def test_THR_shell_trick(trick: dict[str, Any]) -> None:
    reading = read_script(trick["script"])
    assert bool(reading.doubts) is trick.get("doubt", False)
    if "runs" in trick:
        assert tuple(trick["runs"]) in reading.commands
    if "denied" in trick:
        assert tuple(trick["denied"]) in reading.wrappers
    assert set(trick.get("writes", ())) <= set(reading.writes)


@rows("script", HARMLESS)
def test_everyday_command_is_certain(script: str) -> None:
    """The opposite error: everyday commands need no approval."""
    assert read_script(script).doubts == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["$(", "(", "{ ", "`", "if ", "a=(", "<<E ", '"$(', "${x:-", "case x in ", "a | ", "! "]
)
def test_THR_shell_parsing_is_bounded(piece: str) -> None:
    """Input that makes a parser slow or nests endlessly is cut off, and is never certain."""
    assert read_script(piece * 2_000).doubts
    assert read_script(piece * (7_999 // len(piece))).doubts


def test_THR_shell_a_line_of_any_length_is_doubted() -> None:
    assert read_script("x" * 9_000).doubts == ("it is longer than 8000 characters",)


PIECES = [
    *(
        "{1..9}",
        "{a,b}",
        "{a,b} ",
        "eval ",
        "sudo ",
        "env ",
        "a=1 ",
        "$(",
        "`",
        "${",
        '"',
        "'",
        "(",
        "{ ",
        ";",
        "|",
        "&&",
    ),
    *(" x", "<<E\n", "E\n", "\\", "*", "[ ! ", "find . -exec ", "xargs ", "cd a;", "if ", "for x in a b;do ", "done;"),
    *(
        "case x in a) ",
        ";;",
        "while ",
        "$x",
        "${x%a}",
        "$((1+",
        "<(",
        ">a ",
        "sh -c '",
        "timeout 5 ",
        "git ",
        "~",
        "x=$x;",
    ),
]


@example("{1..9}", 12)
@example("{a,b}", 100)
@example("eval ", 790)
@example("x=$x;git ", 440)
@example("[ ! ", 990)
@example("while true;do cd a;", 200)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), st.integers(1, 4_000))
@settings(max_examples=60)
def test_CMD_06_reading_any_line_takes_bounded_work(piece: str, times: int) -> None:
    """Work is counted in calls, which do not depend on the machine's load; 0.1 s is about 300,000 calls."""
    assert calls_made_by(lambda: evaluate(DEFAULT, script_action("echo " + (piece * times)[:8_000]))) < 400_000


def script_action(script: str) -> Action:
    return Action("process.exec", None, script=script, tool="run_command")


def test_CMD_06_a_product_of_braces_is_refused_before_it_is_made() -> None:
    """It has 68 characters and would expand to 282 thousand million words."""
    assert read_script("echo " + "{1..9}" * 12).doubts
    assert not read_script("echo {1..9}{1..9}").doubts


@example("\x80ÿÿÿÿ")
@given(st.text(max_size=60))
def test_CMD_06_each_part_of_a_script_is_found_again(script: str) -> None:
    assert as_written(to_parse(script)) == script
    assert max(to_parse(script).decode(), default="") <= "\xff"
    assert isinstance(bash_words(script), tuple)


@pytest.mark.slow
@pytest.mark.parametrize("wide", ["\u20ac", "\u62a5", "\U0001f600", "\U0010fffd"])
def test_THR_shell_a_wide_character_anywhere_ends_no_process(wide: str) -> None:
    """THR-shell-wide: the grammar looks characters up in a table of 256, so that a wide one after `{` ended the
    server."""
    before = ("{", "{a,", "<<", "$", "[ -", "a=", "${", "((")
    scripts = [f"{each}{wide}{after}" for each in before for after in ("", "}")]
    code = f"from remit_governance.policy.shell.parse import read_script\nlist(map(read_script, {scripts!a}))"
    for _ in range(3):  # the layout of memory changes with each process
        subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["\u62a5\u544a.md", "\U0001f600.txt", "\u00e9t\u00e9.md"])
@pytest.mark.parametrize("spelled", ["cat {}", 'cat "{}"', "cat '{}'", "cat a/{} >/dev/null"])
def test_CMD_06_a_name_in_any_script_is_read_as_it_stands(name: str, spelled: str) -> None:
    reading = read_script(spelled.format(name))
    assert reading.doubts == ()
    assert reading.commands[0][1].endswith(name)


@example('0"\u00a1')
@given(st.text(max_size=60) | st.text(alphabet="ab $()'\"\\|&;<>{}`\n=-", max_size=60))
def test_anything_can_be_read(script: str) -> None:
    """It never raises; a line with no certain command and no doubt is blank, a comment or a redirection."""
    reading = read_script(script)
    if not (reading.commands or reading.doubts or reading.writes or reading.reads or "[" in script):
        lines = [line.strip() for line in script.split("\n")]
        assert all(not line or line.startswith("#") or "=" in line or "&" in line or "<" in line for line in lines)


@rows(
    ("script", "written"),
    [
        ("echo a > /tmp/x", []),
        ("cd /tmp && echo a > y", ["y"]),  # because `cd` may fail
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
    """In the sandbox these folders are the command's own; a path that leads out of them is judged as usual."""
    parts = parts_of(Action("process.exec", script=script))
    assert [action.path for action in parts.actions if action.syscall == "fs.write"] == written
