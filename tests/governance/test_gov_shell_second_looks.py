"""Spellings that a shell evaluates a second time, or takes for something else than they seem (CMD-02).

A real shell runs each first, which must start `other`, or another `pa` than the allowed one: a trick that does not work
proves nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from rows import rows

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.shell.parse import read_script
from remit_governance.values import Verdict

# Every program in `elsewhere` has the name of an allowed one, and notes that it ran.
STUB = '#!/bin/sh\n[ -e "$NOTE" ] || echo "$0" "$@" > "$NOTE"\n'

TRICKS = {
    "a loop sets PATH": ("sh", "for PATH in elsewhere; do pa; done"),
    "a loop sets what is printed, and read again, before each command": ("bash", "for PS4 in '$(other)'; do set -x; :; done"),
    "export of a quoted assignment": ("sh", 'export "PATH=elsewhere"; pa'),
    "export of a half quoted assignment": ("sh", "export PAT'H=elsewhere'; pa"),
    "export of an escaped assignment": ("sh", "export P\\ATH=elsewhere; pa"),
    "hash says what a name stands for": ("bash", "hash -p elsewhere/pa pa; pa"),
    "printf sets PATH": ("bash", "printf -v PATH elsewhere; pa"),
    "printf sets what a pattern says": ("bash", "printf ?v PATH elsewhere; pa"),
    "printf sets an element": ("bash", "printf -v 'a[$(other)]' x"),
    "test looks for an element": ("bash", "test -v 'a[$(other)]'"),
    "brackets look for an element": ("bash", "[ -v 'a[$(other)]' ]"),
    "brackets look for what a variable holds": ("bash", "x='a[$(other)]'; [ -v \"$x\" ]"),
    "brackets look in a way that a variable holds": ("bash", "o=-v; [ $o 'a[$(other)]' ]"),
    "wait sets an element": ("bash", "true & wait -n -p 'a[$(other)]'"),
    "arguments are variables": ("bash", "set -k; pa PATH=elsewhere"),
    "arguments are variables, by a long name": ("bash", "set -o keyword; pa PATH=elsewhere"),
    "let reckons": ("bash", "let 'a[$(other)]=1'"),
    "read sets an element": ("bash", "read 'a[$(other)]' < file"),
    "mapfile calls": ("bash", "mapfile -C other -c 1 x < file"),
    "compgen expands": ("bash", "compgen -W '$(other)'"),
    "a plus before a shell's options": ("sh", "sh +x -c other"),
    "find runs what it found, in a wrapper": ("sh", "find elsewhere -name other -exec env {} \\;"),
    "find goes on behind a plus": ("sh", "find file -exec sed -n + -e '1e other' {} \\;"),
    "sed takes letters behind -i for a suffix": ("sh", "sed -iep '1e other' file"),
    "sed takes a long option cut very short": ("sh", "sed --e='1e other' file"),
    "sed takes a word for an option's value": ("sh", "sed -l 5 '1e other' file"),
    "split takes a long option cut very short": ("sh", "split --f=other file"),
    "git grep opens, in a bundle": ("sh", "git grep --no-index -nOother text file"),
    "git push runs, by an option cut short": ("sh", "git -C repository push --e ../elsewhere/other . HEAD"),
    "install strips by another program": ("sh", "install -s --strip-pro=elsewhere/other file copy"),
    "wget asks a program for a password": ("sh", "wget --use-askpass=elsewhere/other http://127.0.0.1:1/"),
    "wget runs a line of its settings": ("sh", "wget -qe use_askpass=elsewhere/other http://127.0.0.1:1/"),
    "a variable for a descriptor": ("bash", "pa {x}>/dev/null other"),
    "a number that is nothing, as the program": ("sh", "$! other"),
    "a number that is nothing, in a word": ("sh", "oth$!er"),
    "a number that is nothing, in quotes": ("sh", '"oth$!er"'),
    "a number that is chosen": ("sh", "sh -c 'exit 3'; other$?"),
    "backticks in a here-document": ("sh", "pa <<E\n`other`\nE\n"),
    "a here-document after which the grammar finds no end": ("sh", "pa <<E''\n$\nE\nother\n"),
    "a here-document before a semicolon": ("sh", "pa <<1; other\nx\n1\n"),
    "a here-document whose end is no name": ("sh", "pa <<E#\n$\nE#\nother\n"),
    "a here-document whose end looks like a variable": ("sh", "pa <<$E; other\n$E\n"),
    "a here-document that goes on over a line's end": ("sh", "pa <<E; pa <<'F'\nx\\\nE\nF\nE\n`other`\nF\nother\nF\n"),
    "a here-document for a shell in a wrapper": ("bash", "env bash - <<E\nother\nE\n"),
    "a line that begins with a backslash and goes on": ("sh", "pa\n\\\nother"),
    "a loop's variable is read anew": ("sh", 'echo other > n; for f in pa; do read -r f < n; "$f"; done'),
    "a loop's variable is read by a wrapped read": (
        "sh", 'echo other > n; for f in pa; do command read -r f < n; "$f"; done'
    ),
    "a loop's variable is set in the loop": ("sh", 'for f in pa; do f=other; "$f"; done'),
    "a loop in a loop has the same variable": ("sh", 'for f in pa; do for f in other; do "$f"; done; done'),
    "a loop's variable is several words": ("sh", "for f in 'env other'; do $f; done"),
    "a loop's variable is the program": ("sh", 'for f in pa other; do "$f"; done'),
    "a loop's variable is an option": ("bash", "for f in -v; do printf \"$f\" 'a[$(other)]' x; done"),
    "a variable is the option that names one": ("bash", "x=-v; printf \"$x\" 'a[$(other)]' x"),
    "brackets look in a way that a quoted variable holds": ("bash", "o=-v; [ \"$o\" 'a[$(other)]' ]"),
    "test looks in a way that a quoted variable holds": ("bash", "o=-v; test \"$o\" 'a[$(other)]'"),
    "double brackets reckon": ("bash", "x='a[$(other)]'; [[ $x -eq 1 ]]"),
    "double brackets look for an element": ("bash", "x='a[$(other)]'; [[ -v $x ]]"),
    "a sum reckons with what a variable holds": ("bash", "x='a[$(other)]'; echo $((x))"),
    "a variable names another": ("bash", "x='a[$(other)]'; echo ${!x}"),
    "a default is assigned, and is the program": ("sh", "echo ${x:=other}; $x"),
    "a length reckons": ("bash", "x='a[$(other)]'; echo ${x:$x}"),
    "a list in braces is the program": ("bash", 'for f in {other,pa}; do "$f"; done'),
    "a default is run": ("sh", "echo ${x:-$(other)}"),
    "a substitution is the argument of what only shows it": ("sh", 'echo "$(other)"'),
    "a substitution is the text of a message": ("sh", 'git commit -m "$(other)"'),
    "a substitution does not end in a comment": ("sh", "echo $(true # )\nother\n)"),
    "a substitution in a substitution": ("sh", 'echo "$(basename "$(other)")"'),
    "a command stands in for a file": ("bash", "cat <(other)"),
    "a here-string for a shell": ("bash", "bash <<< other"),
    "a here-string for a shell that reads a file": ("bash", "bash /dev/stdin <<< other"),
    "a here-string for a shell in a wrapper": ("bash", "env bash /dev/stdin <<< other"),
    "a here-string with a substitution": ("bash", 'cat <<< "$(other)"'),
    "a list in braces is a wrapper's arguments": ("bash", "timeout {5,other}"),
    "a list in braces is an assignment and a program": ("bash", "env {X=1,other}"),
    "a word right behind empty quotes": ("sh", "oth''\\er"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder in which the tricks are run."""
    (tmp_path / "elsewhere").mkdir()
    for name in ("elsewhere/pa", "elsewhere/other", "elsewhere/other3"):
        (tmp_path / name).write_text(STUB)
        (tmp_path / name).chmod(0o755)
    # The stub notes its own path, which tells the program in `elsewhere` from the allowed one.
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed/pa").write_text('#!/bin/sh\n[ "$1" != other ] || . elsewhere/other\n')
    (tmp_path / "allowed/pa").chmod(0o755)
    (tmp_path / "file").write_text("text\n")
    (tmp_path / "-v").touch()
    return tmp_path


def plays(shell: str, script: str, folder: Path) -> bool:
    """Returns whether the shell starts a program that nobody allowed."""
    note = folder / "note"
    path = f"{folder}/allowed:/usr/bin:/bin"
    # `other` is found like a program of the system, but the `pa` in `elsewhere` only if the trick makes the shell use
    # it.
    (folder / "allowed").joinpath("other").symlink_to("../elsewhere/other")
    (folder / "allowed").joinpath("other3").symlink_to("../elsewhere/other")
    if "repository" in script:
        git = ("git", "-c", "user.name=x", "-c", "user.email=x@y")
        subprocess.run((*git, "init", "-q", "repository"), cwd=folder, check=True)
        subprocess.run(
            (*git, "commit", "-q", "--allow-empty", "-m", "x"),
            cwd=folder / "repository",
            env={**os.environ, "HOME": str(folder)},
            check=True,
        )
    subprocess.run(
        [f"/bin/{shell}", "-c", script],
        cwd=folder,
        env={"PATH": path, "NOTE": str(note), "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return note.exists()


@pytest.mark.parametrize(("shell", "script"), TRICKS.values(), ids=TRICKS)
def test_THR_shell_a_spelling_with_a_second_meaning_is_named_or_doubted(shell: str, script: str, folder: Path) -> None:
    if shutil.which(shell, path="/bin") is None:
        pytest.skip(f"no {shell} here")
    if not plays(shell, script, folder):
        pytest.skip("the programs of this system do not do this")
    # The line itself, and a line that names the shell which reads it.
    for line in (script, f"{shell} -c {quoted(script)}"):
        reading = read_script(line)
        assert reading.doubts or ("other",) in reading.commands, line


def quoted(script: str) -> str:
    return "'" + script.replace("'", "'\\''") + "'"


@rows(
    ("script", "doubt"),
    [
        ("sed -i.git/hooks/* p file", True),
        ("sed -i.bak s/a/b/ file", False),
        ("sed -ne p file", False),
        ('awk \'BEGIN { print ";" > "o" }\'', True),
        ('awk \'BEGIN { print "a", "}" > "o" }\'', True),
        ("awk -W exec=file", True),
        ("awk -oo '{ print }' file", True),
        ("awk 'NR > 1 { print $1 }' file", False),
        ("git remote -v add x y", True),
        ("git remote -v", False),
        ("unzip file.zip -l", True),
        ("unzip -l file.zip", False),
        ("export http_prox'y=x'; pa", True),
        ("export CI=1; pa", False),
        ("for f in a b; do pa; done", False),
        ("echo {a,b} {a}", True),
        ("pa; echo $?", False),
        ("pa & wait $!", False),
        ('pa; [ $? -eq 0 ] && echo "it was $?"', False),
        ("pa > file$?", True),
        ("set -euo pipefail; pa", False),
        ("find . -name x -exec pa {} +", False),
        ("bash -eu -c pa", False),
        ("pa <<'E' | pb\n$(x) `y`\nE\npa", False),
        ("pa <<-E > o && pb\n\tit's (x) \\n \"\n\tE\npa", False),
        ("pa <<A <<'B'; pb\n1\nA\n$2\nB\n(pa)", False),
        ("pa <<E\n$x costs $5 \\n\nE\n", False),
        ("x='a[$(other)]'; pa <<E\n$[x]\nE\n", True),
        ("x='a[$(other)]'; pa <<E\n$((x))\nE\n", True),
        ("pa <<E\n${x:-$(other)}\nE\n", True),
        ("pa <<E\nx", True),
        ('pa <<E "a\nb"\nE\n', True),
        ("pa 'a << b' \"c << d\" # <<E", False),
        ('pa "1 << 2\n3"', False),
        ("pa a\\ b \\\n  -x", False),
        ("pa \\ b", True),
        ("git ''\\push", True),
    ],
)
def test_a_second_look_is_asked_for_where_it_changes_something(script: str, doubt: bool) -> None:
    assert bool(read_script(script).doubts) is doubt


def test_THR_shell_what_follows_a_here_document_is_read() -> None:
    reading = read_script("cat <<E > o; rm x | tee p\nhi\nE\nrm y\n")
    assert reading.commands == (("cat",), ("rm", "x"), ("tee", "p"), ("rm", "y"))
    assert reading.writes == ("o", "x", "p", "y")


def test_THR_shell_an_option_cut_to_one_letter_still_names_what_it_writes() -> None:
    assert read_script("sort --o=file x").writes == ("file",)


@pytest.mark.parametrize(
    "command",
    [
        "npm --prefix . publish",
        "npm --loglevel silent --prefix=x publish now",
        "/usr/bin/npm -w x publish",
        "npm --yes publish",
    ],
)
def test_THR_shell_an_options_value_does_not_hide_a_denied_subcommand(command: str) -> None:
    assert denied(command)


@pytest.mark.parametrize("command", ["npm run publish", "npm --x=y test publish", "npm test", "npm"])
def test_a_denied_subcommand_denies_no_other(command: str) -> None:
    assert not denied(command)


def test_THR_shell_thousands_of_options_are_read_at_once() -> None:
    assert not denied("npm " + "-a x " * 790)


def denied(command: str) -> bool:
    rules = """\
version: 1
capabilities:
  - { name: npm, match: { syscall: process.exec, command: npm }, action: allow }
  - { name: no-publish, match: { syscall: process.exec, command: npm publish }, action: deny }
"""
    action = parse_action({"syscall": "process.exec", "command": command})
    return evaluate(compile_policy([Source("policy.yaml", rules)]), action).verdict is Verdict.DENY


def test_THR_shell_find_makes_no_option_of_a_files_name(tmp_path: Path) -> None:
    """`rm -{}` is `rm -rf` if a file is called `rf`; `{}` alone is always the name of a file."""
    (tmp_path / "rf").touch()
    (tmp_path / "x" / "y").mkdir(parents=True)
    script = "find rf -exec rm -{} x \\;"
    subprocess.run(["/bin/sh", "-c", script], cwd=tmp_path, check=True)
    assert not (tmp_path / "x").exists()
    assert read_script(script).doubts
    assert not read_script("find rf -exec grep x {} \\;").doubts
