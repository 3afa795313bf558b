"""Editing of policy files: diagnostics, completion, hover, and the way from a rule's name to its place (POL-14)."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import get_args

import pytest
import yaml
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from messages import SAYS
from pydantic import BaseModel
from rows import rows

from remit_governance.audit.record import AuditEvent, AuditKind, AuditRecord
from remit_governance.errors import PolicyError
from remit_governance.policy.decision.risk import RISK
from remit_governance.policy.editing.completion import Finding, completions, findings
from remit_governance.policy.editing.hover import code, hits, hover, line_span, rule_span, sentence
from remit_governance.policy.editing.outline import outline
from remit_governance.policy.editing.schema import KEYS, fields_of, known_words, meaning, slot_at
from remit_governance.policy.editing.spans import Span
from remit_governance.policy.language.action_form import ActionForm
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.document import read_document
from remit_governance.policy.language.load import default_source
from remit_governance.policy.language.policy_form import (
    ConstraintsForm,
    ExamplesForm,
    MatchForm,
    PolicyForm,
    RedactForm,
    RuleForm,
)

DEFAULT = default_source().text
HEAD = "version: 1\ncapabilities:\n"
RULE = "  - name: good\n    match: { syscall: fs.read }\n    action: deny\n"
TOOLS = {"read_file": "reads a file", "write_file": "writes a file"}


def diagnose(text: str, *beside: Source, project: bool = False, saved: bool = False) -> list[tuple[str, str, str]]:
    """Returns of each finding the severity, the marked text, and the message."""
    found = findings(Source("p.yaml", text, project), beside, saved=saved)
    return [(f.severity, text[f.span.start : f.span.end], f.message) for f in found]


# diagnostics

FAULTS = {
    "an expression that could be slow": (
        "redact:\n  - name: ticket\n    pattern: (\\w+)\\1\n",
        "pattern: (\\w+)\\1",
        "the pattern `(\\w+)\\1` cannot be used, invalid escape sequence \\1; see RE2's syntax",
    ),
    "an expression that matches everywhere": (
        "redact: [{ name: ticket, pattern: x* }]\n",
        "pattern: x*",
        "the pattern `x*` matches empty text, so it matches everywhere; make a part of it required",
    ),
    "an unknown key is marked alone": (
        HEAD + "  - name: a\n    match: { pathglob: [src/**] }\n    action: deny\n",
        "pathglob",
        "unknown key `pathglob`; did you mean `path_glob`",
    ),
    "a wrong word is marked with its key": (
        HEAD + "  - name: a\n    match: {}\n    action: permit # no\n",
        "action: permit",
        "`action: permit` is not right; use `allow`, `deny`, `pass` or `require_review`",
    ),
    "a wrong list is marked to its end": (
        HEAD + "  - name: a\n    match: { intent: [PLAN, X], tool: y }\n    action: deny\n",
        "X",
        "value 2 of `intent: X` is not right; use `PLAN`, `CODE`, `ANALYZE`, `DEBUG`, `WRITE_FILE`, `READ_FILE` or `EXECUTE`",
    ),
    "a wrong size inside braces": (
        HEAD + RULE.replace("deny", "allow") + "    constraints: { max_file_size: 5kb }\n",
        "max_file_size: 5kb",
        "unknown unit `kb`; use B KiB MiB GiB KB MB GB, case-sensitive",
    ),
    "a key given twice is marked where it is too many": (
        HEAD + RULE + "    name: b\n",
        "name",
        "the key `name` is given twice; keep one of them",
    ),
    "a missing key is said of the rule": (
        HEAD + "  - name: a\n    action: deny\n",
        "name: a",
        "the key `match` is missing; add `match:`",
    ),
    "what follows letters of two units is marked": (
        "\ufeff" + HEAD + "  - { name: a, reason: '🎉é🎉', match: {}, acton: deny }\n",
        "acton",
        "unknown key `acton`; did you mean `action`",
    ),
    "lines that only YAML counts": (
        'version: 1\ncapabilities:\n  - name: a\n    reason: "x\u2028 y"\n    match: {}\n    action: no\n',
        "action: no",
        "`action: no` is not right; use `allow`, `deny`, `pass` or `require_review`",
    ),
    "an example that does not hold": (
        HEAD + RULE + "    examples:\n      match: [{ syscall: fs.write }]\n",
        "{ syscall: fs.write }]",
        "`good` does not match this example; correct the rule or the example",
    ),
    "a text that ends too early": (
        HEAD + "  - name: a\n    match: { syscall: [fs.read\n\n",
        "match: { syscall: [fs.read",
        "the `[` of line 4 is not closed; close it, or put a comma between its values",
    ),
}


@rows("name", FAULTS)
def test_a_fault_is_marked_where_it_is(name: str) -> None:
    text, marked, message = FAULTS[name]
    assert ("error", marked, message) in diagnose(text)


def test_every_problem_of_the_compiler_is_shown() -> None:
    text = HEAD + RULE + RULE + "  - nam: a\n    match: { path_glob: ['['], tol: x }\n    action: x\n"
    with pytest.raises(PolicyError) as caught:
        compile_policy([Source("p.yaml", text)])
    assert [m for _, _, m in diagnose(text)] == [f"{p.message}; {p.fix}" for p in caught.value.problems]
    assert len(caught.value.problems) >= 4


def test_a_good_policy_has_no_diagnostics() -> None:
    assert diagnose(DEFAULT) == []
    assert diagnose("") == []


def test_only_the_error_of_a_saved_text_says_that_the_policy_is_not_in_force() -> None:
    text = HEAD + RULE.replace("deny", "permit")
    assert [message.endswith(" (not in force until this is fixed)") for _, _, message in diagnose(text)] == [False]
    ((severity, marked, message),) = diagnose(text, saved=True)
    assert (severity, marked) == ("error", "action: permit")
    assert message.endswith(" (not in force until this is fixed)")


def test_rules_that_can_never_fire_are_warnings_and_never_out_of_force() -> None:
    text = HEAD + "  - name: a\n    match: { path_glob: [] }\n    action: deny\n"
    expected = ("warning", "path_glob: []", "`a` can never match: its `path_glob` is empty; give `path_glob` a value")
    assert diagnose(text, saved=True) == [expected]


def test_warnings_stay_while_a_rule_beside_them_has_an_error_of_its_own() -> None:
    text = HEAD + "  - name: a\n    match: { path_glob: [] }\n    action: deny\n" + RULE + RULE
    assert {severity for severity, _, _ in diagnose(text)} == {"warning", "error"}


def test_a_project_s_policy_may_only_tighten() -> None:
    text = HEAD + RULE.replace("deny", "allow")
    ((_, marked, message),) = diagnose(text, default_source(), project=True)
    assert (marked, message) == (
        "action: allow",
        "`good` allows, and a project's policy may only tighten; move the rule to your own policy file",
    )
    assert diagnose(text) == []


def test_a_name_that_the_other_file_has_taken() -> None:
    text = HEAD + RULE.replace("good", "read-workspace")
    ((_, marked, message),) = diagnose(text, default_source(), project=True)
    assert marked == "name: read-workspace"
    assert SAYS.is_taken_by_a_rule in message


def test_a_mistake_in_the_other_file_is_a_warning_on_top_of_this_one() -> None:
    other = Source("mine.yaml", "verison: 1\n")
    ((severity, marked, message),) = diagnose(HEAD + RULE, other, project=True)
    assert (severity, marked) == ("warning", "version: 1")
    assert message.startswith("this file is not in force while another one has mistakes: mine.yaml:1:1: unknown key")


# completion


def propose(marked: str, project: bool = False) -> dict[str, str]:
    """Returns for each proposal's label what the text becomes; `|` in the text stands for the cursor."""
    offset = marked.index("|")
    text = marked.replace("|", "", 1)
    found = completions(text, offset, TOOLS, project=project)
    for each in found:
        assert each.span.start <= offset <= each.span.end
        assert "\n" not in text[each.span.start : each.span.end]
    return {each.label: text[: each.span.start] + each.text + text[each.span.end :] for each in found}


RULE_KEYS = list(fields_of(RuleForm))
MATCH_KEYS = list(MatchForm.model_fields)
ITEM = HEAD + "  - name: a\n"
KEY_PLACES = {
    "an empty file": ("|", list(PolicyForm.model_fields)),
    "below what is given": ("version: 1\n|", ["capabilities", "redact", "tdd_exemptions", "tdd_tests", "intents"]),
    "the first key of a rule": (HEAD + "  - |", RULE_KEYS),
    "a rule without indentation": (HEAD + "- name: a\n  |", RULE_KEYS[1:]),
    "a rule half typed": (ITEM + "    ac|\n  - name: b\n    match: {}\n", RULE_KEYS[1:]),
    "between the keys of a rule": (ITEM + "    |\n    action: deny\n    match: {}\n", RULE_KEYS[3:]),
    "braces": (ITEM + "    match: { |\n    action: deny\n", MATCH_KEYS),
    "braces that are closed": (ITEM + "    match: { tool: x, |}\n", [k for k in MATCH_KEYS if k != "tool"]),
    "braces on several lines": (ITEM + "    match: {\n      syscall: [fs.read],\n      |\n    }\n", MATCH_KEYS[1:]),
    "a mapping below its key": (ITEM + "    match:\n      syscall: fs.read\n      |", MATCH_KEYS[1:]),
    "except": (ITEM + "    except:\n      - path_glob: [x]\n      - |", MATCH_KEYS),
    "except in braces": (ITEM + "    except: [{ path_glob: [x] }, { |", MATCH_KEYS),
    "constraints": (ITEM + "    constraints: {|}", list(ConstraintsForm.model_fields)),
    "examples": (ITEM + "    examples:\n      |", list(ExamplesForm.model_fields)),
    "an example": (ITEM + "    examples:\n      match: [{ syscall: x }, { |", list(ActionForm.model_fields)),
    "after a block of text": (ITEM + "    reason: >-\n      match: { x\n    |", RULE_KEYS[1:]),
    "after quotes left open": (ITEM + "    reason: \"it's\n    |", RULE_KEYS[1:]),
    "a pattern": ("redact:\n  - name: ticket\n    |", ["pattern"]),
    "a policy in JSON": ('{"version": 1, "capabilities": [{"name": "a", "mat|"}]}', RULE_KEYS[1:]),
}


@rows("name", KEY_PLACES)
def test_keys_are_those_of_the_form_less_what_is_given(name: str) -> None:
    marked, keys = KEY_PLACES[name]
    given_here = {"reason"} if "reason:" in marked else set()
    assert list(propose(marked)) == [key for key in keys if key not in given_here]


WORD_PLACES = {
    "action": (ITEM + "    action: |", ["allow", "deny", "pass", "require_review"]),
    "right behind the colon": (ITEM + "    action:|", ["allow", "deny", "pass", "require_review"]),
    "intent": (ITEM + "    match: { intent: [PLAN, C|] }", list(known_words("intent", {}))),
    "risk": (ITEM + "    match: { risk: |", ["low", "medium", "high"]),
    "syscall": (ITEM + "    match: { syscall: fs.|read }", list(known_words("syscall", {}))),
    "a list below its key": (
        ITEM + "    match:\n      syscall:\n        - fs.read\n        - |",
        [*known_words("syscall", {})],
    ),
    "tool": (ITEM + "    match: { tool: |", list(TOOLS)),
    "tool in quotes": (ITEM + '    match: { tool: ["re|"] }', list(TOOLS)),
    "state": (ITEM + "    match: { state: |", list(known_words("state", {}))),
    "mode": (ITEM + "    match: { mode: [strict,|", ["strict", "explore", "debug"]),
    "caller_tag": (ITEM + "    except:\n      - caller_tag: |", list(known_words("caller_tag", {}))),
    "units": (
        ITEM + "    constraints: { max_file_size: 5| }",
        [f"5{u}" for u in ["B", "KiB", "MiB", "GiB", "KB", "MB", "GB"]],
    ),
    "a size": (ITEM + "    constraints:\n      max_file_size: |", ["100KiB", "1MiB", "10MiB"]),
    "true or false": (ITEM + "    standing_answer: |", ["true", "false"]),
    "version": ("version: |", ["1"]),
    "an example's intent": (ITEM + "    examples: { match: [{ intent: |", list(known_words("intent", {}))),
}


@rows("name", WORD_PLACES)
def test_words_are_those_of_the_form_or_the_known_ones(name: str) -> None:
    marked, words = WORD_PLACES[name]
    assert list(propose(marked)) == words


@rows(
    "marked",
    [
        ITEM + "    reason: |",
        ITEM + "    match: {} # |",
        "# |",
        ITEM + "    action: deny |",
        ITEM + "    nonsense: { |",
        ITEM + "    nonsense:\n      - |",
        "nonsense:\n  |",
        ITEM + "    match: |",
        ITEM + "    match: [|",
        ITEM + "   |",
        ITEM + "    reason: >\n      some text\n      |",
        ITEM + "    match: { host: |",
        "version: 1\ncapabilities: []\nredact: []\ntdd_exemptions: {}\ntdd_tests: {}\nintents: {}\n|",
    ],
)
def test_an_unknown_place_proposes_nothing(marked: str) -> None:
    assert propose(marked) == {}


def test_a_proposal_makes_what_was_meant() -> None:
    assert propose(ITEM + "    ac|")["action"] == ITEM + "    action: "
    assert propose(ITEM + "    ac|t: deny")["action"] == ITEM + "    action: deny"
    assert propose(ITEM + "    action:|")["deny"] == ITEM + "    action: deny"
    assert propose(ITEM + "    match: { mode: [strict,|] }")["debug"] == ITEM + "    match: { mode: [strict, debug] }"
    assert propose('{"capabilities": [{"mat|": 1}]}')["match"] == '{"capabilities": [{"match": 1}]}'
    assert propose(ITEM + "    match: { syscall: fs.|read }")["fs.list"] == ITEM + "    match: { syscall: fs.list }"


def test_a_project_is_not_proposed_what_it_may_not_do() -> None:
    assert list(propose(ITEM + "    action: |", project=True)) == ["deny", "pass", "require_review"]


@rows("name", {**KEY_PLACES, **WORD_PLACES})
def test_no_proposal_is_refused_by_the_compiler(name: str) -> None:
    """No proposal leads to an unknown key or a wrong word at its place."""
    marked = (KEY_PLACES | WORD_PLACES)[name][0]
    for label, text in propose(marked).items():
        messages = [message for _, _, message in diagnose(text)]
        assert not [m for m in messages if m.startswith((f"unknown key `{label}`", f"`action: {label}"))]


def test_every_key_and_word_has_a_meaning() -> None:
    """Exactly the keys and words that the forms accept have an explanation."""
    assert {form: set(keys) for form, keys in KEYS.items()} == {form: set(fields_of(form)) for form in KEYS}
    assert {PolicyForm, RedactForm, RuleForm, ConstraintsForm, ExamplesForm, ActionForm} == set(KEYS)
    assert all(meaning(MatchForm, key) for key in fields_of(MatchForm))
    for form, at in ((RuleForm, ("capabilities", 0)), (MatchForm, ("capabilities", 0, "match"))):
        for key in fields_of(form):
            slot = slot_at((*at, key))
            assert slot is not None
            assert set(slot.words) - {"true", "false"} <= set(known_words(key, TOOLS))
    assert set(RISK) <= set(known_words("syscall", {}))


def test_POL_14_a_key_means_what_its_own_form_says_and_never_what_python_says_of_its_type() -> None:
    def forms(form: type[BaseModel]) -> set[type[BaseModel]]:
        below = [
            kind for field in form.model_fields.values() for kind in (field.annotation, *get_args(field.annotation))
        ]
        return {form}.union(*(forms(kind) for kind in below if isinstance(kind, type) and issubclass(kind, BaseModel)))

    own = {form.__doc__ for form in forms(PolicyForm)}
    for form in forms(PolicyForm) - set(KEYS):
        for key, field in form.model_fields.items():
            assert meaning(form, key) in {field.description, *own}


def test_places_that_no_form_knows() -> None:
    assert slot_at(("capabilities", "x")) is None
    assert slot_at(("version", 0)) is None
    assert slot_at(("nothing",)) is None
    assert slot_at(("capabilities", 0, "examples", "match", 3, "path")) is not None


# hover


def hovered(text: str, at: str) -> str | None:
    shown = hover(text, text.index(at) + 1, TOOLS)
    return shown.text if shown else None


RICH = """version: 1
capabilities:
  - name: write-source
    match: { syscall: [fs.write], path_glob: [src/**, tests/**], intent: CODE }
    action: allow
    constraints: { max_file_size: 1KiB }
    except:
      - path_glob: [src/generated/**]
      - caller_tag: human
    reason: "`code` ![x](https://example.org/x.png)\\u202e"
"""


def test_a_rule_is_told_in_a_sentence() -> None:
    shown = hover(RICH, RICH.index("write-source"), TOOLS)
    assert shown is not None
    assert shown.rule == "write-source"
    assert RICH[shown.span.start : shown.span.end] == "write-source"
    assert shown.text.splitlines()[0] == (
        "`write-source` allows `fs.write` on `src/**` or `tests/**` under the intent `CODE` up to 1024 bytes, "
        "except on `src/generated/**`; for the caller `human`."
    )


def test_what_a_file_says_is_never_markup() -> None:
    """The reason of a project's rule must not show a picture from elsewhere, nor hide characters."""
    shown = hovered(RICH, "write-source")
    assert shown is not None
    assert shown.splitlines()[-1] == "Reason: `` `code` ![x](https://example.org/x.png)⟨U+202E⟩ ``"


@given(st.text(max_size=40))
def test_code_is_one_span_of_code(text: str) -> None:
    shown = code(text)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    inside = shown[len(fence) : -len(fence)]
    assert shown.endswith(fence)
    assert fence not in inside
    assert "\n" not in shown


def test_a_rule_that_is_broken_still_has_a_name() -> None:
    shown = hover(RICH.replace("allow", "permit"), RICH.index("write-source"))
    assert shown is not None
    assert shown.rule == "write-source"
    assert shown.text == "`write-source` cannot be read until its mistakes are fixed."


def test_a_mistake_elsewhere_does_not_hide_a_rule() -> None:
    shown = hover(RICH + "  - name: b\n    action: nothing\n", RICH.index("write-source"))
    assert shown is not None
    assert "allows" in shown.text


@rows(
    ("at", "expected"),
    [
        ("path_glob", "`path_glob`: The path in the workspace, links resolved, by globs as in `.gitignore`;"),
        ("fs.write", "`fs.write`: creating, changing, moving or deleting a file"),
        ("CODE", "`CODE`: changing files"),
        ("human", "`human`: a person called"),
        ("version", "`version`: The format of the file"),
    ],
)
def test_a_key_or_a_word_has_its_meaning_shown(at: str, expected: str) -> None:
    shown = hovered(RICH, at)
    assert shown is not None
    assert shown.startswith(expected)


def test_nothing_is_shown_where_nothing_is_known() -> None:
    assert hovered(RICH, "src/**") is None
    assert hover(RICH, len(RICH)) is None
    assert hovered("nonsense: { name: x }", "name") is None
    assert hovered(HEAD + RULE + "    # name: x\n", "# name") is None


@rows(
    ("rule", "expected"),
    [
        ("match: {}, action: deny", "`a` denies everything."),
        ("match: { command: [pytest, npm test] }, action: require_review", "`a` asks you about everything with the command `pytest` or `npm test`."),
        ("match: { tool: x }, action: pass", "`a` says nothing about everything by the tool `x`."),
        ("match: { path_glob: [] }, action: deny", "`a` denies everything on nothing."),
        ("match: { host: h, state: idle, mode: debug, risk: [low] }, action: deny", "`a` denies everything to `h` in the state `idle` in the mode `debug` at the risk `low`."),
    ],
)  # fmt: skip
def test_the_sentence_of_a_rule(rule: str, expected: str) -> None:
    assert sentence(RuleForm.model_validate(yaml.safe_load(f"{{ name: a, {rule} }}"))) == expected


def test_long_lists_are_cut() -> None:
    assert "or 118 more" in (hovered(DEFAULT, "no-secrets") or "")


# hits


def call(decision: str | None, rule: str | None) -> AuditRecord:
    event = AuditEvent(kind=AuditKind.TOOL_INTENT, policy_decision=decision, policy_rule_name=rule)
    return AuditRecord(1, 0, "", "", event)


def test_hits_are_counted_by_what_the_rule_decided() -> None:
    calls = [call("allowed", "r")] * 3 + [call("denied", "r")] * 12 + [call("allowed", "other")] * 85
    assert hits(calls, "r") == "allowed 3, denied 12 of the last 100 calls"


def test_a_rule_that_shares_its_verdict_counts_and_one_with_its_name_inside_does_not() -> None:
    calls = [call("review_required", "a, r"), call("denied", "r2"), call("refused_by_gate", None)]
    assert hits(calls, "r") == "asked about 1 of the last 3 calls"
    assert hits(calls, "b") == "decided none of the last 3 calls"
    assert hits([], "r") == SAYS.no_calls_have_been_recorded


# from a name to a place


def test_a_rule_is_found_by_its_name() -> None:
    span = rule_span(DEFAULT, "no-secrets")
    assert span is not None
    assert DEFAULT[: span.start].endswith("- name: ")
    assert DEFAULT[span.start : span.end] == "no-secrets"
    assert rule_span(DEFAULT, "nobody") is None
    assert rule_span(RICH + "    action: [\n", "write-source") is not None


def test_the_line_of_a_rule_is_the_compiler_s() -> None:
    for rule in compile_policy([default_source()]).layers[-1].rules:
        assert rule.line is not None
        span = line_span(DEFAULT, rule.line)
        assert DEFAULT[span.start : span.end] == f"- name: {rule.name}"
    assert line_span("a\n  b\n", 99) == Span(6, 6)


# any text

WORDS = st.sampled_from(
    ["a", "b c", "src/**", "fs.read", "it's", 'say "x"', "#no", "x#y", "a:b", "-1", "{", "]", "~", "*", "&x", "|"]
)
VALUES = st.recursive(
    WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(VALUES.filter(lambda value: not isinstance(value, str)), st.sampled_from([True, False, None]), st.integers(2, 6))
def test_the_outline_is_what_yaml_reads(value: object, flow: bool | None, indent: int) -> None:
    """Compared with the real reader: in a text without mistakes, both give every key and value the same place."""
    text = yaml.safe_dump(value, default_flow_style=flow, indent=indent, width=100_000, allow_unicode=True)
    document = read_document("p.yaml", text)
    found = outline(text).tokens
    marks = {token.place: token.span for token in found if token.role == "key"}
    keys = {place for place in document.marks if place and isinstance(place[-1], str)}
    assert {(*place[:-1], unquoted(place[-1])) for place in marks} == keys
    scalars = [unquoted(token.text) for token in found if token.role != "key"]
    assert scalars == [str(leaf) if leaf is not None else "~" for leaf in leaves(document.value)]


def unquoted(text: str | int) -> str | int:
    """Undoes the doubling of quotes, because the outline keeps the text of a single-quoted scalar as written."""
    return text.replace("''", "'") if isinstance(text, str) else text


def leaves(value: object) -> list[object]:
    match value:
        case dict():
            return [leaf for inner in value.values() for leaf in leaves(inner)]
        case list():
            return [leaf for inner in value for leaf in leaves(inner)]
        case _:
            return [value]


JUNK = st.text(alphabet="{}[]:,-#\"'|>&*!%?~ \t\n\r\x85\u2028\ufeff🎉aé\x00\ud800.<", max_size=6)


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """Draws a policy that somebody is in the middle of editing."""
    text = draw(st.sampled_from([DEFAULT, RICH, HEAD + RULE, '{"version": 1, "capabilities": [{"name": "a"}]}\n', ""]))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        text = text[:start] + draw(JUNK) + text[start + draw(st.integers(0, 30)) :]
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n", "\r"])))


@settings(max_examples=examples(150), deadline=None)
@given(mangled(), st.data())
def test_no_text_is_too_mangled(text: str, data: st.DataObject) -> None:
    def inside(span: Span) -> bool:
        return 0 <= span.start <= span.end <= len(text)

    found: tuple[Finding, ...] = findings(Source("p.yaml", text), saved=True)
    assert all(inside(finding.span) for finding in found)
    offset = data.draw(st.integers(0, len(text)))
    for each in completions(text, offset, TOOLS):
        assert inside(each.span)
        assert each.span.start <= offset <= each.span.end
    shown = hover(text, offset, TOOLS)
    assert shown is None or (inside(shown.span) and shown.span.start <= offset <= shown.span.end)
    tokens = outline(text).tokens
    assert all(inside(token.span) for token in tokens)
    assert all(one.span.end <= other.span.start for one, other in itertools.pairwise(tokens))


@settings(max_examples=examples(300), deadline=None)
@given(st.text(alphabet="{}[]:,- \n\r\t\"'#a&!|>\x85\u2028", max_size=60))
@example("{\u2028a")
def test_no_text_is_too_strange(text: str) -> None:
    outline(text)
    completions(text, len(text), TOOLS)
    hover(text, len(text) // 2, TOOLS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["[ " * 200_000, "- " * 200_000, "{a: " * 100_000, "a:\n" * 50_000, "&a" * 200_000, "x" * 2_000_000]
)
def test_a_hostile_text_takes_no_time(text: str) -> None:
    outline(text)
    completions(text, len(text), TOOLS)
    assert hover(text, len(text) - 1, TOOLS) is None or text.startswith("a:")


def test_the_guide_s_policies_have_no_diagnostics() -> None:
    docs = Path(__file__).parents[2] / "docs"
    guide = "".join((docs / name).read_text(encoding="utf-8") for name in ("policy.md", "policy-reference.md"))
    fences = [part.partition("```")[0] for part in guide.split("```yaml\n")[1:]]
    fences = [
        text for text in fences if not text.startswith(("# permissions.yaml\n", "# ~/.config/remit/programs.yaml\n"))
    ]
    assert fences
    assert [diagnose(text, project=text.startswith("# .remit/")) for text in fences] == [[]] * len(fences)
