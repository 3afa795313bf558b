"""Globs and regular expressions that were made to take for ever (POL-08): in a project's policy, in ignore files, in
git's settings, and in the arguments of a model's call."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rows import rows
from running_server import POLICY, RunningServer

from remit_governance.errors import PolicyError
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.matching.paths import compile_globs, glob_expression, match_any
from remit_server.workspace.git_config import matches
from remit_server.workspace.trees.ignore import IgnoreRules, parse_ignore_file
from remit_server.workspace.trees.path_globs import parse_glob

NAME = "a" * 200
NASTY = [
    "*a" * 12 + "b",
    "*a" * 100 + "b",
    "*a*" * 60 + "b",
    "?*" * 60 + "b",
    "[a-z]*" * 40 + "b",
    "[!b]*" * 40 + "b",
    "**/*a" * 30 + "b",
    "**/" * 100 + "b",
    "a**" * 60 + "b",
    "*" * 300 + "b",
    "/".join(["*a*a*a*a*"] * 10) + "/b",
    "**/*a*a*a*a*a*/**/*a*a*a*a*a*/**/b",
    "[a[]*" * 40 + "b",
    "{a,aa}*" * 5 + "b",
]
COMMITS = '  - { name: commits, match: { syscall: git.commit, path_glob: ["**"] }, action: allow }\n'
DEEP = "/".join([NAME[:30]] * 40)


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[RunningServer]:
    """A server in a checkout in which every glob is hostile, and in which no file name matches the end of a glob."""
    shop = tmp_path / "shop"
    (shop / ".remit").mkdir(parents=True)
    rule = "- {{ name: r{}, match: {{ syscall: fs.read, path_glob: [{}] }}, action: deny }}\n"
    rules = "".join(rule.format(number, json.dumps(glob)) for number, glob in enumerate(NASTY))
    (shop / ".remit" / "policy.yaml").write_text("version: 1\ncapabilities:\n" + rules)
    (shop / ".gitignore").write_text("\n".join(NASTY))
    (shop / ".ignore").write_text("\n".join(NASTY))
    (shop / NAME).write_text("found\n")
    (shop / DEEP).mkdir(parents=True)
    (shop / DEEP / NAME).write_text("found\n")
    with RunningServer(tmp_path, POLICY + COMMITS) as running:
        yield running


@pytest.mark.slow
def test_THR_expressions_a_checkouts_globs_do_not_hang_the_server(hostile: RunningServer) -> None:
    """The server answers a status request and a cancellation while it reads and afterwards, and SIGTERM ends it."""
    read = {"type": "call", "tool": "read_file", "arguments": {"path": NAME}, "intent": "READ_FILE"}
    client = hostile.client
    running = client.run("t", read)
    status = client.request("remit/status", {})
    assert set(client.answers(running, status)) == {running, status}
    running, status = client.run("u", {**read, "arguments": {"path": f"{DEEP}/{NAME}"}}), 0
    client.cancel(running)
    status = client.request("remit/status", {})
    answers = client.answers(running, status)
    assert "result" in answers[status]
    client.terminate()


@pytest.mark.slow
def test_THR_expressions_searches_and_listings_see_through_nasty_ignore_files(hostile: RunningServer) -> None:
    """The same holds for a hostile `file_pattern` in the model's own call."""
    assert hostile.call("read_file", path=NAME).code is None
    assert NAME in hostile.call("list_files", pattern="*").output
    assert NAME in hostile.call("search_files", pattern="found").output
    for glob in NASTY:
        listed = hostile.call("list_files", pattern=glob[:512])
        assert listed.code in {None, "invalid_arguments"}
        assert NAME not in listed.output
        assert hostile.call("search_files", pattern="found", file_pattern=glob[:512]).output.count(NAME) == 0


@pytest.mark.slow
def test_THR_expressions_a_commit_reads_nasty_settings_of_git(hostile: RunningServer) -> None:
    """`info/exclude`, attributes and conditional includes come with the repository too."""
    shop = hostile.workspace
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=shop, check=True)
    for name, value in (("user.name", "A"), ("user.email", "a@example.org")):
        subprocess.run(["git", "config", name, value], cwd=shop, check=True)
    (shop / ".git" / "info").mkdir(exist_ok=True)
    (shop / ".git" / "info" / "exclude").write_text("\n".join(NASTY))
    (shop / ".gitattributes").write_text("\n".join(f"{glob} text" for glob in NASTY if "[[" not in glob))
    assert hostile.call("git_commit", "allow", message="x", all=True).code is None
    # Git itself takes very long on these settings; when Remit runs git, the sandbox limits its time.
    head = subprocess.run(["git", "log", "--format=%s"], cwd=shop, capture_output=True, check=True)
    assert head.stdout == b"x\n"


@rows("glob", NASTY)
def test_THR_expressions_no_matcher_takes_for_ever(glob: str) -> None:
    for path in (NAME, NAME * 20, DEEP, "/".join("a" * 200)):
        assert not compile_globs((glob,))(path)
        assert parse_ignore_file(glob.encode() * 3 + b"\n" + glob.encode()).ignores(path) is None
        assert not matches(glob.encode(), path.encode())
        assert not parse_glob(glob).matches(path)


@pytest.mark.slow
def test_THR_expressions_a_policy_of_too_many_wildcards_is_refused_with_its_place() -> None:
    """The cost of matching one path grows with the number of wildcards, so their sum is limited, and the length of a
    glob."""
    many = "\n".join(
        f"- {{ name: r{n}, match: {{ path_glob: ['{'*a' * 200}{n}'] }}, action: deny }}" for n in range(600)
    )
    with pytest.raises(PolicyError) as refused:
        compile_policy([Source("p", f"capabilities:\n{many}", project=False)])
    assert [problem.line for problem in refused.value.problems] == [498]
    long = f"capabilities: [{{ name: r, match: {{ path_glob: ['{'*a' * 300}'] }}, action: deny }}]"
    with pytest.raises(PolicyError) as refused:
        compile_policy([Source("p", long)])
    assert "longer than 512 characters" in str(refused.value.problems)


@pytest.mark.slow
def test_THR_expressions_an_ignore_file_that_is_too_much_for_the_engine_still_counts() -> None:
    """If RE2 has no memory for the file as a whole, it is compiled in parts; an invalid line affects no other line."""
    lines = [f"{'*a' * 200}b{number}" for number in range(400)]
    rules = parse_ignore_file("\n".join([*lines, "[[:alpha:]]x", "[z-a]", "kept.log", "!kept.log", "*.log"]).encode())
    assert rules.ignores("x.log") is True
    assert rules.ignores("x.txt") is None


_PARTS = ("*", "**", "a", "b*", "*b", "?", "?b", "[ab]", "[!a]*", "[^a]", "a-_b", "*.py", "a*b*", "x y", r"\*", r"\!a")
_NAMES = ("a", "b", "ab", "abc", "bab", "a-_b", "a.py", ".py", "x y", "*", "!a", "#a", "axbx")


@pytest.mark.slow
def test_globs_mean_what_git_says(tmp_path: Path) -> None:
    """The matchers of policy rules and of ignore files agree with `git check-ignore` on ordinary globs."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    choose = random.Random(15)
    names = sorted({"/".join(choose.choices(_NAMES, k=choose.randint(1, 4))) for _ in range(400)})
    for _ in range(300):
        parts = choose.choices(_PARTS, k=choose.randint(1, 4))
        # `pathspec`, which the rules use, takes `a/**/` for `a/**`, but git means only the folders below `a`.
        end = choose.choice(("", "", "", "/")) if parts[-1] != "**" else ""
        glob = choose.choice(("", "", "/")) + "/".join(parts) + end
        (tmp_path / ".gitignore").write_text(glob + "\n")
        asked = subprocess.run(
            ["git", "check-ignore", "-z", "--stdin", "--no-index"],
            cwd=tmp_path,
            input="\0".join(names).encode(),
            capture_output=True,
            check=False,
        )
        ignored = set(asked.stdout.decode().split("\0")) - {""}
        compiled, rules = compile_globs((glob,)), parse_ignore_file(glob.encode())
        assert {name for name in names if compiled(name)} == ignored, glob
        assert {name for name in names if _ignored(rules, name)} == ignored, glob


def _ignored(rules: IgnoreRules, path: str) -> bool:
    """Returns whether the path or one of the folders above it is ignored."""
    return any(rules.ignores(path[: end + 1]) for end, sign in enumerate(path) if sign == "/") or bool(
        rules.ignores(path)
    )


def test_a_glob_that_matches_as_a_whole_does_not_stand_for_what_is_below() -> None:
    for glob, path, below, whole in (
        ("src", "src/a.py", True, False),
        ("src/", "src/a.py", True, True),
        ("a/**", "a/b/c", True, True),
        ("*.py", "x/a.py", True, True),
        ("**", "a", True, True),
    ):
        for wanted, mode in ((below, True), (whole, False)):
            expression = glob_expression(glob, below=mode)
            assert expression is not None
            matcher = match_any([expression])
            assert matcher is not None
            assert matcher(path) is wanted, (glob, mode)
