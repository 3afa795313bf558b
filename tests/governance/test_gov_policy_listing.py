"""The listing of rules: dead and shadowed ones with the proof of it; rules tested by their examples (POL-02)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_governance.errors import PolicyError
from remit_governance.policy.decision.builtin import BUILTIN
from remit_governance.policy.language.compile import Source
from remit_governance.policy.language.load import default_source
from remit_governance.policy.language.policy_form import MatchForm
from remit_governance.policy.matching.command_match import Match
from remit_governance.policy.matching.conditions import compile_match
from remit_governance.policy.review.listing import ListedRule, covers, list_rules
from remit_governance.policy.review.replay import rule_tests
from remit_governance.policy.rules import Subject
from remit_governance.values import Action

globs = st.sampled_from(
    [
        "**",
        "src/**",
        "src/*.py",
        "src/a/b.py",
        "*.py",
        ".env",
        "src",
        "src/",
        "/src/a",
        "a/.env/x",
        "**/src/**",
        "!src/a/**",
    ]
)
commands = st.sampled_from(
    ["git", "git push", "git push --force", "git -C x push", "rm", "rm -rf", "rm -r -f x", "/bin/rm -rf"]
)
forms = st.builds(
    MatchForm,
    syscall=st.none() | st.lists(st.sampled_from(["fs.read", "fs.write"]), max_size=2).map(tuple),
    path_glob=st.none() | st.lists(globs, min_size=1, max_size=3).map(tuple),
    command=st.none() | st.lists(commands, min_size=1, max_size=2).map(tuple),
    host=st.none() | st.lists(st.sampled_from(["A.example", "a.example", "b.example"]), min_size=1).map(tuple),
    mode=st.none() | st.lists(st.sampled_from(["strict", "debug"]), min_size=1).map(tuple),
)
subjects = st.builds(
    Action,
    syscall=st.sampled_from(["fs.read", "fs.write"]),
    path=st.none()
    | st.sampled_from(["src/a/b.py", "src/x.py", "a/.env/x", ".env", "src", "src/a", "deep/src/a", "../x", "."]),
    command=st.none()
    | st.sampled_from(
        ["git push", "git -C x push --force", "rm -rf x", "/bin/rm -fr x", "rm -r -f x", "git x push"]
    ).map(lambda line: tuple(line.split())),
    host=st.none() | st.sampled_from(["a.example", "B.EXAMPLE"]),
    mode=st.sampled_from(["strict", "debug"]),
).map(Subject.of)


@given(forms, forms, st.lists(subjects, min_size=1, max_size=20), st.booleans(), st.sampled_from([None, Match.YES]))
def test_what_is_proved_to_be_covered_is(
    wide: MatchForm, narrow: MatchForm, asked: list[Subject], fold: bool, stops: Match | None
) -> None:
    if not covers(wide, narrow):
        return
    narrows, wider = compile_match(narrow, fold, stops=stops), compile_match(wide, fold, stops=Match.YES)
    assert [subject for subject in asked if narrows(subject) and not wider(subject)] == []


@pytest.mark.parametrize(
    "form", [MatchForm(), MatchForm(path_glob=("a/**", "!a/b"), command=("rm -rf",), mode=("debug",))]
)
def test_a_match_covers_itself(form: MatchForm) -> None:
    assert covers(form, form)


@rows(
    ("wide", "narrow", "proved"),
    [
        ({}, {"syscall": ["fs.write"]}, True),
        ({"syscall": ["fs.write"]}, {}, False),
        ({"path_glob": ["src/**"]}, {"path_glob": ["src/api/*.py", "src/x"]}, True),
        ({"path_glob": ["src/**"]}, {"path_glob": ["src/"]}, False),
        ({"path_glob": ["src/**"]}, {"path_glob": ["srcs/x"]}, False),
        ({"path_glob": [".env"]}, {"path_glob": ["api/.env/x"]}, True),
        ({"path_glob": ["**", "!a"]}, {"path_glob": ["**"]}, False),
        ({"path_glob": ["**", "!a"]}, {"path_glob": ["**", "!a", "!b"]}, True),
        ({"command": ["git"]}, {"command": ["git push", "git pull"]}, True),
        ({"command": ["git push"]}, {"command": ["git"]}, False),
        ({"command": ["git -C x"]}, {"command": ["git -C x push"]}, True),
        ({"command": ["python -m"]}, {"command": ["python -m pip"]}, False),
        ({"risk": ["high"]}, {"syscall": ["process.exec"]}, False),
    ],
)
def test_what_is_proved(wide: dict[str, object], narrow: dict[str, object], proved: bool) -> None:
    assert covers(MatchForm.model_validate(wide), MatchForm.model_validate(narrow)) is proved


def rules(*entries: str, project: str = "") -> dict[str, ListedRule]:
    texts = [Source("mine.yaml", "capabilities:\n" + "".join(f"  - {entry}\n" for entry in entries))]
    if project:
        texts.append(Source("theirs.yaml", f"capabilities: [{project}]", project=True))
    return {rule.name: rule for rule in list_rules(texts)}


def test_all_rules_are_listed_by_layer_and_place() -> None:
    found = list_rules([default_source()])
    assert [rule.name for rule in found if rule.layer == "builtin"] == [rule.name for rule in BUILTIN.rules]
    assert [rule.line for rule in found if rule.layer == "yaml"] == [5, 13, 177, 182, 187, 192, 197, 202]
    assert all(not rule.dead and rule.shadowed_by is None for rule in found)
    assert found[-1].match == "syscall git.commit, path_glob **"


ALLOW_SRC = "{name: src, match: {syscall: fs.write, path_glob: [src/**]}, action: allow}"


@rows(
    ("stricter", "shadows"),
    [
        ("{name: x, match: {path_glob: ['**']}, action: deny}", True),
        ("{name: x, match: {path_glob: ['**']}, action: require_review}", True),
        ("{name: x, match: {path_glob: ['**']}, action: pass}", False),
        ("{name: x, match: {path_glob: ['**']}, action: allow}", False),
        ("{name: x, match: {path_glob: ['**']}, action: deny, except: [{mode: debug}]}", False),
        ("{name: x, match: {path_glob: [src/a/**]}, action: deny}", False),
    ],
)
def test_a_stricter_rule_that_covers_an_allow_shadows_it(stricter: str, shadows: bool) -> None:
    found = rules(ALLOW_SRC, stricter)
    assert found["src"].shadowed_by == ("x" if shadows else None)
    assert found["x"].shadowed_by is None


def test_an_exception_that_both_make_does_not_matter() -> None:
    mine = "{name: src, match: {path_glob: [src/**]}, action: allow, except: [{mode: debug}, {host: h}]}"
    assert rules(mine, "{name: x, match: {}, action: deny, except: [{mode: debug}]}")["src"].shadowed_by == "x"


def test_a_projects_review_needs_the_allow_that_it_tightens() -> None:
    assert rules(ALLOW_SRC, project="{name: x, match: {}, action: require_review}")["src"].shadowed_by is None
    assert rules(ALLOW_SRC, project="{name: x, match: {}, action: deny}")["src"].shadowed_by == "x"


def test_a_built_in_deny_shadows_what_it_refuses() -> None:
    hooks = "{name: hooks, match: {syscall: fs.write, path_glob: ['.GIT/hooks/**']}, action: allow}"
    reads = "{name: reads, match: {syscall: fs.read, path_glob: ['.git/**']}, action: allow}"
    found = rules(hooks, reads)
    assert found["hooks"].shadowed_by == "builtin.git-internals"
    assert found["reads"].shadowed_by is None


def test_a_rule_that_can_never_apply_is_dead() -> None:
    found = rules("{name: never, match: {syscall: []}, action: deny}", "{name: fine, match: {}, action: deny}")
    assert found["never"].dead == ("`never` can never match: its `syscall` is empty; give `syscall` a value",)
    assert not found["fine"].dead


def test_rules_are_tested_by_their_examples() -> None:
    text = (
        "capabilities:\n"
        "  - name: bare\n    match: {}\n    action: deny\n"
        "  - name: wrong\n    match: {syscall: fs.read, path_glob: [a]}\n    action: deny\n"
        "    examples:\n      match:\n        - {path: a}\n        - {path: b}\n      not_match: [{path: a}, {size: -1}]\n"
    )
    bare, wrong = rule_tests(Source("p.yaml", text))
    assert (bare.name, bare.line, bare.examples, bare.failures) == ("bare", 2, 0, ())
    assert (wrong.line, wrong.examples, wrong.passed) == (5, 4, 1)
    assert [(p.line, p.message.split("` ", 1)[-1]) for p in wrong.failures] == [
        (11, "does not match this example"),
        (12, "matches this example"),
        (12, wrong.failures[2].message.split("` ", 1)[-1]),
    ]
    with pytest.raises(PolicyError):
        list(rule_tests(Source("p.yaml", "capabilities: 7")))
