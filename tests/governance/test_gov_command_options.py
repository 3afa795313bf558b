"""The table of options, and the matcher that uses it to read commands (CMD-03)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_governance.permissions.permissions import Override, PermissionConfig, PermissionRule, Standing, decide
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.matching.command_match import Match, matches_command, same_command, starts_with
from remit_governance.values import Action, Decision, Reason, Verdict

ALLOWED = "version: 1\ncapabilities:\n  - { name: all, match: { syscall: [process.exec, fs.write] }, action: allow }\n"
DENIED = "  - { name: no, match: { syscall: process.exec, command: %s }, action: deny }\n"
YES, MAYBE, NO = Match.YES, Match.MAYBE, Match.NO

MEANT = [
    ("rm -rf", "rm zz -vrf", YES),
    ("rm -rf", "rm -r[f] x", MAYBE),
    ("rm -rf", "rm -r x", NO),
    ("rm -rf", "rm -- -rf", NO),
    ("rm -rf /", "rm -rf x //", YES),
    ("git push", "git --git-dir .git push", YES),
    ("git push", "git --exec-path=/x -p push", YES),
    ("git push", "git -C push log", NO),
    ("git push", "git log push", NO),
    ("git push", "git ship", MAYBE),
    ("git push --force", "git push origin +main", YES),
    ("git push --force", "git push origin main", NO),
    ("git push --force-with-lease", "git push --force", NO),
    ("git push origin main", "git push origin dev HEAD:refs/heads/main", YES),
    ("git push --delete", "git push origin :main", YES),
    ("git branch -D", "git branch --del --forc x", YES),
    ("git branch -D", "git branch -d x", NO),
    ("git branch -d -f", "git branch -D x", YES),
    ("git commit --no-verify", "git commit -anm x", YES),
    ("git commit --no-verify", "git commit -mn", NO),
    ("git remote remove", "git remote rm x", YES),
    ("npm publish", "npm --silent publish", YES),
    ("npm publish", "npm publi", YES),
    ("npm publish", "npm pub[l]ish", MAYBE),
    ("npm publish", "npm --unheard-of publish", YES),
    ("npm publish", "npm run publish", NO),
    ("npm publish", "npm --dry-run false publish", YES),
    ("npm publish", "npm --color always publish", YES),
    ("npm install", "npm i x", YES),
    ("cargo publish", "cargo +nightly --color always publish", YES),
    ("cargo publish", "cargo ship", MAYBE),
    ("cargo publish", "cargo build", NO),
    ("docker push", "docker --tls image push x", YES),
    ("docker image", "docker image push x", YES),
    ("docker run --privileged", "docker run -it --privileged x", YES),
    ("docker run --privileged", "docker run x --privileged", NO),
    ("docker run -v /:/host", "docker container run --volume=/:/host x", YES),
    ("docker compose down", "docker-compose -f x down", YES),
    ("kill -9", "kill -s SIGKILL 3", YES),
    ("kill -9", "kill -15 9", NO),
    ("chmod 777", "chmod -R a+rwx x", YES),
    ("chmod 777", "chmod 755 x", NO),
    ("cp -a", "cp -dR --preserve x y", YES),
    ("curl -X POST", "curl -sXPOST http://x", YES),
    ("curl -X POST", "curl -XGET http://POST", NO),
    ("dd of=/dev/sda", "dd bs=1 of=/dev//sda", YES),
    ("tar -x", "tar xzf a", YES),
    ("tar -x", "tar cf x a", NO),
    ("tar -x", "tar -L -xf a", YES),
    ("git push", "git --work x push", YES),
    ("rsync --delete", "rsync -a --delete-excluded x y", YES),
    ("pip install", "python3.11 -Im pip -q install x", YES),
    ("python -m pip", "python3 -m pip list", YES),
    ("gh pr merge", "gh pr -R a/b merge 3", YES),
    ("gh pr merge 3", "gh pr merge -m 3", YES),
    ("./deploy.sh", "bash -x scripts/deploy.sh now", YES),
    ("./deploy.sh now", "sh ./deploy.sh now", YES),
    ("deploy.py", "python3 -u deploy.py", YES),
    ("deploy.py", "python3 other.py deploy.py", NO),
    ("python manage.py flush", "./manage.py flush", YES),
    ("python manage.py flush", "python manage.py migrate flush", MAYBE),
    ("ssh prod", "ssh -p 22 prod ls", YES),
    ("ssh prod", "ssh test prod", MAYBE),
    ("make deploy", "make -j 4 build deploy", YES),
    ("git push", "/usr/lib/git-core/git-push origin", YES),
    ("mytool push", "mytool --x y push", YES),
    ("mytool push", "mytool y push", MAYBE),
    ("mytool --env prod deploy", "mytool --env=prod deploy", YES),
]


@rows(("rule", "command", "match"), MEANT)
def test_what_a_rule_that_stops_means(rule: str, command: str, match: Match) -> None:
    assert matches_command(tuple(rule.split()), tuple(command.split())) is match


def test_THR_shell_what_a_deny_may_mean_is_asked_about_and_never_allowed_by_it() -> None:
    """A deny rule that only may match asks for approval; if no rule allows the command, it stays denied."""
    action = parse_action({"syscall": "process.exec", "command": "cargo ship"})
    asked = evaluate(compile_policy([Source("p", ALLOWED + DENIED % "cargo publish")]), action)
    assert asked.verdict is Verdict.REQUIRE_REVIEW
    assert asked.rules == ("no",)
    alone = "version: 1\ncapabilities:\n" + DENIED % "cargo publish"
    assert evaluate(compile_policy([Source("p", alone)]), action).verdict is Verdict.DENY


def test_THR_shell_the_policys_deny_holds_behind_any_option_of_git() -> None:
    policy = compile_policy([Source("p", ALLOWED + DENIED % "git push")])
    for command in ("git --git-dir .git push", "git --work-tree=. --no-pager push", "git --namespace x push"):
        assert evaluate(policy, parse_action({"syscall": "process.exec", "command": command})).verdict is Verdict.DENY


@rows(
    "command",
    [
        "git -C . status",
        "git -c core.pager=x status",
        "git --git-dir=x status",
        "git --no-pager status",
        "/usr/bin/git status",
        "git stat",
        "status",
        "docker-compose",
    ],
)
def test_an_allow_is_exactly_its_words_and_never_wider(command: str) -> None:
    rule = PermissionRule(command=("git status",))
    ask = Decision(Verdict.REQUIRE_REVIEW, (Reason("r", "m", Verdict.REQUIRE_REVIEW, "yaml", "r"),))
    action = parse_action({"syscall": "process.exec", "command": command})
    assert decide(PermissionConfig(allow=(rule,)), Standing(), action, ask).word == "ask"
    policy = "version: 1\ncapabilities:\n  - { name: a, match: { command: git status }, action: allow }\n"
    assert evaluate(compile_policy([Source("p", policy)]), action).verdict is not Verdict.ALLOW


SAME = [
    ("rm -rf build", "rm --force build -R", YES),
    ("rm -rf build", "rm -rf build x", NO),
    ("rm -rf build", "rm -rfv build", NO),
    ("npm i x", "npm install x", YES),
    ("mytool -x y", "mytool -x y", YES),
]


@rows(("one", "other", "match"), SAME)
def test_a_whole_command_is_the_same_in_another_spelling(one: str, other: str, match: Match) -> None:
    assert same_command(tuple(one.split()), tuple(other.split())) is match


ALLOW = Decision(Verdict.ALLOW, (Reason("r", "m", Verdict.ALLOW, "yaml", "r"),))
SHIP = Action("process.exec", tool="run_command", command=("cargo", "ship"))
PUBLISH = PermissionRule(command=("cargo publish",))


def test_what_may_be_denied_is_asked_about_unless_something_before_the_deny_allows_it() -> None:
    exception = Override(command=("cargo ship",), answer="allow")
    for config, word in (
        (PermissionConfig(deny=(PUBLISH,)), "ask"),
        (PermissionConfig(final_deny=(PUBLISH,), overrides=(exception,)), "ask"),
        (PermissionConfig(overrides=(exception,), deny=(PUBLISH,)), "allow"),
        (PermissionConfig(overrides=(Override(command=("cargo publish",), answer="deny"), exception)), "ask"),
        (PermissionConfig(deny=(PUBLISH,), default_action="deny"), "deny"),
    ):
        assert decide(config, Standing(), SHIP, ALLOW).word == word


def test_a_persons_deny_of_a_path_holds_where_case_is_ignored() -> None:
    config = PermissionConfig(deny=(PermissionRule(path=("src/A.py",)), PermissionRule(path_glob=("Docs/**",))))
    for path in ("SRC/a.py", "docs/x", "./src//a.PY/"):
        action = Action("fs.write", path=path, tool="write_file")
        assert decide(config, Standing(), action, ALLOW, fold_case=True).word == "deny"
        assert decide(config, Standing(), action, ALLOW, fold_case=False).word == "allow"


WORD = st.sampled_from(
    [
        "git",
        "npm",
        "rm",
        "push",
        "publish",
        "-C",
        "-c",
        "-f",
        "-rf",
        "--git-dir",
        ".",
        "x",
        "--",
        "+x",
        "a=b",
        "--x",
        "tar",
        "xf",
    ]
)
COMMAND = st.lists(WORD, min_size=1, max_size=6).map(tuple)


@given(COMMAND, st.integers(1, 6))
def test_a_rule_means_at_least_the_commands_that_begin_with_its_words(command: tuple[str, ...], length: int) -> None:
    rule = command[:length]
    assert starts_with(command, rule)
    assert matches_command(rule, command) is not NO


def test_THR_shell_thousands_of_words_are_matched_at_once() -> None:
    """Each word may be the subcommand; a command with too many of them is uncertain, and is matched fast."""
    for words in ("npm " + "-% publishx " * 3_000, "docker " + "-Z image " * 3_000, "mytool " + "-a push " * 3_000):
        command = tuple(words.split())
        for rule, match in ((("npm", "publish"), NO), (("docker", "push"), NO), (("mytool", "push", "now"), NO)):
            assert matches_command(rule, command) is (MAYBE if command[0] == rule[0] != "mytool" else match)
