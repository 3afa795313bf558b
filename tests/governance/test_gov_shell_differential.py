"""The reading of command lines, compared with a real shell: what the shell starts and writes was foreseen or doubted
(CMD-02)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from remit_governance.policy.shell.parse import read_script
from remit_governance.policy.shell.reading import Reading

# Each stub appends its name and words, in one write, to the file `log` beside it.
STUB = '#!/bin/sh\nprintf \'%s\\0\' "${0##*/}" "$@" \'\n\' >> "${0%/*}/log"\n'
STUBS = ("pa", "pb", "rmx")

WORDS = st.sampled_from(
    [
        *(
            "x",
            "y.txt",
            "-n",
            "--",
            "'a b'",
            '"a b"',
            "a\\ b",
            'r"m"x',
            "p''a",
            "$?",
            '"$x"',
            "$(pa)",
            "`pa`",
            "*",
            "x*",
        ),
        *(
            "{a,b}",
            "~",
            "1",
            "\\;",
            "a=b",
            "#c",
            "'#'",
            "rmx",
            "pb",
            "$'x'",
            '"a $? b"',
            "${x}",
            "..",
            "x/../y",
            '"\\$x"',
            "''\\pa",
            "$!",
            "{x}>o",
            "\\ x",
            '"$f"',
            "$f",
            '"$(echo x)"',
            '"$HOME"',
            "$((1 + 1))",
        ),
    ]
)
PROGRAMS = st.sampled_from(
    [
        *("pa", "pb", "rmx", "env pa", "timeout 5 pb", "nice rmx", "sh -c 'pa x'", "command pb", "exec pa", "echo"),
        *("cd x", "x=1", "CI=1 pa", "r'm'x", "\\pa", "test", "find y.txt -exec pa {} \\;", 'sh -c "rmx; pb"'),
        *("time pa", "! pb", "env -i PATH=x pa", "nohup pa", "echo y.txt | xargs pa", "xargs echo pb", "set -- pa"),
    ]
)
REDIRECTIONS = st.sampled_from(
    [">o", "> o", ">>x/o", "<y.txt", "2>&1", "2>/dev/null", "> 'q r'", "<>io", ">|c", "1>&2", "&>z", "12>&1", ">&y"]
)
HERE = st.sampled_from(
    [
        *("{0} <<E\nhi\nE\n{1}", "{0} <<'E'\n$(pa)\nE\n{1}", "{0} <<-E; {1}\n\tx\n\tE\n", "{0} <<1; {1}\n$\n1\n"),
        *("{0} <<E | {1}\n`pa`\nE\n", "{0} <<E''\n$\nE\n{1}", "{0} <<E#\n$\nE#\n{1}", "{0} <<$E; {1}\n$E\n"),
        *("{0} <<E\nx\\\nE\n{1}\nE\n{1}", "{0} <<A <<B && {1}\n1\nA\n2\nB\n", '{0} <<"E"\nE \nE\n{1}'),
    ]
)
NOISE = st.sampled_from([*list("()'\"\\$|&; \n><#*?{}~![]=\t"), "\\\n", "$(", "<<", "do ", "fi", "$((1))", "\r"])


@st.composite
def simple_commands(draw: st.DrawFn) -> str:
    words = [draw(PROGRAMS), *draw(st.lists(WORDS, max_size=3))]
    for redirection in draw(st.lists(REDIRECTIONS, max_size=2)):
        words.insert(draw(st.integers(0, len(words))), redirection)
    return " ".join(words)


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joints = st.sampled_from([" | ", " && ", " || ", "; ", "\n", "|", "&&"])
    return st.one_of(
        st.tuples(inner, joints, inner).map("".join),
        inner.map("({})".format),
        inner.map("{{ {}; }}".format),
        st.tuples(inner, inner).map(lambda two: f"if {two[0]}; then {two[1]}; fi"),
        inner.map("for f in x -n 'a b'; do {}; done".format),
        st.tuples(inner, HERE, inner).map(lambda of: of[1].format(*of[::2])),
    )


@st.composite
def scripts(draw: st.DrawFn) -> str:
    script = draw(st.recursive(simple_commands(), compound, max_leaves=4))
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(script)))
        script = script[:at] + draw(NOISE) + script[at:]
    return script


@pytest.fixture(scope="module")
def stubs() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    for name in STUBS:
        (folder / name).write_text(STUB)
        (folder / name).chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def really(script: str, stubs: Path) -> tuple[list[tuple[str, ...]], set[str]]:
    """Runs the script in a real shell; returns the calls of the stubs, and the files that were made."""
    log = stubs / "log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x").mkdir()
        (Path(folder) / "y.txt").touch()
        before = set(Path(folder).rglob("*"))
        subprocess.run(
            ["/bin/sh", "-c", script],
            cwd=folder,
            env={"PATH": f"{stubs}:/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20,
            check=False,
        )
        made = {os.path.relpath(path, folder) for path in set(Path(folder).rglob("*")) - before}
    calls = log.read_bytes().split(b"\n\0")[:-1] if log.exists() else []
    return [tuple(word.decode() for word in call.split(b"\0")[:-1]) for call in calls], made


def digits(words: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the words with every number as `0`, because a reading says `0` for the value of `$?`."""
    return tuple(re.sub("[0-9]+", "0", word) for word in words)


def foreseen(call: tuple[str, ...], reading: Reading) -> bool:
    """Returns whether the call is among the commands; a pattern and `find`'s `{}` stand for any number of words."""
    call = digits(call)
    for command in map(digits, (*reading.commands, *reading.wrappers)):
        if any(w == "{}" or set("*?[") & set(w) for w in command):
            at = next(n for n, w in enumerate(command) if w == "{}" or set("*?[") & set(w))
            if call[:at] == command[:at]:
                return True
        if call == command:
            return True
        if command[:1] == ("xargs",) and call[:1] == command[1:2]:
            return True
    return False


@pytest.mark.slow
@example(script="pa\n\\pa")
@example(script="for f in x -n 'a b'; do for f in x -n 'a b'; do >o cd x; done; done")
@settings(max_examples=examples(1500), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=scripts())
def test_what_a_shell_does_was_foreseen_or_doubted(script: str, stubs: Path) -> None:
    """THR-shell: no spelling starts a program or writes a file that the reading does not name."""
    reading = read_script(script)
    if reading.doubts:
        return
    calls, made = really(script, stubs)
    for call in calls:
        assert foreseen(call, reading), (call, reading)
    written = {os.path.normpath(path) for path in reading.writes}
    assert {path for path in made if not any(fnmatchcase(path, w) for w in written)} == set()


def test_the_comparison_would_notice(stubs: Path) -> None:
    """Shows that the comparison is not empty: the shell really starts the stubs and writes files."""
    calls, made = really("pa 'a b' > o; cd x && rmx > p", stubs)
    assert calls == [("pa", "a b"), ("rmx",)]
    assert made == {"o", "x/p"}
    assert not foreseen(("rmx", "-rf"), read_script("rmx"))
