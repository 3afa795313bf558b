"""The index only narrows: no rule that matches an action is ever left out (POL-09)."""

from __future__ import annotations

import json

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import rows

from remit_governance.policy.decision.evaluate import NO_RULE, evaluate
from remit_governance.policy.decision.rule_paths import find_denied_paths, find_own_paths
from remit_governance.policy.language.compile import compile_policy
from remit_governance.policy.language.load import Source, default_source
from remit_governance.policy.language.policy_form import MatchForm
from remit_governance.policy.matching.conditions import compile_match
from remit_governance.policy.matching.index import ANY, Index, Key, keys_of_globs, keys_of_match
from remit_governance.policy.matching.paths import glob_fault, normalise, outside
from remit_governance.policy.rules import Subject
from remit_governance.values import Action, Intent, Verdict

NAMES = ["src", "a.py", "b.tar.gz", ".env", "Test_A.PY", "x", "né.md", "a b", "..x", "foo."]
PIECES = [
    *NAMES,
    "*",
    "**",
    "*.py",
    "*.gz",
    "test_*",
    "?.py",
    "[ab].py",
    "a*",
    "test*",
    "né*",
    "*.tar.*",
    "\\*",
    "*.",
    ".*",
    "*a.py",
    "a**",
    "**.py",
    "t*_*A",
    "a\\ *",
    "*.py ",
    "*\\ b",
    "*tar*",
    "?est_?",
    "*a*y",
    "*.t[a]*",
    "*\\**",
]
GLOBS = st.builds(
    lambda lead, parts, tail: lead + "/".join(parts) + tail,
    st.sampled_from(["", "", "/", "!"]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
).filter(lambda glob: glob_fault(glob) is None)
PATHS = st.lists(st.sampled_from([*NAMES, "b.py", "test_1", "c.x.py", "test_A", "a b "]), min_size=1, max_size=4).map(
    "/".join
)
COMMANDS = st.sampled_from(["pytest", "git push", "/bin/rm", "./run"])
FORMS = st.builds(
    MatchForm,
    path_glob=st.none() | st.lists(GLOBS, max_size=3).map(tuple),
    caller_tag=st.none() | st.lists(st.sampled_from(["model", "human"]), max_size=2).map(tuple),
    tool=st.none() | st.just(("read_file",)),
    intent=st.none() | st.just((Intent.CODE,)),
    command=st.none() | st.lists(COMMANDS, max_size=2).map(tuple),
    host=st.none() | st.just(("Example.org",)),
    state=st.none() | st.just(("idle",)),
)
ACTIONS = st.builds(
    Action,
    syscall=st.just("fs.write"),
    path=st.none() | PATHS,
    tool=st.sampled_from([None, "read_file"]),
    intent=st.sampled_from([None, Intent.CODE]),
    command=st.sampled_from([None, ("pytest", "-q"), ("git", "push"), ("/bin/rm", "x"), ("./run",)]),
    host=st.sampled_from([None, "EXAMPLE.org"]),
    caller_tags=st.frozensets(st.sampled_from(["model", "human"])),
)


@settings(max_examples=examples(1000), deadline=None)
@given(form=FORMS, action=ACTIONS, fold_case=st.booleans())
def test_what_matches_is_found(form: MatchForm, action: Action, fold_case: bool) -> None:
    subject = Subject.of(action)
    if not compile_match(form, fold_case)(subject):
        return
    index = Index([("it", form.syscall, keys_of_match(form, fold_case))])
    found = index.find(action, subject.forms)
    assert found
    assert all(each == ["it"] for each in found)


@rows(
    ("glob", "keys"),
    [
        ("src/**", [("prefix", "src")]),
        ("/src/a.py", [("prefix", "src/a.py")]),
        ("src/*/a.py", [("prefix", "src"), ("part", "a.py")]),
        ("src/**/test_*.py", [("prefix", "src"), ("start", "test_"), ("end", ".py")]),
        (".env", [("part", ".env")]),
        ("**/.config/gh/**", [("part", ".config"), ("part", "gh")]),
        ("*.tar.gz", [("end", ".tar.gz")]),
        ("**/*.py", [("end", ".py")]),
        ("build/", [("part", "build")]),
        ("**", [ANY]),
        ("test_*", [("start", "test_")]),
        ("**/.env*", [("start", ".env")]),
        ("[ab]cd", [("end", "cd")]),
        ("*.py ", [ANY]),
        ("?", [ANY]),
    ],
)
def test_a_glob_has_the_keys_of_its_literal_parts(glob: str, keys: list[Key]) -> None:
    assert keys_of_globs([glob], fold_case=False) == (tuple(keys),)


def test_a_rule_is_filed_by_what_fewest_others_share() -> None:
    """Of ten rules about tests in one language, an action meets only those that contain its own words."""
    globs = [f"**/test_{name}*.py" for name in "abcdefghij"]
    index = Index([(glob, None, (keys_of_globs([glob], fold_case=False),)) for glob in globs])
    action = Action("fs.write", "src/test_c_1.py")
    assert index.find(action, Subject.of(action).forms) == [["**/test_c*.py"]]
    forms = [MatchForm(path_glob=("**/*.py",), tool=(f"tool-{n}",)) for n in range(10)]
    index = Index([(str(n), None, keys_of_match(form, fold_case=False)) for n, form in enumerate(forms)])
    action = Action("fs.write", "a.py", tool="tool-3")
    assert index.find(action, Subject.of(action).forms) == [["3"]]


RULE_SETS = st.lists(
    st.fixed_dictionaries(
        {"path_glob": st.lists(GLOBS, min_size=1, max_size=3)},
        optional={"syscall": st.sampled_from([["fs.read"], ["fs.write"]]), "tool": st.just(["read_file"])},
    ),
    max_size=4,
)

_MATCHES = st.fixed_dictionaries(
    {},
    optional={
        "path_glob": st.lists(st.sampled_from(["**"]) | GLOBS, min_size=1, max_size=3),
        "syscall": st.sampled_from([["fs.read"], ["fs.write"]]),
        "tool": st.sampled_from([["read_file"], ["list_files"]]),
    },
)
RULE_FORMS = st.lists(
    st.fixed_dictionaries(
        {"match": _MATCHES, "action": st.sampled_from(["allow", "deny", "require_review"])},
        optional={"except": st.lists(_MATCHES, min_size=1, max_size=2)},
    ),
    max_size=4,
)


@settings(max_examples=examples(1000), deadline=None)
@given(matches=RULE_SETS, path=PATHS, tool=st.sampled_from([None, "read_file"]), fold_case=st.booleans())
def test_no_rule_denies_a_path_of_which_it_is_said_that_none_can_and_some_call_is_denied_of_any_other(
    matches: list[dict[str, list[str]]], path: str, tool: str | None, fold_case: bool
) -> None:
    rules = [{"name": f"r{n}", "match": match, "action": "deny"} for n, match in enumerate(matches)]
    text = json.dumps({"version": 1, "capabilities": rules})
    policy = compile_policy([default_source(), Source("p.yaml", text)], fold_case)
    decision = evaluate(policy, Action("fs.read", path, tool=tool))
    denied = decision.verdict is Verdict.DENY and decision.deciding.code != NO_RULE
    asked = find_denied_paths(policy, "fs.read").concern(path)
    # The generated rules name one tool or none; an action without a tool misses the rules for that tool.
    assert asked is denied or (asked and tool is None)


@settings(max_examples=examples(500), deadline=None)
@given(forms=RULE_FORMS, paths=st.lists(PATHS, min_size=1, max_size=6), fold_case=st.booleans())
def test_of_paths_that_no_rule_speaks_of_all_are_judged_alike(
    forms: list[dict[str, object]], paths: list[str], fold_case: bool
) -> None:
    rules = [{"name": f"r{n}", **form} for n, form in enumerate(forms)]
    text = json.dumps({"version": 1, "capabilities": rules})
    policy = compile_policy([default_source(), Source("p.yaml", text)], fold_case)
    own = find_own_paths(policy, "fs.read")
    verdicts = {
        evaluate(policy, Action("fs.read", path, tool="read_file", intent=Intent.ANALYZE)).verdict
        for path in (*paths, "qxzjv.txt")
        if not own.concern(path)
    }
    assert len(verdicts) <= 1


@settings(max_examples=examples(500), deadline=None)
@given(matches=RULE_SETS, paths=st.lists(PATHS, min_size=1, max_size=8), fold_case=st.booleans())
def test_of_the_names_in_a_folder_those_may_be_denied_of_which_it_is_said_by_their_paths(
    matches: list[dict[str, list[str]]], paths: list[str], fold_case: bool
) -> None:
    rules = [{"name": f"r{n}", "match": match, "action": "deny"} for n, match in enumerate(matches)]
    text = json.dumps({"version": 1, "capabilities": rules})
    denials = find_denied_paths(compile_policy([default_source(), Source("p.yaml", text)], fold_case), "fs.read")
    walked = [path for path in paths if path == normalise(path) and not outside(path)]
    # Twice, because what was found harmless in one folder is not examined again in another.
    for path in (*walked, *walked):
        folder, _, name = path.rpartition("/")
        assert denials.among(folder, [name, "x"]) == [
            each for each in (name, "x") if denials.concern(f"{folder}/{each}" if folder else each)
        ]


@rows(
    "path, asked",
    [
        ("src/main.py", False),
        ("logs/info.txt", False),
        (".git/objects/0a/1b", False),
        ("node_modules/react/index.js", False),
        ("deploy/.env", True),
        ("Keys/id_rsa.old/x", True),
        ("a/terraform.tfstate.backup", True),
        ("../elsewhere", True),
        ("config/settings/base.py", False),
        ("env/monkey/nginx.conf", False),
        (".kube/config", True),
        ("a//b", False),
        ("né.md", False),
        ("né/./.env", True),
        (".env.example", False),
        (".psql_history", True),
    ],
)
def test_the_packaged_policy_is_asked_about_few_paths(path: str, asked: bool) -> None:
    assert find_denied_paths(compile_policy([default_source()]), "fs.read").concern(path) is asked


@rows(
    "path, asked",
    [("deploy/.ENV", True), ("Keys/ID_RSA.old/x", True), ("n\u00c9/.ENV", True), ("Config/App.py", False)],
)
def test_it_is_asked_about_every_spelling_where_a_file_system_ignores_case(path: str, asked: bool) -> None:
    assert find_denied_paths(compile_policy([default_source()], fold_case=True), "fs.read").concern(path) is asked
