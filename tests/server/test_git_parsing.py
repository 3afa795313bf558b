"""Output and settings of git, read by pure functions (GIT-01)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit_server.tools.git.git_diff import sections
from remit_server.tools.git.git_status import Entry, parse_status
from remit_server.workspace.git_config import harmless, parse_config

CONFIG = r"""# a comment
[core]
	autocrlf = input ; and one here
	bare
	editor = "a \"b\" # c" d \
and more
[Branch "fix/#1 \"x\""]
	Remote = origin
	merge = refs/heads/fix/#1
[remote "origin"] fetch = +refs/heads/*:refs/remotes/origin/*
[include]
	path = ../evil
"""


def test_settings_are_read_as_git_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(CONFIG)
    told = subprocess.run(
        ["git", "config", "--file", str(file), "--no-includes", "-z", "--list"], capture_output=True, check=True
    )
    theirs = [entry.partition("\n")[::2] for entry in told.stdout.decode().split("\0")[:-1]]
    assert [(name, value or "true") for name, value in theirs] == list(parse_config(CONFIG))


def test_only_what_starts_nothing_is_passed_on() -> None:
    assert harmless(parse_config(CONFIG), 'fix/#1 "x"') == (
        ("core.autocrlf", "input"),
        ('branch.fix/#1 "x".remote', "origin"),
        ('branch.fix/#1 "x".merge', "refs/heads/fix/"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
    )


@given(st.text(alphabet='[]"\\\n #;=abc.\t', max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    assert all("\0" not in name + value for name, value in parse_config(text))


names = st.binary(min_size=1, max_size=12).filter(
    lambda name: not {b"\0", b"/"} & {name[i : i + 1] for i in range(len(name))} and name not in {b".", b"..", b".git"}
)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(names, min_size=1, max_size=6, unique_by=lambda name: name.lower()))
def test_a_section_is_known_by_the_name_that_git_knows(tmp_path: Path, found: list[bytes]) -> None:
    """Whatever a file is called and contains, its section belongs to it and to no other file."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/%d" % len(list(tmp_path.iterdir()))))
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    for name in found:
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(
            b"diff --git a/x b/x\n* Unmerged path x\n" + name
        )
    subprocess.run(["git", "--literal-pathspecs", "add", "-A"], cwd=folder, check=True)
    empty = subprocess.run(["git", "diff", "--cached"], cwd=folder, check=True, capture_output=True).stdout
    assert sorted(os.fsencode(section.path or "?") for section in sections(empty)) == sorted(found)
    status = subprocess.run(
        ["git", "status", "--porcelain=v2", "-z", "--branch"], cwd=folder, check=True, capture_output=True
    )
    assert sorted(os.fsencode(entry.path) for entry in parse_status(status.stdout).entries) == sorted(found)


def test_a_section_that_names_no_file_has_none() -> None:
    (section,) = sections(b"diff --git a/x b/y\nold mode 100644\nnew mode 100755\n")
    assert (section.path, section.old_path) == (None, None)


def test_a_record_without_its_end_is_left_out() -> None:
    assert parse_status(b"# branch.oid (initial)\0# branch.head main\0? a\0? half").entries == (Entry("a", "?", "?"),)
