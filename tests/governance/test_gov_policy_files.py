"""Policy files: every mistake is reported with file, line, column and a way out (POL-02)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec
from rows import rows

from remit_governance.errors import ActionError, PolicyError
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.recorded import explain
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.document import OF_PROJECT, read_document
from remit_governance.policy.language.load import default_source, load_policy, read_source
from remit_governance.policy.language.parse_form import MOST_PROBLEMS
from remit_governance.policy.language.policy_form import parse_size
from remit_governance.policy.matching.command_match import command_words
from remit_governance.policy.matching.paths import compile_globs
from remit_governance.policy.rules import Condition, Layer, Policy, Rule, Subject
from remit_governance.values import Action, Verdict
from remit_governance.work_items import parse_work_items

HEAD = "version: 1\ncapabilities:\n"
GOOD = "  - name: good\n    match: { syscall: fs.read }\n    action: allow\n"


def problems(text: str, project: bool = False) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        compile_policy([Source("p.yaml", text, project)])
    return [str(problem) for problem in caught.value.problems]


BAD = {
    "unknown key in the file": ("verison: 1\n", "p.yaml:1:1: unknown key `verison`; did you mean `version`"),
    "unknown key in a rule": (
        HEAD + GOOD + "    reasn: x\n",
        "p.yaml:6:5: unknown key `reasn`; did you mean `reason`",
    ),
    "unknown key in match": (
        HEAD + "  - name: a\n    match: { path_globs: [x] }\n    action: allow\n",
        "p.yaml:4:14: unknown key `path_globs`; did you mean `path_glob`",
    ),
    "unknown key in except": (
        HEAD + GOOD + "    except:\n      - caller_tags: x\n",
        "p.yaml:7:9: unknown key `caller_tags`; did you mean `caller_tag`",
    ),
    "unknown action": (
        HEAD + "  - name: a\n    match: {}\n    action: permit\n",
        "p.yaml:5:5: `action: permit` is not right; use `allow`, `deny`, `pass` or `require_review`",
    ),
    "no match": (HEAD + "  - name: a\n    action: deny\n", "p.yaml:3:5: the key `match` is missing; add `match:`"),
    "no number": (HEAD + GOOD + "    name: b\n", "p.yaml:6:5: the key `name` is given twice; keep one of them"),
    "wrong version": ("version: 2\n", "p.yaml:1:1: `version: 2` is not right; use 1"),
    "wrong unit": (
        HEAD + GOOD + "    constraints: { max_file_size: 100kib }\n",
        "p.yaml:6:20: unknown unit `kib`; use B KiB MiB GiB KB MB GB, case-sensitive",
    ),
    "space in a size": (
        HEAD + GOOD + "    constraints: { max_file_size: 100 KiB }\n",
        "p.yaml:6:20: `100 KiB` is not a quantity; write a whole number and one of B KiB MiB GiB KB MB GB, without a space",
    ),
    "fraction": (HEAD + GOOD + "    constraints: { max_file_size: 1.5 }\n", "p.yaml:6:20: `max_file_size: 1.5`"),
    "a rule twice": (
        HEAD + GOOD + GOOD,
        "p.yaml:6:5: the name `good` is taken by a rule at p.yaml:3; give each rule its own name",
    ),
    "a built-in's name": (
        HEAD + "  - name: builtin.git\n    match: {}\n    action: deny\n",
        "p.yaml:3:5: the name `builtin.git` looks built in; start it with another word",
    ),
    "a dead glob": (
        HEAD + '  - name: a\n    match: { path_glob: ["./src"] }\n    action: deny\n',
        "p.yaml:4:26: the glob `./src` can never match; paths are matched without `.`, `..` and `//`",
    ),
    "a comment for a glob": (
        HEAD + '  - name: a\n    match: { path_glob: ["#x"] }\n    action: deny\n',
        "p.yaml:4:26: the glob `#x` can never match; `#` starts a comment in .gitignore, write `\\#`",
    ),
    "an open quote in a command": (
        HEAD + '  - name: a\n    match: { command: ["git \'x"] }\n    action: deny\n',
        "p.yaml:4:24: the command `git 'x` has no words; write the words a command starts with",
    ),
    "an example that does not match": (
        HEAD + GOOD + "    examples: { match: [{ syscall: fs.write }] }\n",
        "p.yaml:6:25: `good` does not match this example; correct the rule or the example",
    ),
    "an example that matches": (
        HEAD + GOOD + "    examples: { not_match: [{ path: x }] }\n",
        "p.yaml:6:29: `good` matches this example; correct the rule or the example",
    ),
    "an example that is no action": (
        HEAD + GOOD + "    examples: { match: [{ pth: x }] }\n",
        "p.yaml:6:25: the example of `good` is not an action: unknown key `pth`; did you mean `path`",
    ),
    "a number for a tool": (
        HEAD + "  - name: a\n    match: { tool: 5 }\n    action: deny\n",
        "p.yaml:4:14: `tool: 5` is not right; write a list, such as `[a, b]`",
    ),
    "a number among tools": (
        HEAD + "  - name: a\n    match: { tool: [x, 5] }\n    action: deny\n",
        "p.yaml:4:24: value 2 of `tool: 5` is not right; write text, in quotes if it looks like something else",
    ),
    "a word for a match": (
        HEAD + "  - name: a\n    match: everything\n    action: deny\n",
        "p.yaml:4:5: `match: everything` is not right; write `key: value` pairs",
    ),
    "a word for a rule": (HEAD + "  - everything\n", "p.yaml:3:5: value 1 of `capabilities: everything` is not right"),
    "a mapping for rules": (
        HEAD + "  name: a\n",
        "p.yaml:2:1: `capabilities` is not right; write a list, such as `[a, b]`",
    ),
    "an odd name": (
        HEAD + "  - name: a b\n    match: {}\n    action: deny\n",
        "p.yaml:3:5: `name: a b` is not right; use up to 100 letters, digits, `.`, `_` and `-`, and begin",
    ),
    "an unknown intent": (
        HEAD + "  - name: a\n    match: { intent: [HACK] }\n    action: deny\n",
        "p.yaml:4:23: value 1 of `intent: HACK` is not right; use `PLAN`, `CODE`, `ANALYZE`, `DEBUG`",
    ),
    "an unknown risk": (
        HEAD + "  - name: a\n    match: { risk: huge }\n    action: deny\n",
        "`risk: huge` is not right; use `low`, `medium` or `high`",
    ),
    "a word for yes": (
        HEAD + GOOD + "    standing_answer: 'yes'\n",
        "`standing_answer: yes` is not right; write `true` or `false`",
    ),
    "an endless reason": (
        HEAD + GOOD + f"    reason: {'x' * 501}\n",
        "`reason` is not right; write 500 characters at most",
    ),
    "an empty tool": (
        HEAD + '  - name: a\n    match: { tool: [""] }\n    action: deny\n',
        "write something, or leave it out",
    ),
    "a list for a file": ("- a\n", "p.yaml:1:1: `the file` is not right"),
    "broken YAML": ("version: [1\n", "p.yaml:2:1:"),
    "an unquoted star": (
        HEAD + "  - name: a\n    match: { path_glob: [*.pem] }\n",
        "quote a value that starts with `*`",
    ),
    "a tag": ("version: !!python/object/apply:os.system ['true']\n", "p.yaml:1:10: the tag `tag:yaml.org,2002:python"),
    "a tag of one's own": ("version: !secret 1\n", "p.yaml:1:10: the tag `!secret` is not allowed; remove the tag"),
    "two documents": ("version: 1\n---\nversion: 1\n", "p.yaml:2:1:"),
    "a recursive anchor": ("version: 1\ncapabilities: &a [*a]\n", "nested too deeply"),
    "a bomb": (
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{c}: &{c} [{','.join(f'*{p}' for _ in range(10))}]\n" for p, c in zip("abcdefg", "bcdefgh", strict=True)
        ),
        "too many values",
    ),
    "nested without end": ("[" * 5000, "nested too deeply"),
    "a control character": (
        "version: 1\n# \x07\n",
        "p.yaml:2:3: the character U+0007 is not allowed in YAML; remove it",
    ),
    "a mapping for a key": ("? {a: b}\n: c\n", "p.yaml:1:3: a key has to be a plain word"),
    "a number too long": ("version: " + "9" * 5000 + "\n", "p.yaml:1:10: the number is too long"),
}


@rows("name", BAD)
def test_bad_file(name: str) -> None:
    text, expected = BAD[name]
    assert expected in " | ".join(problems(text))


TOO_MUCH = {
    "characters": "#" * OF_PROJECT.characters + "\n",
    "values": f"version: 1\ncapabilities: [{'{},' * OF_PROJECT.values}]\n",
    "values in one rule": HEAD
    + f"  - name: a\n    match: {{ command: [{'a,' * OF_PROJECT.values}] }}\n    action: deny\n",
}


@rows("name", TOO_MUCH)
def test_POL_08_what_comes_with_a_project_is_read_within_bounds_and_refused_beyond_them(name: str) -> None:
    (beyond,) = problems(TOO_MUCH[name], project=True)
    assert beyond.endswith("write less")
    with pytest.raises(PolicyError) as refused:
        parse_work_items("w.yaml", TOO_MUCH[name])
    assert refused.value.problems[0].fix == "write less"


def test_POL_08_a_file_in_which_all_is_wrong_is_told_in_part() -> None:
    told = problems("version: 1\n" + "".join(f"k{number}: 1\n" for number in range(3 * MOST_PROBLEMS)))
    assert len(told) == MOST_PROBLEMS


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9)), max_size=6))
def test_POL_05_of_merged_mappings_the_first_counts(pairs: list[tuple[str, int]]) -> None:
    text = f"<<: [{', '.join(f'{{{key}: {number}}}' for key, number in pairs)}]\n"
    assert read_document("p.yaml", text).value == dict(reversed(pairs))


def test_every_problem_is_reported_at_once() -> None:
    found = problems(HEAD + GOOD + "    reasn: x\n  - name: b\n    match: { syscal: x }\n    action: deny\n")
    assert [p.split(": ")[0] for p in found] == ["p.yaml:6:5", "p.yaml:8:14"]


def test_yaml_means_what_it_looks_like() -> None:
    """`no` and `1:30` are words here, anchors and merges work, and JSON with tabs is YAML too."""
    text = (
        HEAD
        + "  - &base { name: a, match: { tool: no, syscall: 1:30 }, action: deny }\n"
        + "  - { <<: *base, name: b, action: allow }\n"
    )
    policy = compile_policy([Source("p", text)])
    assert [(r.name, r.verdict) for r in policy.layers[1].rules] == [("a", Verdict.DENY), ("b", Verdict.ALLOW)]
    assert evaluate(policy, Action("1:30", tool="no")).rules == ("a",)
    as_json = '{\t"version": 1,\n\t"capabilities": [\n\t\t{"name": "a", "match": {}, "action": "deny"}]}'
    assert [r.line for r in compile_policy([Source("p", as_json)]).layers[1].rules] == [3]


def test_a_project_file_may_not_allow() -> None:
    """THR-config-project-policy."""
    assert problems(HEAD + GOOD, project=True) == [
        "p.yaml:5:5: `good` allows, and a project's policy may only tighten; move the rule to your own policy file"
    ]


def test_a_project_review_does_not_stand_in_for_an_allow() -> None:
    review = HEAD + "  - name: ask\n    match: { syscall: process.exec }\n    action: require_review\n"
    alone = compile_policy([Source("own", ""), Source("project", review, project=True)])
    assert evaluate(alone, Action("process.exec", command=("ls",))).verdict is Verdict.DENY
    allowing = HEAD + "  - name: ok\n    match: { syscall: process.exec }\n    action: allow\n"
    both = compile_policy([Source("own", allowing), Source("project", review, project=True)])
    assert evaluate(both, Action("process.exec", command=("ls",))).verdict is Verdict.REQUIRE_REVIEW


def test_an_error_in_a_rule_is_a_deny() -> None:
    def broken(subject: Subject) -> bool:
        raise RecursionError(subject.path)

    def fine(subject: Subject) -> bool:
        return subject.path is not None

    for matches, excepted in ((broken, None), (fine, broken)):
        decision = evaluate(_policy(matches, excepted), Action("fs.read", path="a"))
        assert decision.verdict is Verdict.DENY
        assert decision.deciding.code == "rule_error"


def _policy(matches: Condition, excepted: Condition | None) -> Policy:
    rule = Rule("odd", Verdict.PASS, "", matches, excepted=excepted)
    allow = Rule("allow", Verdict.ALLOW, "", lambda subject: subject.path is not None)
    return Policy("v", (Layer.of("yaml", [rule, allow]),))


def test_max_file_size_lets_an_allow_abstain() -> None:
    text = HEAD + GOOD.replace("fs.read", "fs.write") + "    constraints: { max_file_size: 1KiB }\n"
    policy = compile_policy([Source("p", text)])
    assert evaluate(policy, Action("fs.write", path="a", size=1024)).verdict is Verdict.ALLOW
    refused = evaluate(policy, Action("fs.write", path="a", size=1025))
    assert refused.verdict is Verdict.DENY
    assert [r.code for r in refused.reasons] == ["no_rule", "constraint_unmet"]
    assert "1025 bytes" in refused.reasons[1].message


def test_the_version_follows_every_source() -> None:
    versions = {
        compile_policy([Source("p", text)] + ([Source("q", extra, project=True)] if extra is not None else [])).version
        for text in ("", HEAD + GOOD)
        for extra in (None, "", "# x\n")
    }
    assert len(versions) == 6
    assert compile_policy([Source("p", "")]).version == compile_policy([Source("elsewhere", "")]).version


def test_a_syscall_that_was_nearly_spelled_right_is_warned_about() -> None:
    """A deny rule with such a syscall would seem to work but never match. A value unlike all known ones may be another
    version's."""
    text = (
        HEAD
        + "  - { name: a, match: { syscall: fs.raed }, action: deny }\n"
        + "  - { name: b, match: { syscall: [fs.write, process_exec] }, except: [{ syscall: fs.wirte }], action: deny }\n"
        + "  - { name: c, match: { syscall: [made.up, fs.read] }, action: deny }\n"
    )
    warnings = compile_policy([Source("p", text)]).warnings
    assert [(w.line, w.message, w.fix) for w in warnings] == [
        (3, "`a` can never match: no action has the syscall `fs.raed`", "did you mean `fs.read`"),
        (4, "a value of `b` never matches: no action has the syscall `process_exec`", "did you mean `process.exec`"),
        (4, "a value of `b` never matches: no action has the syscall `fs.wirte`", "did you mean `fs.write`"),
    ]


def test_warnings_name_rules_that_do_not_do_what_they_seem() -> None:
    text = (
        HEAD
        + "  - { name: a, match: { syscall: [] }, action: deny }\n"
        + '  - { name: b, match: { path_glob: ["!x"] }, action: deny }\n'
        + "  - { name: c, match: {}, action: allow }\n"
        + "  - { name: d, match: { tool: [x, y] }, except: [{ tool: [y, x] }], action: deny }\n"
        + "  - { name: e, match: { tool: x }, action: deny, constraints: { max_file_size: 1 } }\n"
    )
    warnings = compile_policy([Source("p", text)]).warnings
    assert [(w.line, w.message.split(":")[0]) for w in warnings] == [
        (3, "`a` can never match"),
        (4, "`b` can never match"),
        (5, "`c` allows everything"),
        (6, "`d` can never apply"),
        (7, "`e` does not allow anything that its constraints could limit"),
    ]


UNITS = {
    "1B": 1,
    "100KiB": 102400,
    "1MiB": 1048576,
    "2GiB": 2147483648,
    "1KB": 1000,
    "1MB": 10**6,
    "1GB": 10**9,
    "7": 7,
}


@rows(("text", "size"), UNITS.items())
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@rows("text", ["1kb", "1 KB", "KB", "-1", "1.5KB", "1TB", "", "１KB", "1e3", -5, True])
def test_sizes_are_not_guessed(text: str | int) -> None:
    with pytest.raises(ValueError, match="unit|quantity"):
        parse_size(text)


PLAIN = st.text(st.sampled_from("ab.-_"), min_size=1, max_size=4).filter(lambda s: s not in {".", ".."})
SEGMENT = PLAIN | st.sampled_from(["*", "**", "a*", "?b", "[ab]", "*.a"])
GLOB = st.builds(
    lambda lead, parts, tail: lead + "/".join(parts) + tail,
    st.sampled_from(["", "/"]),
    st.lists(SEGMENT, min_size=1, max_size=3),
    st.sampled_from(["", "/"]),
)
PATH = st.lists(PLAIN, min_size=1, max_size=4).map("/".join)


@given(GLOB, PATH)
@settings(max_examples=examples(1000), deadline=None)
def test_globs_match_as_gitignore_does(glob: str, path: str) -> None:
    assert compile_globs((glob,))(path) == GitIgnoreSpec.from_lines([glob], backend="simple").match_file(path)


@given(st.lists(GLOB | GLOB.map("!{}".format), max_size=5), PATH, st.randoms())
@settings(deadline=None)
def test_the_order_of_globs_does_not_count(globs: list[str], path: str, random: object) -> None:
    shuffled = list(globs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert compile_globs(tuple(globs))(path) == compile_globs(tuple(shuffled))(path)
    if any(compile_globs((g[1:],))(path) for g in globs if g.startswith("!")):
        assert not compile_globs(tuple(globs))(path)


def test_a_line_feed_in_a_name_hides_nothing() -> None:
    assert compile_globs(("*.pem",))("a\n/key.pem")
    assert not compile_globs(("a*c.json",))("abc.json\n")


COMMANDS = {
    "pytest -q": ("pytest", "-q"),
    "git commit -m 'two words'": ("git", "commit", "-m", "two words"),
    "a=b ls": ("sh", "-c", "a=b ls"),
    "pytest; rm -rf .": ("sh", "-c", "pytest; rm -rf ."),
    "pytest\nrm x": ("sh", "-c", "pytest\nrm x"),
    "echo $(rm x)": ("sh", "-c", "echo $(rm x)"),
    "echo `rm x`": ("sh", "-c", "echo `rm x`"),
    "ls > x": ("sh", "-c", "ls > x"),
    "ls *": ("sh", "-c", "ls *"),
    "ls 'open": ("sh", "-c", "ls 'open"),
    "ls\r": ("sh", "-c", "ls\r"),
    "~/x": ("sh", "-c", "~/x"),
    "": ("sh", "-c", ""),
    "ls # x": ("sh", "-c", "ls # x"),
    "a \\b": ("sh", "-c", "a \\b"),
}


@rows(("command", "words"), COMMANDS.items())
def test_only_plain_words_are_words(command: str, words: tuple[str, ...]) -> None:
    """THR-shell-metacharacters: a rule for a program never matches a command of which a shell would make more."""
    assert command_words(command) == words


def test_command_rules_match_leading_words_exactly() -> None:
    text = (
        HEAD
        + '  - name: a\n    match: { syscall: process.exec, command: ["pytest", "git status"] }\n    action: allow\n'
    )
    policy = compile_policy([Source("p", text)])
    for command, allowed in {
        "pytest -q": True,
        "git status": True,
        "git status -s": True,
        "git push": False,
        "pytest2": False,
        "pytest && rm x": False,
    }.items():
        action = parse_action({"syscall": "process.exec", "command": command})
        assert evaluate(policy, action).allowed is allowed, command


def test_default_policy() -> None:
    policy = load_policy()
    assert policy.warnings == ()
    expected = {
        ("fs.read", "src/a.py"): "allow",
        ("fs.read", ".env.example"): "allow",
        ("fs.list", "."): "allow",
        ("fs.read", ".env"): "deny",
        ("fs.read", "app/.env.local"): "deny",
        ("fs.read", "certs/server.pem"): "deny",
        ("fs.read", "certs/cacert.pem"): "deny",
        ("fs.read", ".venv/lib/python3.12/site-packages/certifi/cacert.pem"): "allow",
        ("fs.read", ".venv/lib/python3.12/site-packages/pip/_vendor/certifi/cacert.pem"): "allow",
        ("fs.read", "venv/lib/python3.12/site-packages/grpc/_cython/_credentials/roots.pem"): "allow",
        ("fs.read", ".venv/lib/python3.12/site-packages/gevent/tests/server.pem"): "deny",
        ("fs.read", "backup/id_rsa.old"): "deny",
        ("fs.read", ".aws/credentials"): "deny",
        ("fs.read", "home/.ssh/config"): "deny",
        ("fs.read", "../other/a.py"): "deny",
        ("fs.read", "/etc/passwd"): "deny",
        ("fs.write", "src/a.py"): "require_review",
        ("fs.write", ".git/hooks/pre-commit"): "deny",
        ("fs.delete", "src/a.py"): "deny",
        ("network.connect", None): "deny",
    }
    for (syscall, path), verdict in expected.items():
        assert evaluate(policy, Action(syscall, path=path)).verdict.word == verdict, (syscall, path)
    assert evaluate(policy, Action("process.exec", command=("ls",))).verdict.word == "require_review"


def test_explain_has_the_wire_form() -> None:
    answer = explain(load_policy(), parse_action({"syscall": "fs.write", "path": "conftest.py"}))
    assert list(answer) == ["verdict", "rules", "reasons", "risk"]
    assert answer["verdict"] == "require_review"
    assert answer["rules"] == ["builtin.implicit-code", "write-workspace"]
    reasons = answer["reasons"]
    assert isinstance(reasons, list)
    assert [set(r) for r in reasons] == [{"rule", "layer", "action", "reason", "file", "line"}] * 2
    assert [r["layer"] for r in reasons] == ["builtin", "yaml"]
    assert reasons[0]["file"] is None
    lines = default_source().text.splitlines()
    assert "write-workspace" in lines[reasons[1]["line"] - 1]


@rows(
    ("value", "why"),
    [
        ({"path": "x"}, "`syscall`"),
        ({"syscall": "fs.read", "pth": "x"}, "unknown key `pth`"),
        ({"syscall": "fs.read", "size": -1}, "`size`"),
        ({"syscall": "fs.read", "intent": "HACK"}, "`intent`"),
        ({"syscall": 5}, "`syscall`"),
        ([], "`it`"),
        (None, "`it`"),
    ],
)
def test_what_is_no_action_is_refused(value: object, why: str) -> None:
    with pytest.raises(ActionError) as caught:
        parse_action(value)
    assert why in caught.value.why


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, data, why in (
        (tmp_path / "missing.yaml", None, "no such file"),
        (tmp_path, None, "directory"),
        (tmp_path / "latin.yaml", b"version: 1\n# \xe9\n", ":2:1: the file is not UTF-8"),
    ):
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(PolicyError) as caught:
            load_policy(path)
        assert why in str(caught.value.problems[0])
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbfversion: 1\r\ncapabilities: []\r\n")
    assert read_source(tmp_path / "bom.yaml").text.startswith("version")
    assert load_policy(tmp_path / "bom.yaml").files[0] == str(tmp_path / "bom.yaml")


@pytest.mark.slow
def test_a_person_may_not_read_a_file_they_may_not(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("version: 1\n")
    path.chmod(0)
    script = (
        "import os, sys, pathlib\n"
        "from remit_governance.policy.language.load import load_policy\n"
        "from remit_governance.errors import PolicyError\n"
        "os.geteuid() or os.setuid(65534)\n"
        "try: load_policy(pathlib.Path(sys.argv[1]))\n"
        "except PolicyError as e: print(e.problems[0].message)\n"
    )
    if os.geteuid() == 0:
        for folder in (tmp_path, *tmp_path.parents[:2]):
            folder.chmod(0o755)
    run = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert "permission denied" in run.stdout


def test_POL_05_a_text_that_was_compiled_before_is_judged_by_whose_it_is() -> None:
    text = "capabilities:\n  - { name: all, match: { syscall: fs.raed }, action: allow }\n"
    for _ in range(2):
        (warning,) = compile_policy([Source("mine.yaml", text)]).warnings
        assert str(warning).startswith("mine.yaml:2:")
        with pytest.raises(PolicyError, match="theirs.yaml:2:.*a project's policy may only tighten"):
            compile_policy([Source("theirs.yaml", text, project=True)])
        with pytest.raises(PolicyError, match="the name `all` is taken by a rule at mine.yaml:2"):
            compile_policy([Source("mine.yaml", text), Source("other.yaml", text)])
