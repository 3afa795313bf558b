"""The rule that `always` offers, and the file that gets it: exactly the shown rule (APP-05)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_governance.errors import PolicyError
from remit_governance.permissions.permissions import (
    PermissionConfig,
    PermissionRule,
    Standing,
    StandingRule,
    WorkspaceIdentity,
    decide,
    in_workspace,
)
from remit_governance.permissions.remembered import (
    NoPlace,
    Offer,
    exact_rule,
    offer_for,
    parse_permissions,
    rule_text,
    sentence,
    with_rule,
)
from remit_governance.policy.matching.command_match import command_words
from remit_governance.values import Action, Decision, Reason, Verdict

FILE = "permissions.yaml"
EMPTY = PermissionConfig()
HERE = WorkspaceIdentity("/shop", "w1")


def said(verdict: Verdict, code: str = "rule") -> Decision:
    return Decision(verdict, (Reason(code, "because", verdict, "yaml", rule="r"),))


REVIEW, ALLOW, EACH_TIME = (
    said(Verdict.REQUIRE_REVIEW),
    said(Verdict.ALLOW),
    said(Verdict.REQUIRE_REVIEW, "rule_review_each_time"),
)


def run(command: str, cwd: str = ".") -> Action:
    return Action("process.exec", tool="run_command", command=command_words(command), script=command, cwd=cwd)


def write(path: str, tool: str = "write_file", syscall: str = "fs.write") -> Action:
    return Action(syscall, path=path, tool=tool)


def always(*actions: Action, config: PermissionConfig = EMPTY) -> PermissionRule:
    rule = offer_for([(action, REVIEW) for action in actions], config, HERE).always
    assert rule is not None
    return rule


def answered(rule: PermissionRule, action: Action) -> str:
    return decide(PermissionConfig(allow=(rule,)), Standing(), action, REVIEW).word


def reach(host: str, tool: str = "web_fetch") -> Action:
    return Action("net.connect", tool=tool, host=host)


def test_APP_18_a_host_of_a_command_is_not_remembered_for_the_next_command() -> None:
    assert offer_for([(run("npm ci"), REVIEW), (reach("example.org", "run_command"), REVIEW)], EMPTY, HERE) == Offer()
    assert offer_for([(reach("a.example"), REVIEW), (reach("b.example"), REVIEW)], EMPTY, HERE).always is None


def test_APP_18_a_host_is_the_usual_port_where_it_is_allowed_and_every_port_where_it_is_denied() -> None:
    rule = PermissionRule(tool=("web_fetch",), host=("example.org",))
    assert answered(rule, reach("example.org")) == "allow"
    assert answered(rule, reach("example.org:8443")) == "ask"
    assert answered(rule, reach("sub.example.org")) == "ask"
    assert answered(rule, reach("example.org", "run_command")) == "ask"
    assert answered(rule, write("example.org")) == "ask"
    config = PermissionConfig(
        allow=(PermissionRule(tool=("web_fetch",)),), deny=(PermissionRule(host=("example.org",)),)
    )
    assert decide(config, Standing(), reach("example.org:8443"), REVIEW).word == "deny"
    assert decide(config, Standing(), reach("example.net"), REVIEW).word == "allow"


SHOWN = [
    (
        (write("src/a.py"),),
        "{tool: write_file, syscall: fs.write, path: src/a.py}",
        "writing `src/a.py` with write_file",
    ),
    (
        (write("a.py", "edit_file", "fs.read"), write("a.py", "edit_file")),
        "{tool: edit_file, syscall: [fs.read, fs.write], path: a.py}",
        "reading and writing `a.py` with edit_file",
    ),
    (
        (run("git status", "sub"),),
        "{tool: run_command, syscall: process.exec, argv: [git, status], cwd: sub}",
        "running `git status` in `sub`",
    ),
    (
        (run("pytest && npm test"),),
        '{tool: run_command, syscall: process.exec, argv: [sh, "-c", "pytest && npm test"], cwd: .}',
        "running `pytest && npm test` in the workspace",
    ),
    (
        (reach("example.org:8443"),),
        '{tool: web_fetch, syscall: net.connect, host: "example.org:8443"}',
        "reaching `example.org:8443` with web_fetch",
    ),
    ((write("\u202e*[x] 1.py"),), '{tool: write_file, syscall: fs.write, path: "\\u202E*[x] 1.py"}', "writing"),
]


@rows(("actions", "text", "words"), SHOWN)
def test_the_rule_is_shown_as_it_will_stand_in_the_file_and_in_words(
    actions: tuple[Action, ...], text: str, words: str
) -> None:
    offer = offer_for([(action, REVIEW) for action in actions], EMPTY, HERE)
    assert offer.scopes == ("once", "session", "always", "everywhere")
    assert offer.everywhere is not None
    assert rule_text(offer.everywhere) == text
    text = f"{text[:-1]}, workspace: /shop, workspace_id: w1}}"
    assert offer.always is not None
    assert rule_text(offer.always) == text
    assert sentence(offer.standing).startswith(words)
    assert f"- {text}\n" in with_rule(FILE, "", "allow", offer.always)


BROADER = [
    (reach("example.org"), reach("example.net")),
    (reach("example.org"), reach("example.org:8443")),
    (reach("example.org"), reach("example.org", "run_command")),
    (write("src/a.py"), write("src/b.py")),
    (write("src/a.py"), write("x/src/a.py")),
    (write("src/a.py"), write("src/a.py/x")),
    (write("src/a.py"), write("src/a.py", "edit_file")),
    (write("src/a.py"), write("src/a.py", syscall="fs.delete")),
    (write("*.py"), write("a.py")),
    (write("[ab]"), write("a")),
    (write("!a"), write("b")),
    *(
        (run("git status"), run(other))
        for other in (
            "git status && x",
            "x; git status",
            "git status > a.py",
            "git status --foo",
            "git status x",
            "git",
            "(git status)",
            "env git status",
            "git status | sh",
            "A=1 git status",
        )
    ),
    (run("git status"), run("git status", "sub")),
    (run("a && b"), run("a && b && c")),
    (run("a && b"), run("a")),
]


@rows(("asked", "other"), BROADER)
def test_THR_approvals_an_always_saved_is_never_broader_than_what_was_shown(asked: Action, other: Action) -> None:
    rule = parse_permissions(FILE, with_rule(FILE, "", "allow", always(asked))).allow[0]
    assert answered(rule, asked) == "allow"
    assert answered(rule, other) == "ask"


def test_THR_approvals_always_never_outranks_a_deny_and_is_not_offered_against_one() -> None:
    """THR-approvals-always-deny."""
    for lists in ({"deny": [{"tool": "write_file"}]}, {"final_deny": [{"tool": "write_file"}]}):
        config = PermissionConfig.model_validate({**lists, "allow": [always(write("a.py")).model_dump()]})
        assert decide(config, Standing(), write("a.py"), REVIEW).word in ("deny", "final_deny")
        assert offer_for([(write("a.py"), REVIEW)], config, HERE).always is None


def test_always_is_not_offered_where_it_would_not_answer() -> None:
    """For files asked about each time, for actions without an exact rule, under an override that asks, or for uncertain
    commands."""
    asks = PermissionConfig.model_validate({"overrides": [{"tool": "write_file", "answer": "ask"}]})
    assert offer_for([(write("a"), EACH_TIME)], EMPTY, HERE) == Offer()
    assert offer_for([(Action("fs.write", path="a"), REVIEW)], EMPTY, HERE) == Offer()
    assert offer_for([(write("a"), REVIEW)], asks, HERE).scopes == ("once", "session")
    assert offer_for([(run("sh $X"), REVIEW)], EMPTY, HERE).scopes == ("once", "session")
    assert offer_for([(write("a"), REVIEW), (write("b"), REVIEW)], EMPTY, HERE).scopes == ("once", "session")


def test_a_deny_for_good_also_stops_the_command_as_a_part_of_a_line() -> None:
    rule = always(run("rm -rf build"))
    config = PermissionConfig(deny=(rule,))
    for line in ("rm -rf build", "true; rm -rf build", "rm -rf build && x"):
        assert decide(config, Standing(), run(line), ALLOW).word == "deny"
    assert decide(config, Standing(), run("rm -rf build2"), ALLOW).word == "allow"


WORDS = st.text(min_size=1, max_size=12)


@given(
    WORDS, WORDS, st.none() | st.lists(st.text(max_size=8), min_size=1, max_size=4), st.sampled_from(["allow", "deny"])
)
def test_every_rule_comes_back_from_the_file_as_it_was(tool: str, path: str, argv: list[str] | None, name: str) -> None:
    command = tuple(argv) if argv else None
    rule = exact_rule((StandingRule(tool, "fs.write", None if command else path, command, path if command else None),))
    assert rule is not None
    longer = with_rule(FILE, TEXTS["block"], name, rule)  # type: ignore[arg-type]
    assert getattr(parse_permissions(FILE, longer), name)[-1] == rule
    assert rule_text(rule) in longer
    assert "\u202e" not in longer


TEXTS = {
    "nothing": "",
    "comment": "# mine\n",
    "no newline": "# mine\ndefault_action: ask",
    "block": "version: 1\nallow:  # these\n  # tests\n  - {tool: a}  # first\n  # last\n\n# no more\ndeny:\n- tool: b\n  path: x\n",
    "block at the end": "allow:\n    - tool: a\n      syscall:\n        - fs.read\n        - fs.write",
    "flow": "allow: [{tool: a}]\ndeny: []\n",
    "flow lines": "deny: [\n  {tool: a}, # one\n  {tool: b} # two\n]\n",
    "indented": "  allow:\n    - {tool: a}\n",
    "scalar end": "allow:\n  - tool: 'a'\n# end\noverrides: []\n",
}
RULE = PermissionRule(tool=("write_file",), path=("a b.py",))


@pytest.mark.parametrize("name", ["allow", "deny"])
@pytest.mark.parametrize("kind", TEXTS)
def test_one_rule_is_added_and_everything_else_stays_as_it_stands(kind: str, name: str) -> None:
    text = TEXTS[kind]
    longer = with_rule(FILE, text, name, RULE)  # type: ignore[arg-type]
    kept = [line for line in text.split("\n") if line not in ("allow: [{tool: a}]", "deny: []")]
    position = -1
    for line in kept:
        position = longer.index(line, position + 1)
    before, after = parse_permissions(FILE, text), parse_permissions(FILE, longer)
    assert getattr(after, name) == (*getattr(before, name), RULE)
    assert after.model_copy(update={name: getattr(before, name)}) == before
    assert with_rule(FILE, longer, name, RULE) == longer  # type: ignore[arg-type]


NO_PLACE = ['{"allow": []}', "allow: &x\n  - {tool: a}\ndeny: *x\n", "x: 1\n", "---\nallow: []\n---\n"]


@pytest.mark.parametrize("text", NO_PLACE)
def test_a_file_that_cannot_be_added_to_with_certainty_is_refused(text: str) -> None:
    with pytest.raises((NoPlace, PolicyError)):
        with_rule(FILE, text, "allow", RULE)


MISTAKES = [
    ("allow:\n  - tol: x\n", "2:5", "unknown key `tol`; did you mean `tool`"),
    ("alow: []\n", "1:1", "unknown key `alow`; did you mean `allow`"),
    ("overrides:\n  - {tool: x, answr: ask, answer: ask}\n", "2:15", "unknown key `answr`; did you mean `answer`"),
    ("overrides:\n  - {tool: x}\n", "2:5", "the key `answer` is missing"),
    ("allow:\n  - {tool: x, workspace: shop}\n", "2:15", "`shop` is not an absolute path; begin it with `/` or `~/`"),
    ("allow:\n  - {tool: x, workspace_id: w1}\n", "2:5", "name the path as `workspace`"),
    ("deny:\n  - path_glob: ./x\n", "2:5", "the glob `./x` can never match"),
    ("default_action: never\n", "1:1", "`default_action: never` is not right"),
    ("allow:\n  - argv: []\n", "2:5", "`argv` is not right"),
    ("allow: [\n", "2:1", "expected node content"),
]


@rows(("text", "place", "message"), MISTAKES)
def test_a_mistake_is_named_with_its_place_and_what_to_write_instead(text: str, place: str, message: str) -> None:
    with pytest.raises(PolicyError) as raised:
        parse_permissions(FILE, text)
    first = str(raised.value.problems[0])
    assert first.startswith(f"{FILE}:{place}: ")
    assert message in first


WHERE = [
    ({}, "allow", True),
    ({"workspace": "/shop"}, "allow", True),
    ({"workspace": "/shop", "workspace_id": "w1"}, "allow", True),
    ({"workspace": "/link"}, "allow", True),
    ({"workspace": "/shop", "workspace_id": "w2"}, "allow", False),
    ({"workspace": "/shop/sub"}, "allow", False),
    ({"workspace": "/other"}, "allow", False),
    ({"workspace": "/other", "workspace_id": "w1"}, "allow", False),
    ({"workspace": "/shop", "workspace_id": "w2"}, "deny", True),
    ({"workspace": "/shop", "workspace_id": "w2"}, "final_deny", True),
    ({"workspace": "/other"}, "deny", False),
    ({"workspace": "/other"}, "final_deny", False),
]


@rows(("bound", "name", "holds"), WHERE)
def test_THR_approvals_a_rule_holds_in_the_workspace_that_it_names(
    bound: dict[str, str], name: str, holds: bool
) -> None:
    """THR-approvals-workspace-named: a rule that denies holds for any folder at its path; without a workspace a rule
    holds everywhere."""
    config = PermissionConfig.model_validate({name: [{"tool": "write_file", **bound}]})
    here = in_workspace(config, HERE, lambda path: "/shop" if path == "/link" else path)
    assert bool(getattr(here, name)) is holds
    if name == "deny":
        return
    answers = {"allow": "allow", "final_deny": "ask"}
    override = {"tool": "write_file", "answer": answers[name], **bound}
    config = PermissionConfig.model_validate({"overrides": [override]})
    assert bool(in_workspace(config, HERE, lambda path: "/shop" if path == "/link" else path).overrides) is holds


def test_nothing_is_kept_for_good_where_the_workspace_has_no_id() -> None:
    for here in (None, WorkspaceIdentity("/shop", None)):
        assert offer_for([(write("a"), REVIEW)], EMPTY, here).scopes == ("once", "session")
