"""HOK-12: the pattern of a search, the script of a filter and other texts are no files; every other word may be one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hooked import Hooked
from rows import rows

from remit_governance.policy.shell.parse import read_script
from remit_governance.policy.shell.texts import words_without_texts

TEXTS = r"""
grep '.*' a.txt
grep -n '.*' a.txt
grep '\.env' a.txt
grep .env a.txt
grep -e .env a.txt
grep --regexp=.env a.txt
grep -m 1 .env a.txt
grep '.e*' a.txt
grep -e '.*' a.txt
grep --regexp='.*' a.txt
grep -e'.*' a.txt
grep -E '.+?' a.txt
grep -rn '.env' src
grep -rn '.*' src
grep -rn '*' src
grep -rn --include='*.py' '.*' .
grep '.env' src/a.py a.txt
grep '*' a.txt
grep '[.]env' a.txt
grep 'conf/*' a.txt
grep 'conf/prod.env' a.txt
grep -q '^.*$' a.txt
rg '.*' a.txt
rg .env a.txt
rg '.env' src
rg -e '.*' src
rg -g '*.py' '.*'
ag '.*' src
ag .env src
ack '.*' a.txt
sed -n '/.*/p' a.txt
sed 's/.*/x/' a.txt
sed 's/.env/x/' a.txt
sed -e 's/.*/x/' a.txt
sed '/.env/d' a.txt
awk '/.*/' a.txt
awk '/.env/ {print}' a.txt
jq '.env' a.json
jq '.*' a.json
jq -r '.env.x' a.json
jq '.[]' a.json
git grep '.*' -- src
tr '.*' x < a.txt
cut -d . -f 1 a.txt
grep . a.txt
rg . a.txt
grep '?' a.txt
egrep '.*' a.txt
expr match x '.*'
sort -k 1 -t . a.txt
""".strip().splitlines()
"""Lines whose only word that looks like a secret file is a text."""

FILES = r"""
grep -f .env x
grep -f.env x
grep -rf .env a.txt
grep -nf .env a.txt
grep --file .env x
grep --file=.env x
grep --fil=.env x
grep x .e*
grep .e* a.txt
grep .* a.txt
grep -e .* a.txt
grep -e x -- .env
grep -e x .env
grep x -e .env
grep .env -e x
grep .env .env
grep '.*' .env
grep '.*' a.txt .env
grep -- -e .env
grep -n '' .env
grep '' .env
grep -A .env . .env
grep -c "" .e?v
grep x {a.txt,.env}
grep {x,.env} .env
grep {-f,.env} a.txt
grep $X .env
grep "$X" .env
grep .env $X
grep .env "$X"
grep $(echo -f) .env
for o in x -f; do grep $o .env; done
for o in -f x; do grep .env $o a.txt; done
for o in -e x; do grep .env $o a.txt; done
for o in x -e; do grep $o .env a.txt; done
rg --file=.env x
rg -f .env x
rg x .env
rg -e x .env
rg '.*' .env
rg --hidden '.*' .
rg .* a.txt
rg --pre cat .env a.txt
rg -uu x
ag x .env
ag '.*' .env
sed -n p .env
sed p .env
sed -n '/x/p' .env
sed 'r .env' a.txt
sed '$r.env' a.txt
sed -e 'r .env' a.txt
sed -f .env a.txt
sed -n -e p .env
sed -e p -- .env
sed --expression=p .env
sed --file=.env a.txt
sed s/a/b/ .env
sed .env
sed 's/.*/x/e' .env
awk 1 .env
awk '{print}' .env
awk -f .env
jq . .env
jq -f .env a.json
jq -R . .env
jq -n --rawfile a .env '$a'
jq --slurpfile a .env . a.json
jq '.env' .env
jq .e* a.json
yq . .env
yq 'load_str(".env")' a.yaml
tr a b < .env
tr '.*' x < .env
expr "$(cat .env)"
cut -d = -f 2 .env
cut -f 2 .env
cut -f1 -d. .env
cut --output-delimiter=x -c 1- .env
sort .env
sort -t . .env
sort -k 1 .env
sort --files0-from=.env
git commit -F .env
git commit -m x -F .env
git commit --file=.env
git grep -f .env
git grep x .env
git grep x -- .env
git grep -e x -- .env
git grep -e x .env
git grep .env .env
timeout 5 grep x .env
env grep '.*' .env
sudo grep '.*' .env
sh -c 'grep .* a.txt'
sh -c 'grep '.*' a.txt'
bash -c "grep x .env"
eval "grep '' .env"
grep -r '.*' .
grep -rn '.env' .
grep -r .
grep -rn '.*'
/bin/grep x .env
./grep .env a.txt
grep -E'.env' x .env
egrep -f .env a.txt
grep --regexp .env -f .env a.txt
grep -e '.*' -r .
grep --exclude-from=.env x a.txt
grep --exclude-from .env x a.txt
cd conf && grep '' prod.env
cd conf && grep '.*' *
grep x ~+/.env
grep x a.txt -- .env
git -C . grep x .env
cat .env | grep x
""".strip().splitlines()
"""Lines that read `.env`, or may do so."""

LEFT = [
    ("grep .env a.txt", ["a.txt"]), ("grep .env .env", [".env"]), ("grep -f .env a.txt", ["-f", ".env", "a.txt"]),
    ("grep -e x -- .env", ["-e", "--", ".env"]), ("grep x -e .env", ["x", "-e", ".env"]),
    ("grep '.*' a.txt", ["a.txt"]), ("grep .* a.txt", [".*", "a.txt"]), ("grep -ie.env x", ["-ie.env", "x"]),
    ("grep --regexp=.env a.txt", ["a.txt"]), ("grep -e.env a.txt", ["a.txt"]), ("grep .env -f x", [".env", "-f", "x"]),
    ("grep --no-such .env a.txt", ["--no-such", ".env", "a.txt"]), ("./grep .env a.txt", [".env", "a.txt"]),
    ("/usr/bin/grep .env a.txt", ["a.txt"]), ("sed 'r .env' a.txt", ["r .env", "a.txt"]), ("sed p .env", [".env"]),
    ("sed 's/.env/x\\/y/' a.txt", ["a.txt"]), ("jq 'import \".env\" as x;.' a", ['import ".env" as x;.', "a"]),
    ("sed -i 's/.env/x/;2d' a.txt", ["-i", "a.txt"]), ("sed 's/a/b/;r .env' a.txt", ["s/a/b/;r .env", "a.txt"]),
    ("sed 's/[/]/a/p;r .env' a.txt", ["s/[/]/a/p;r .env", "a.txt"]), ("grep --fil .env x", ["--fil", ".env", "x"]), ("jq .env a.json", ["a.json"]), ("jq 'f(.env)' a", ["a"]), ("yq 'load(.env)' a", ["load(.env)", "a"]),
    ("git commit -m .env -F .env", ["commit", "-m", ".env", "-F", ".env"]), ("cut -d . -f 1 a", ["-d", "-f", "a"]),
    ("git commit -m .env", ["commit", "-m"]), ("sort -t . -o .env a", ["-t", ".", "-o", ".env", "a"]),
]  # fmt: skip
"""A line, and the words of its command that may be files."""


@pytest.fixture
def hooked(tmp_path: Path) -> Hooked:
    made = Hooked.made(tmp_path)
    for name in ("a.txt", "README", "conf/prod.env"):
        (made.root / name).parent.mkdir(exist_ok=True)
        (made.root / name).write_text("A=1\n")
    (made.root / "a.json").write_text("{}\n")
    return made


def unlike(hooked: Hooked, lines: list[str], *, allowed: bool) -> list[str]:
    """Returns the lines that are not judged so."""
    done = hooked.remit(
        "hook", "test", "claude-code", "--json", stdin="\n".join(json.dumps(hooked.bash(line)) for line in lines)
    )
    return [line for line, each in zip(lines, done.lines, strict=True) if (each["word"] == "allow") is not allowed]


def test_HOK_12_a_text_that_looks_like_a_secret_file_is_not_asked_about(hooked: Hooked) -> None:
    assert unlike(hooked, TEXTS, allowed=True) == []


def test_HOK_12_no_word_that_may_be_a_secret_file_is_taken_for_a_text(hooked: Hooked) -> None:
    """THR-hooks-no-sandbox."""
    assert unlike(hooked, FILES, allowed=False) == []


@rows("line, left", LEFT)
def test_HOK_12_a_word_is_a_text_only_if_that_is_certain(line: str, left: list[str]) -> None:
    reading = read_script(line)
    assert [words_without_texts(command, reading.replaced) for command in reading.commands] == [left]
