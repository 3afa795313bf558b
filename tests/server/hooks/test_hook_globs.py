"""HOK-12: a word with wildcards is judged by the files that it may mean, in the shell or in the program that gets it."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hooked import Hooked
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_server.hooks.judging.globs import Glob, glob_of

REACHES = (
    *("cat *", "cat .e*", "cat .??v", "cat .en[uv]", "cat ?env", "cat ./*", "cat src/../*v", "cat .E*", "head [.]e*"),
    *("cat *.txt", "cat o*", "cat a*", "cat *.md", "cat plain/*/prod.*", "cat plain/l*/p*", "cat plain/*/*.txt"),
    *("cat plain/u?/.e*", "grep -r x plain/*", "grep -r x c*", "cat **/*", "cat conf/p*", "cat {conf,src}/p*"),
    *("grep -r --include='*v' x .", "grep -r --include='*.py' --include='.E*' x .", "grep -r --include='*.md' x ."),
    *("grep -r --exclude=a --include='*.py' x .", "grep -r --include='*.py' --exclude-from=a.txt x .", "rg -g '.*' x"),
    *("grep -R --include='*.py' x .", "rg -g '!*.py' x", "rg -L -g '*.py' x .", "rg -g '*.{py,env}' x", "rg -g '**' x"),
    *("rg -g '{.env,*.py}' x", "rg -g '*.py' x plain/*", "ugrep -r --include='*.py' x", "rg --iglob '*.ENV' x"),
    *("rg -g '/*' x", "rg -g '/.e*' x", "rg --hidden -g '' x", "rg --hidden -g '#x' x", "rg --hidden -g ' ' x"),
    *(
        "grep -r --include='' x .",
        "grep -r --include= x .",
        "rg --hidden -g '/' x",
        "cat .[[:alpha:]]nv",
        "cat */../.e*",
    ),
    *(
        "git diff -- '*v'",
        "git diff -- 'co*'",
        "git log -p -- 'c*'",
        "git grep x -- '*nv'",
        "git diff -- ':(icase)*.PY'",
    ),
    *("find . -name '*.txt' -exec cat {} +", "find . -type f -name '*' -exec cat {} +", "find . -exec cat {} +"),
    *("find . -type f -name '*.md' -exec cat {} +", "find . -type f -name '*.py' -exec cat {}.env +"),
    *("find . -type f -name '*.py' -o -name x -exec cat {} +", "find . ! -type f -name '*.py' -exec cat {} +"),
    *("find -L . -type f -name '*.py' -exec cat {} +", "find . -type f -name '*.py' -exec grep -r x . {} +"),
    *(
        "find . -type f -name '*.py' -exec cat {} + -o -exec cat {} +",
        "find . -type f -not -name '*.py' -exec cat {} +",
    ),
    *("find . -type f -name '*.py' -exec sh -c 'cat *' {} +", "find . -type f -name '*.py' , -exec cat {} +"),
    *("cat *~a.txt", "cat ^*.py", "cat ([a-z.])*", "cat @(.e*|a)", "cat x#*"),
)
REACHES_NOT = (
    *("cat *.rs", "cat src/*.py", "wc -l src/*", "head *.toml", "cat conf/*.rs", "tail -n 3 READ*", "cat s*/*.py"),
    *("grep -rn --include='*.py' x .", "grep -rn x --include='*.py'", "grep -rn --include '*.py' x src"),
    *(
        "grep -rn --include=*.py --include='*.rs' x .",
        "grep -r --include='*.py' --exclude-dir=.git x .",
        "rg -g '*.py' x",
    ),
    *("rg -g '*.py' x .", "rg --glob='*.py' x src", "rg -g '!x' -g '**/*.py' x .", "rg --iglob '*.PY' -n x ."),
    *("rg 'a*b' src", "rg -n 'a.*b' a.txt", "grep -n 'x*' a.txt", "grep -rnE 'foo|bar?' src", "grep -n '[a-z]+' a.txt"),
    *(
        "jq '.a[]' a.json",
        "jq '.[] | .x?' a.json",
        "git diff -- '*.py'",
        "git log -p -- 'src/*'",
        "git grep x -- '*.py'",
    ),
    *("find . -type f -name '*.py' -exec grep -n x {} +", "find . -type f -name '*.py' -exec head -n 3 {} ';'"),
    *("rg -g '*.{py,rs}' x", "rg -g '{a,b}/*.{py,{c,h}pp}' x", "git diff --stat -- '*v'"),
)


@pytest.fixture
def hooked(tmp_path: Path) -> Hooked:
    made = Hooked.made(tmp_path)
    for name in ("a.txt", "README", "conf/prod.env"):
        (made.root / name).parent.mkdir(exist_ok=True)
        (made.root / name).write_text("A=1\n")
    (made.root / "a.json").write_text("{}\n")
    (made.root / "other.txt").symlink_to(".env")
    (made.root / "away").symlink_to("/etc/passwd")
    (made.root / "twin.md").hardlink_to(made.root / ".env")
    (made.root / "plain").mkdir()
    (made.root / "plain" / "led").symlink_to("../conf")
    (made.root / "plain" / "up").symlink_to("..")
    return made


def words_of(hooked: Hooked, events: list[dict[str, object]]) -> list[str]:
    """Returns the answer to each event, all judged in one process."""
    done = hooked.remit("hook", "test", "claude-code", "--json", stdin="\n".join(map(json.dumps, events)))
    return [each["word"] for each in done.lines]


def test_HOK_12_what_a_glob_may_mean_is_asked_about_if_it_is_a_secret_or_leads_to_one(hooked: Hooked) -> None:
    """THR-hooks-no-sandbox, THR-hooks-other-names."""
    words = words_of(hooked, [hooked.bash(line) for line in REACHES])
    assert [line for line, word in zip(REACHES, words, strict=True) if word == "allow"] == []


def test_HOK_12_a_glob_that_can_mean_no_secret_is_not_asked_about(hooked: Hooked) -> None:
    words = words_of(hooked, [hooked.bash(line) for line in REACHES_NOT])
    assert [line for line, word in zip(REACHES_NOT, words, strict=True) if word != "allow"] == []


def test_HOK_12_a_link_that_a_glob_means_leads_nowhere_unasked_without_a_secret(hooked: Hooked) -> None:
    """THR-hooks-other-names."""
    (hooked.root / ".env").unlink()
    (hooked.root / "conf" / "prod.env").unlink()
    (hooked.root / "twin.md").unlink()
    assert words_of(hooked, [hooked.bash(line) for line in ("cat a*", "cat a?ay", "cat *.json")]) == [
        "ask",
        "ask",
        "allow",
    ]


@pytest.mark.parametrize(
    ("glob", "word"),
    [
        *(
            ("*.py", "allow"),
            ("*.{py,pyi}", "allow"),
            ("*.{rs,env}", "ask"),
            ("*.py, *.rs", "allow"),
            ("**/*.py", "allow"),
        ),
        *(
            ("*", "ask"),
            ("*.py,.env", "deny"),
            ("*.py,.en?", "ask"),
            ("*.py .e*", "ask"),
            ("!*.py", "ask"),
            ("{.env,*.py}", "ask"),
            ("", "ask"),
        ),
    ],
)
def test_HOK_12_a_search_of_the_agents_own_is_judged_by_the_glob_that_limits_it(
    hooked: Hooked, glob: str, word: str
) -> None:
    """THR-hooks-no-sandbox."""
    event = hooked.bash("") | {"tool_name": "Grep", "tool_input": {"pattern": "x", "glob": glob}}
    assert words_of(hooked, [event]) == [word]


PARTS = st.text(alphabet="ab.*?[]!-", min_size=1, max_size=5)
NAMES = st.text(alphabet="aAb.-", min_size=1, max_size=4).filter(lambda name: name not in {".", ".."})


@given(parts=st.lists(PARTS, min_size=1, max_size=3), names=st.lists(NAMES, min_size=1, max_size=3))
def test_HOK_12_a_glob_means_at_least_what_the_shell_makes_of_it(parts: list[str], names: list[str]) -> None:
    glob = glob_of("/".join(parts))
    if glob is not None and ".." not in parts:
        matches = len(parts) == len(names) and all(map(fnmatchcase, names, parts))
        below = "/".join(names).removeprefix(f"{glob.folder}/") if glob.folder else "/".join(names)
        assert not matches or glob.may_reach(below, False)
        deeper = len(names) > len(parts) and all(map(fnmatchcase, names, parts))
        assert not deeper or glob.may_reach(below, False), "what is in a folder that it means"


@rows("rest", ["*a" * 190, "[" * 400, "{" * 200 + "*", "(*" * 200, "*/" * 200, "|*" * 200, "a*" * 9_000])
def test_HOK_12_comparing_a_glob_takes_bounded_work(rest: str) -> None:
    path = "/".join(["a" * 200] * 20)
    assert re.search("a", path)
    Glob("", rest).may_reach(path, False)
