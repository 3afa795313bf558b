"""HOK-03: command lines that would print a secret, or run a program of a hostile clone, without being asked about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hooked import Hooked

SEARCHES = (
    *("grep SECRET -r", "grep -nr SECRET", "grep SECRET -R", "grep --recursive SECRET", "grep --recurs SECRET"),
    *("grep -d recurse SECRET", "grep -drec SECRET", "grep --directories=recurse SECRET", "egrep SECRET -r"),
    *(
        "fgrep -r SECRET",
        "grep -r X --exclude-from a.txt",
        "zgrep -r X",
        "grep -r -e SECRET",
        "grep -r -e a.txt -A a.txt",
    ),
    *("grep -r -f a.txt", "/usr/bin/grep -r X", "timeout 5 grep -r X", "rg X", "ag X", "ack X", "ugrep X", "codespell"),
    *("rg -uu SECRET --ignore-file a.txt", "rg --hidden -e SECRET -e a.txt", "rg --hidden SECRET -r a.txt"),
    *(
        "rg --hidden --new-option SECRET a.txt",
        "rg --hidden -g -e -n a.txt",
        "rg a.txt",
        "rg -A 3 a.txt",
        "rg -nA3 a.txt",
    ),
    *("grep -R X src", "rg -L X src", "cd src && rg X ..", "cd src && grep -r X ..", "rg --hidden X .", "grep -r X *"),
    *(
        "diff --from-file=.env a.txt",
        "grep -f.env a.txt",
        "grep --file=.env a.txt",
        "file -f .env",
        "file --files-from=.env",
    ),
    *("tree --fromfile .env", "cd src && cat twin"),
)

TRACKED = (
    *(
        "git diff a.txt nothing",
        "git diff src",
        "git show a.txt",
        "git show --stat abcd123",
        "git show",
        "git show -p --stat",
    ),
    *("git show HEAD --stat -p", "git show --stat HEAD:x", "git diff .env", "rg --files --unlisted x"),
    *("git diff-tree -p --root HEAD", "git format-patch --stdout -1", "git whatchanged -p", "git reflog show -p"),
    *("git diff-index -p HEAD~1", "git diff-files -p", "git status -vv", "git status -v", "git status --verb"),
    *("git merge-tree A A B", "git -C src show HEAD", "git -C src log -p", "git log -p -- src ':(top)'"),
    *("git log -p -- ':/'", "git show BLOB a.txt", "git diff BLOB a.txt", "git grep SECRET BLOB a.txt", "git log -U5"),
    *(
        "git show HEAD -O a.txt",
        "git diff HEAD~1 -O a.txt",
        "git diff",
        "git show",
        "git stash show",
        "git stash list -p",
    ),
    *("git log --oneline -p", "git log --oneline --patch", "git log --oneline -L1,2:.env", "git log --stat -u"),
    *(
        "git show abcd123 -- a.txt",
        "git show ABCD123 -- a.txt",
        "git show v1-g1234567 -- a.txt",
        "git show HEAD:x -- a.txt",
    ),
    *("git diff -O -- main", "git diff HEAD -G -- main", "git log -p -G -- main", "git log --author -- -p"),
    *(
        "git show HEAD -- '*v'",
        "git show HEAD -- .",
        "git show --pretty HEAD -- a.txt",
        "git show HEAD -- .env",
        "git -C src show HEAD -- ../.env",
    ),
    *("git cat-file -p HEAD:x", "git cat-file --batch", "git archive HEAD", "git rerere diff", "git shortlog -p"),
    *(
        "git-show HEAD",
        "git --no-pager show HEAD",
        "cd src && git show HEAD",
        "git range-diff A B C",
        "git diff --no-index a b",
    ),
    *("git commit --dry-run -v", "git add -p -n", "git blame --contents=.env a.txt"),
)

ENVIRONMENT = (
    *("env", "env -u X", "env -uX", "env -i0u X", "env --unset X", "env -C src", "env A=1", "/usr/bin/env", "env -0"),
    *("jq -n env", "jq -n '$ENV'", "jq -n 'env.TOKEN'", "jq -n '[env]'", "jq -n '$ENV.TOKEN'", "jq -nf a.txt"),
    *("jq -n --from-file a.txt", "jq -L. -n x", "yq -n 'strenv(TOKEN)'", "yq -n 'load_str(\".env\")'"),
    *('cat <<< "$GITHUB_TOKEN"', "cat <<E\n$GITHUB_TOKEN\nE", "echo $GITHUB_TOKEN", 'printf %s "${GITHUB_TOKEN}"'),
    *("false && TOKEN=1; echo $TOKEN", "TOKEN=1 true; echo $TOKEN", "TOKEN=1 | cat; echo $TOKEN", "A=$TOKEN; echo $A"),
    *("TOKEN+=1; echo $TOKEN", "if false; then TOKEN=1; fi; echo $TOKEN", "ls $TOKEN", 'test "$TOKEN" = a'),
    *("sh -c 'echo $TOKEN'", "echo $TOKEN; TOKEN=1", "(TOKEN=1); echo $TOKEN"),
    *("envsubst < a.txt", "php -i", "awk 'BEGIN{for(k in ENVIRON)print ENVIRON[k]}'", "printenv", "export -p", "set"),
    *("declare -p TOKEN", "ps auxe", "ps -E", "ps -p 1 e"),
)

SETTINGS = (
    *("git config --global -l", "git config --local -l", "git --no-pager config -l", "git config list", "git var -l"),
    *(
        "git config --list",
        "git config -zl",
        "git config --li",
        "git config --get-regexp x",
        "git config get --all x.y",
    ),
    *("git config --get http.extraheader", "git config credential.helper", "git -C src config --list"),
    *("npm get", "npm c ls", "npm conf ls", "npm --prefix src config ls", "npm config list", "pnpm config list"),
    *("pip config list", "pip3 config list", "python3 -m pip config list", "pip --no-color config list"),
    *("docker container inspect x", "docker-compose config", "docker --context x inspect y", "docker compose config"),
    *("podman container inspect x", "systemctl --user show-environment", "terraform -chdir=src show", "gem env"),
    *("poetry config --list", "cargo config get", "bundle config", "conda config --show", "defaults read", "history"),
)

ORDINARY = (
    *("git diff a.txt", "git diff --cached src/a.py a.txt", "git show --stat HEAD", "git show --name-only HEAD~1"),
    *(
        "rg --files",
        "rg --files src",
    ),
    *("git status", "git status -s", "git status --porcelain=v2 -b", "git log --oneline", "git log --oneline -5"),
    *("git log -n 5 --stat", "git log --format=%h --since=2020", "git diff --stat", "git diff --name-only HEAD~1"),
    *(
        "git branch -a",
        "git ls-files",
        "git rev-parse HEAD",
        "git blame a.txt",
        "git blame -L 1,5 a.txt",
        "git -C src status",
    ),
    *(
        "git show HEAD -- a.txt",
        "git diff main..v1.2 -- src",
        "git log -p -- a.txt",
        "git grep -n x -- src",
        "git remote -v",
    ),
    *(
        "git -C src log --oneline -- a.py",
        "git shortlog -sn",
        "git stash list",
        "git config user.name",
        "cd src && git status",
    ),
    *(
        "grep -n x a.txt",
        "grep -rn x src",
        "grep -r --include='*.py' x src",
        "grep -A 3 x a.txt",
        "grep x src/a.py a.txt",
    ),
    *(
        "rg x src",
        "rg -n x a.txt",
        "rg -A 3 x src/a.py",
        "rg -e x src",
        "rg x src --glob='*.py'",
        "rg -tpy -C2 x src",
        "grep -c x a.txt",
    ),
    *("jq .environment a.json", "jq '{env: .x}' a.json", "jq -r '.dependencies|keys' a.json"),
    *("echo $HOME", "for f in a.txt src/a.py; do wc -l $f; done", "N=5; head -n $N a.txt", "awk '{print $NF}' a.txt"),
    *(
        "ps -ef",
        "ls -la",
        "find . -name '*.py'",
        "file a.txt",
        "tree src",
        "npm ls",
        "docker ps",
        "pip list",
        "cat a.txt",
    ),
)


@pytest.fixture
def hooked(tmp_path: Path) -> Hooked:
    made = Hooked.made(tmp_path)
    (made.root / "a.txt").write_text("a\n")
    (made.root / "a.json").write_text("{}\n")
    (made.root / "src" / "twin").hardlink_to(made.root / ".env")
    return made


def words_of(hooked: Hooked, events: list[dict[str, object]]) -> list[str]:
    """Returns the answer to each event, all judged in one process."""
    done = hooked.remit("hook", "test", "claude-code", "--json", stdin="\n".join(map(json.dumps, events)))
    return [each["word"] for each in done.lines]


def unlike(hooked: Hooked, lines: tuple[str, ...], *, allowed: bool) -> list[str]:
    """Returns the command lines that are not allowed, or not asked about, as expected."""
    words = words_of(hooked, [hooked.bash(line) for line in lines])
    return [line for line, word in zip(lines, words, strict=True) if (word == "allow") is not allowed]


def test_HOK_03_a_search_of_a_folder_with_a_secret_is_asked_about(hooked: Hooked) -> None:
    """THR-hooks-no-sandbox."""
    (hooked.root / "conf").mkdir()
    (hooked.root / "conf" / "prod.env").write_text("A=1\n")
    (hooked.root / "plain").mkdir()
    (hooked.root / "plain" / "led").symlink_to("../conf")
    through_a_link = ("grep -r x plain/led/", "cat plain/led/*", "rg x plain/led", "cd plain/led && rg x")
    assert unlike(hooked, (*SEARCHES, *through_a_link), allowed=False) == []


def test_HOK_03_what_git_keeps_of_a_secret_is_asked_about(hooked: Hooked) -> None:
    """THR-hooks-no-sandbox."""
    assert unlike(hooked, TRACKED, allowed=False) == []


def test_HOK_03_the_environment_is_not_printed_unasked(hooked: Hooked) -> None:
    """THR-hooks-no-sandbox."""
    (hooked.root / ".env").unlink()
    assert unlike(hooked, ENVIRONMENT, allowed=False) == []


def test_HOK_03_settings_are_not_printed_unasked(hooked: Hooked) -> None:
    """THR-hooks-no-sandbox."""
    (hooked.root / ".env").unlink()
    assert unlike(hooked, SETTINGS, allowed=False) == []


def test_HOK_03_ordinary_commands_stay_allowed_beside_a_secret(hooked: Hooked) -> None:
    (hooked.root / "src" / "twin").unlink()
    assert unlike(hooked, ORDINARY, allowed=True) == []


def test_HOK_03_a_project_without_secrets_is_searched_and_compared_unasked(hooked: Hooked) -> None:
    (hooked.root / ".env").unlink()
    (hooked.root / "src" / "twin").unlink()
    lines = ("grep -r x", "grep -rn x .", "rg x", "git diff", "git show HEAD", "git log -p")
    assert unlike(hooked, (*lines, *ORDINARY), allowed=True) == []


def test_HOK_03_an_absolute_path_is_judged_as_the_file_that_it_leads_to(hooked: Hooked) -> None:
    root = hooked.root
    (root / "src" / "twin").unlink()
    lines = (f"cat {root}/a.txt", f"cd {root} && git status", f"git -C {root}/ status", f'head -n 3 "{root}/src/a.py"')
    assert unlike(hooked, lines, allowed=True) == []
    secret = (f"cat {root}/.env", f"cat {root}//.env", f"grep -r x {root}", f"cat {root}/src/../.env")
    outside = (f"cat {root}/../b.txt", f"cat {root}2/a.txt", f"{root}/run.sh", f"cd {root}/.. && git status")
    assert unlike(hooked, (*secret, *outside), allowed=False) == []


ADDRESSES = (
    *(
        "git remote -v",
        "git remote get-url origin",
        "git config --get remote.origin.url",
        "git config remote.origin.url",
    ),
    *("git -C src remote -v", "cd src && git remote -v", "cat .git/config", "cat led", "cat .git/*", "cat .git/c*"),
    *("grep url .git/config", "grep -r url .git", "grep -r url .", "rg --hidden x", "rg -u x", "cd .git && cat config"),
    *(
        "cat < .git/config",
        "while read l; do echo $l; done < .git/config",
        "rg url .git",
        "cd .git && rg url",
        "cat < led",
    ),
    *("git config --get-regexp remote", "git ls-remote --get-url", "cat .g*/config", "git remote --verbose"),
)
NO_ADDRESSES = (
    *("git remote", "git config user.name", "git status", "git diff", "git log -p", "rg x", "rg x .", "cat .git/HEAD"),
    *("grep -rn --include='*.py' x .", "git branch -vv", "cat a.txt", "git submodule status"),
)


@pytest.mark.parametrize("settings", [".git/config", "home"])
def test_HOK_11_an_address_with_a_secret_in_gits_settings_is_not_shown_unasked(hooked: Hooked, settings: str) -> None:
    """THR-hooks-no-sandbox: a hook cannot redact what a command prints."""
    (hooked.root / ".env").unlink()
    (hooked.root / "src" / "twin").unlink()
    (hooked.root / "led").symlink_to(".git/config")
    (hooked.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (hooked.root / ".git" / "config").write_text(
        "[remote]\n\turl = https://host/a\n[user]\n\tsigningkey = 3AA5C34371567BD2\n"
    )
    assert unlike(hooked, (*NO_ADDRESSES, "git remote -v", "cat .git/config", "grep -r url ."), allowed=True) == []
    if settings == "home":
        home = hooked.root.parent / "home"
        home.mkdir(exist_ok=True)
        (home / ".gitconfig").write_text('[url "https://anna:Tr0ub4dor9@host/"]\n\tinsteadOf = https://host/\n')
        lines = [line for line in ADDRESSES if "remote" in line]
        events = "\n".join(json.dumps(hooked.bash(line)) for line in lines)
        done = hooked.remit("hook", "test", "claude-code", "--json", stdin=events, HOME=str(home))
        assert [line for line, each in zip(lines, done.lines, strict=True) if each["word"] == "allow"] == []
    else:
        (hooked.root / settings).write_text("[remote]\n\turl = https://anna:Tr0ub4dor9@host/a\n")
        assert unlike(hooked, ADDRESSES, allowed=False) == []
        assert unlike(hooked, NO_ADDRESSES, allowed=True) == []


def test_HOK_03_a_file_that_is_redirected_into_a_command_is_judged_by_all_its_names(hooked: Hooked) -> None:
    """THR-hooks-other-names."""
    (hooked.root / "away").symlink_to("/etc/passwd")
    assert unlike(hooked, ("cat < src/twin", "wc -l < away", "cat < .env"), allowed=False) == []
    assert unlike(hooked, ("cat < a.txt", "wc -l < src/a.py"), allowed=True) == []


def test_HOK_03_jq_does_not_import_a_secret(hooked: Hooked) -> None:
    """THR-hooks-other-names: jq adds `.json` to the name."""
    (hooked.root / "credentials.json").write_text("{}")
    lines = (
        """jq -n 'import "./credentials" as $c; $c'""",
        """jq -n 'include "./credentials"; .'""",
        """jq -n 'import"./credentials"as $c;$c'""",
    )
    assert unlike(hooked, lines, allowed=False) == []


@pytest.mark.parametrize("files", [("HEAD", "objects/.keep", "refs/.keep"), ("HEAD", "commondir")])
def test_HOK_03_a_folder_that_is_a_repository_by_itself_is_asked_about(hooked: Hooked, files: tuple[str, ...]) -> None:
    """THR-hooks-embedded-repository: git would run the programs that the folder's `config` names."""
    for name in (*files, "config", "sub/a.txt"):
        path = hooked.root / "lib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("ref: refs/heads/main\n")
    (hooked.root / "led").symlink_to("lib/sub")
    lines: tuple[str, ...] = ("cd led && git status", "git -C led status")
    lines += ("cd lib && git status", "git -C lib status", "git -C lib ls-files -o", "git -C lib/sub log --oneline")
    lines += ("cd lib; cd sub; git status", "git -C src -C ../lib status", f"git -C {hooked.root}/lib status")
    lines += ("git --git-dir=lib status", "git --git-dir lib status", "GIT_DIR=lib git status")
    assert unlike(hooked, lines, allowed=False) == []
    here = hooked.bash("git status") | {"cwd": str(hooked.root / "lib")}
    below = hooked.bash("git branch") | {"cwd": str(hooked.root / "lib" / "sub")}
    assert "allow" not in words_of(hooked, [here, below])
    assert unlike(hooked, ("git status", "git -C src status"), allowed=True) == []


def test_HOK_03_leaving_the_agents_own_sandbox_is_asked_about(hooked: Hooked) -> None:
    """THR-hooks-no-sandbox."""
    for more, allowed in (({"dangerouslyDisableSandbox": True}, False), ({"dangerouslyDisableSandbox": False}, True)):
        event = hooked.bash("ls") | {"tool_input": {"command": "ls", "run_in_background": True, **more}}
        assert (words_of(hooked, [event]) == ["allow"]) is allowed


def test_HOK_02_an_unknown_arguments_name_is_told_by_its_length_if_it_is_long(hooked: Hooked) -> None:
    """A part of a name may be half of a secret."""
    event = hooked.bash("") | {"tool_input": {"command": "ls", f"{'x' * 30}ghp_{'a1B2' * 500}": "y"}}
    done = hooked.remit("hook", "test", "claude-code", "--json", stdin=json.dumps(event))
    assert [each["word"] for each in done.lines] == ["ask"]
    assert "2,034" in done.out
    assert "ghp_" not in done.out
