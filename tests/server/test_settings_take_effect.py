"""No setting is accepted and then ignored: each one in the types changes something here, or is refused.

The tables below are compared with the types, so that a new key fails until it has a row; each row is run.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench, call, intent
from config_values import VALUES, WRONG, as_variable
from gateway_process import GatewayProcess
from lsprotocol import types as lsp
from pydantic import ValidationError
from rows import rows

from remit_governance.audit.record import AuditKind
from remit_governance.errors import PolicyError
from remit_governance.permissions.permissions import (
    Override,
    PermissionConfig,
    PermissionRule,
    Standing,
    WorkspaceIdentity,
    decide,
    in_workspace,
)
from remit_governance.permissions.remembered import parse_permissions
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.language.policy_form import (
    ConstraintsForm,
    ExamplesForm,
    ExemptionsForm,
    IntentForm,
    IntentsForm,
    MatchForm,
    PolicyForm,
    RedactForm,
    RuleForm,
)
from remit_governance.policy.matching.command_match import command_words
from remit_governance.values import Action, Decision, Intent, Reason, Verdict
from remit_governance.workflow.test_files import CATEGORIES, TEST_GLOBS
from remit_server.cli import main as command_line
from remit_server.contract import ContextPayload, ExecutionPolicy, RunRequest
from remit_server.errors import RemitError, SetupError
from remit_server.models.local.options import EngineOptions
from remit_server.runtime.config.form import KEYS, variable_of
from remit_server.runtime.settings import VARIABLES, Settings
from remit_server.sandbox.choose import CHOICE, choose_sandbox
from remit_server.transports.gateway.protocol import RequestForm, parse
from remit_server.transports.lsp.connection.client import OPTIONS, describe_client

ROOT = Path(__file__).parents[2]


# the environment

ENVIRONMENT: Mapping[str, tuple[str, str | None]] = {
    **dict.fromkeys(("REMIT_CONFIG_DIR", "REMIT_STATE_DIR", "REMIT_DATA_DIR"), ("/x", None)),
    **{variable_of(*key): (as_variable(VALUES[key][0]), WRONG[key]) for key in KEYS},
}
"""For each variable, a value that changes the settings, and one that is refused."""

ELSEWHERE = {
    *("REMIT_SANDBOX", "REMIT_SANDBOX_IMAGE", "REMIT_ENGINE", "REMIT_PROFILE", "REMIT_API_KEY"),
    "REMIT_HOOK_RESIDENT",
    *("REMIT_QUEUE_USER", "REMIT_QUEUE_PASSWORD", "REMIT_QUEUE_TOKEN", "REMIT_QUEUE_CREDENTIALS"),
}
"""Variables that are read elsewhere: by sandboxes, served models, hooks, and the queue."""


def test_every_variable_has_a_row() -> None:
    assert set(ENVIRONMENT) | ELSEWHERE == set(VARIABLES)
    source = "".join(file.read_text() for file in (ROOT / "server/remit_server").rglob("*.py"))
    assert set(re.findall(r'"(REMIT_[A-Z_]+)"', source)) - set(VARIABLES) == {
        "REMIT_REPORT",  # of a command's own tests
        "REMIT_LOOK_HERE",  # for the code that runs inside pytest
        "REMIT_BOOTSTRAP_SOCKET",  # of a server's own parent
    }
    pages = "".join((ROOT / "docs" / name).read_text() for name in ("configuration.md", "environment.md"))
    listed = re.findall(r"^\| (?:`[a-z._]+` \| )?`(REMIT_[A-Z_]+)` ", pages, re.MULTILINE)
    assert sorted(listed) == sorted(VARIABLES)


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_a_variable_changes_the_settings_or_is_refused(name: str, tmp_path: Path) -> None:
    value, wrong = ENVIRONMENT[name]
    plain = {"HOME": str(tmp_path)}
    assert Settings.from_environment(tmp_path, {**plain, name: value}) != Settings.from_environment(tmp_path, plain)
    if wrong is not None:
        with pytest.raises(SetupError, match=f"cannot use {name}=`{wrong}`"):
            Settings.from_environment(tmp_path, {**plain, name: wrong})


def test_the_sandbox_s_variables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_sandbox(environment={CHOICE: "none"}).isolation().why == "REMIT_SANDBOX is `none`"
    assert "`nne`" in choose_sandbox(environment={CHOICE: "nne"}).isolation().why
    source = (ROOT / "server/remit_server/sandbox/containers/container_sandbox.py").read_text()
    assert "REMIT_SANDBOX_IMAGE" in source  # tested by test_an_image_of_the_persons_own, which needs such an image


async def test_a_variable_that_is_none_is_said_aloud(make_bench: Any, tmp_path: Path) -> None:
    found = Settings.from_environment(tmp_path, {"REMIT_MODEX": "x", "REMIT_ZZZ": "1", "OTHER": "1"}).unknown
    bench: Bench = await make_bench({"text": "hello"}, unknown=found)
    await bench.ask("hello")
    assert [warning.message for warning in bench.of("warning")] == [
        "the environment sets `REMIT_MODEX`, which is not a setting and has no effect; did you mean `REMIT_MODE`",
        "the environment sets `REMIT_ZZZ`, which is not a setting and has no effect",
    ]


def name_of(owner: ast.expr) -> str | None:
    return getattr(owner, "id", getattr(owner, "attr", None))


def test_every_field_of_the_settings_is_read() -> None:
    """It must be read outside its own module; `sandbox` once was not."""
    read = {
        node.attr
        for file in (ROOT / "server/remit_server").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        if name_of(node.value) in {"settings", "_settings", "self", "options", "_options"}
    }
    assert {f.name for kind in (Settings, EngineOptions) for f in fields(kind)} - read == set()


# policy

_OWN: Mapping[str, tuple[Any, Action, Action]] = {
    "syscall": ("fs.write", Action("fs.write", path="a"), Action("fs.read", path="a")),
    "path_glob": ("a", Action("fs.write", path="a"), Action("fs.write", path="b")),
    "caller_tag": ("human", Action("x", caller_tags=frozenset({"human"})), Action("x")),
    "state": ("idle", Action("x", state="idle"), Action("x")),
    "mode": ("debug", Action("x", mode="debug"), Action("x")),
    "intent": ("CODE", Action("x", intent=Intent.CODE), Action("x", intent=Intent.PLAN)),
    "tool": ("t", Action("x", tool="t"), Action("x", tool="u")),
    "command": ("ls", Action("process.exec", command=("ls",)), Action("process.exec", command=("rm",))),
    "host": ("a.org", Action("net.connect", host="a.org"), Action("net.connect", host="b.org")),
    "risk": ("low", Action("fs.read", path="a"), Action("nobody.knows")),
}
MATCHES = _OWN | {
    key: ("one", replace(Action("x"), **{key: "one"}), replace(Action("x"), **{key: "two"}))
    for key in MatchForm.model_fields
    if key not in _OWN
}
"""For each key, a value, an action that it matches, and one that it does not match."""


def policy(*rules: Mapping[str, Any], **more: Any) -> Any:
    return compile_policy([Source("p", json.dumps({"version": 1, "capabilities": rules, **more}))])


def verdict(rule: Mapping[str, Any], action: Action) -> Verdict:
    return evaluate(policy({"name": "r", **rule}), action).verdict


@rows("key", MATCHES)
def test_a_condition_holds_for_one_action_and_not_for_another(key: str) -> None:
    value, one, other = MATCHES[key]
    # The other keys concern commands, about which an allow would have to be certain.
    said = [verdict({"match": {key: value}, "action": "allow"}, action) for action in (one, other)]
    assert said == [Verdict.ALLOW, Verdict.DENY]


RULES: Mapping[str, Callable[[], bool]] = {
    "name": lambda: evaluate(policy({"name": "z", "match": {}, "action": "deny"}), Action("x")).rules == ("z",),
    "match": lambda: verdict({"match": {"tool": "a"}, "action": "allow"}, Action("x")) is Verdict.DENY,
    "action": lambda: (
        verdict({"match": {}, "action": "require_review"}, Action("x")) is Verdict.REQUIRE_REVIEW
        or verdict({"match": {}, "action": "allow"}, Action("x")) is Verdict.ALLOW
    ),
    "reason": lambda: (
        "why"
        in str(evaluate(policy({"name": "r", "match": {}, "action": "deny", "reason": "why"}), Action("x")).reasons)
    ),
    "except": lambda: (
        verdict({"match": {}, "action": "allow", "except": [{"tool": "t"}]}, Action("x", tool="t")) is Verdict.DENY
    ),
    "constraints": lambda: (
        verdict(
            {"match": {}, "action": "allow", "constraints": {"max_file_size": 5}}, Action("fs.write", path="a", size=6)
        )
        is Verdict.DENY
        and verdict({"match": {}, "action": "allow", "constraints": {"require_sandbox": "L2"}}, Action("x"))
        is Verdict.DENY
        and verdict(
            {"match": {}, "action": "allow", "constraints": {"require_capability_token": True}},
            Action("x", permit=False),
        )
        is Verdict.DENY
    ),
    "examples": lambda: (
        _refused(
            {
                "name": "r",
                "match": {"tool": "t"},
                "action": "allow",
                "examples": {"match": [{"syscall": "x", "tool": "u"}]},
            }
        )
        and _refused(
            {"name": "r", "match": {}, "action": "allow", "examples": {"not_match": [{"syscall": "x", "tool": "u"}]}}
        )
    ),
    "standing_answer": lambda: (
        "each_time"
        in str(
            evaluate(
                policy(
                    {"name": "a", "match": {}, "action": "allow"},
                    {"name": "r", "match": {}, "action": "require_review", "standing_answer": False},
                ),
                Action("x"),
            ).reasons
        )
    ),
}


def _refused(rule: Mapping[str, Any]) -> bool:
    with pytest.raises(PolicyError):
        policy(rule)
    return True


def test_every_key_of_a_rule_has_a_row() -> None:
    assert set(RULES) == {field.alias or name for name, field in RuleForm.model_fields.items()}
    assert set(ConstraintsForm.model_fields) == {"max_file_size", "require_sandbox", "require_capability_token"}
    assert set(ExamplesForm.model_fields) == {"match", "not_match"}
    keys = {"version", "capabilities", "redact", "tdd_exemptions", "tdd_tests", "intents"}
    assert set(PolicyForm.model_fields) == keys
    assert set(IntentsForm.model_fields) == set(Intent)
    assert set(IntentForm.model_fields) == {"tools", "effects"}
    assert set(ExemptionsForm.model_fields) == set(CATEGORIES)
    assert set(RedactForm.model_fields) == {"name", "pattern"}


@rows("key", RULES)
def test_a_key_of_a_rule_changes_what_is_decided(key: str) -> None:
    assert RULES[key]()


def test_tdd_tests_names_files_that_are_locked() -> None:
    assert policy(tdd_tests={"path_glob": ["spec/**"]}).test_globs == (TEST_GLOBS, ("spec/**",))


def test_tdd_tests_names_files_that_are_no_tests() -> None:
    excluded = policy(tdd_tests={"path_glob": ["spec/**"], "except": ["test/lib/**"]}).test_globs
    assert excluded == ((*TEST_GLOBS, "!test/lib/**"), ("spec/**", "!test/lib/**"))


def test_redact_names_what_it_takes_out() -> None:
    (pattern,) = policy(redact=[{"name": "n", "pattern": "x+"}]).redact
    assert (pattern.name, pattern.pattern) == ("n", "x+")


FORMS = [
    ({"version": 1, "capabilites": []}, "capabilities"),
    ({"version": 1, "capabilities": [{"name": "r", "match": {"sycall": "x"}, "action": "deny"}]}, "syscall"),
    ({"version": 1, "capabilities": [{"name": "r", "match": {}, "action": "deny", "resaon": "x"}]}, "reason"),
    ({"version": 1, "redact": [{"nme": "r", "name": "r", "pattern": "x"}]}, "name"),
]


@pytest.mark.parametrize(("text", "near"), FORMS)
def test_an_unknown_key_is_an_error_with_the_nearest(text: Mapping[str, Any], near: str) -> None:
    with pytest.raises(PolicyError) as refused:
        compile_policy([Source("p", json.dumps(text))])
    assert re.search(f"unknown key .*did you mean `{near}`", str(refused.value.problems[0]))


# the person's standing answers

RULE_KEYS: Mapping[str, tuple[Any, Action, Action]] = {
    "tool": ("t", Action("x", tool="t"), Action("x", tool="u")),
    "syscall": ("x", Action("x"), Action("y")),
    "path": ("a", Action("fs.write", path="a"), Action("fs.write", path="b")),
    "path_glob": ("a/**", Action("fs.write", path="a/b"), Action("fs.write", path="b")),
    "command": ("ls", Action("process.exec", command=("ls", "x")), Action("process.exec", command=("rm",))),
    "argv": (["ls"], Action("process.exec", command=("ls",)), Action("process.exec", command=("ls", "x"))),
    "host": ("a.example", Action("net.connect", host="a.example"), Action("net.connect", host="b.example")),
    "cwd": ("a", Action("process.exec", command=command_words("ls"), cwd="a"), Action("process.exec", cwd="b")),
}
REVIEW = Decision(Verdict.REQUIRE_REVIEW, (Reason("rule_review", "m", Verdict.REQUIRE_REVIEW, "yaml", rule="r"),))
ALLOW = Decision(Verdict.ALLOW, (Reason("rule_allow", "m", Verdict.ALLOW, "yaml", rule="r"),))


def test_every_key_of_a_standing_answer_has_a_row() -> None:
    assert set(RULE_KEYS) | {"workspace", "workspace_id"} == set(PermissionRule.model_fields)
    assert set(Override.model_fields) - set(PermissionRule.model_fields) == {"answer"}
    lists = {"final_deny", "overrides", "deny", "allow"}
    assert set(PermissionConfig.model_fields) == {"version", "default_action", *lists}


@pytest.mark.parametrize("key", RULE_KEYS)
@pytest.mark.parametrize("name", ["allow", "deny", "final_deny"])
def test_a_standing_answer_is_about_one_action_and_not_another(name: str, key: str) -> None:
    value, one, other = RULE_KEYS[key]
    config = parse_permissions("f", json.dumps({name: [{key: value}]}))
    said = [decide(config, Standing(), action, REVIEW if name == "allow" else ALLOW).word for action in (one, other)]
    assert said == [name, "ask" if name == "allow" else "allow"]


def test_overrides_defaults_and_workspaces_change_the_answer() -> None:
    for word in ("allow", "ask", "deny"):
        overrides = parse_permissions("f", json.dumps({"overrides": [{"tool": "t", "answer": word}]}))
        assert decide(overrides, Standing(), Action("x", tool="t"), ALLOW).word == word
        default = parse_permissions("f", json.dumps({"default_action": word}))
        assert decide(default, Standing(), Action("x"), ALLOW).word == word
    for bound in ({"workspace": "/a"}, {"workspace": "/b", "workspace_id": "w1"}):
        config = parse_permissions("f", json.dumps({"allow": [{"tool": "t", **bound}]}))
        places = (WorkspaceIdentity("/a", "w0"), WorkspaceIdentity("/b", "w1"), WorkspaceIdentity("/b", "w2"))
        assert [bool(in_workspace(config, here, str).allow) for here in places].count(True) == 1


# a run

REQUEST = {"session_id": "s", "turn_id": "t", "input": {"type": "text", "text": "hello"}}
RUN_FIELDS = {"session_id", "turn_id", "input", "context", "policy", "model", "metadata"}
POLICY_FIELDS = {"max_steps", "timeout_s", "allow_tools", "dry_run", "mode"}
CONTEXT_FIELDS = {"open_document", "cursor", "visible_range", "workspace_folder"}
READS = [intent("READ_FILE"), call("read_file", path="a.py")]


def test_every_field_of_a_run_has_a_test() -> None:
    assert set(RunRequest.model_fields) == RUN_FIELDS
    assert set(ExecutionPolicy.model_fields) == POLICY_FIELDS
    assert set(ContextPayload.model_fields) == CONTEXT_FIELDS


@pytest.mark.parametrize("field", ["mode", "max_step", "x"])
def test_a_field_of_the_policy_that_is_none_is_refused(field: str) -> None:
    with pytest.raises(ValidationError, match=field if field == "mode" else "[Ee]xtra"):
        RunRequest.model_validate({**REQUEST, "policy": {field: 1}})


async def test_the_policy_of_a_run_tightens_it(make_bench: Any) -> None:
    steps = [{"calls": READS}, {"calls": READS}, {"text": "done"}]
    limits = ({}, {"max_steps": 1}, {"allow_tools": ["list_files"]}, {"timeout_s": 1e-9})
    seen = []
    for number, limit in enumerate(limits):
        bench: Bench = await make_bench(*steps, name=f"w{number}")
        result = await bench.ask("read it", policy=limit)
        seen.append((result.status, result.error and result.error.code, [r.ok for r in bench.of("tool_result")]))
    assert seen[0][0] == "completed"
    assert seen[1][1] == "limit_reached"
    assert not any(seen[2][2])
    assert seen[3][0] == "timed_out"


async def test_the_context_and_metadata_of_a_run_have_an_effect(make_bench: Any, tmp_path: Path) -> None:
    where = {"line": 0, "character": 0}
    context = {"open_document": "a.py", "cursor": where, "visible_range": {"start": where, "end": where}}
    bench: Bench = await make_bench({"calls": READS}, {"text": "done"}, record=tmp_path / "traffic.jsonl")
    here = {**context, "workspace_folder": str(bench.workspace)}
    await bench.ask("read it", context=here, metadata={"ticket": "REM-17", "key": "ghp_" + "a" * 36})
    traffic = (tmp_path / "traffic.jsonl").read_text()
    for shown in ("open document: a.py", "cursor: line 1, character 1", "visible: lines 1-1"):
        assert shown in traffic
    noted = [r.event.metadata for r in bench.audit() if r.event.kind is AuditKind.TOOL_INTENT]
    assert noted
    assert all("REM-17" in each["run_metadata"] and "ghp_" not in each["run_metadata"] for each in noted)
    with pytest.raises(RemitError) as refused:
        await bench.ask("read it", context={"workspace_folder": str(tmp_path)})
    assert refused.value.why == f"it is for the workspace `{tmp_path}`, and this server works in `{bench.workspace}`"


# an editor's options

OPTION_VALUES: Mapping[str, tuple[Any, Any]] = {
    "approvals": ("stream", "always"),
    "client_commands": (["x.open"], "x.open"),
    "editor_query": (True, 1),
    "trusted": (True, 1),
}


def client(options: Any) -> Any:
    params = lsp.InitializeParams(lsp.ClientCapabilities(), initialization_options={"remit": options})
    return describe_client(params)


def test_every_option_of_an_editor_has_a_row() -> None:
    assert set(OPTION_VALUES) == set(OPTIONS)


@pytest.mark.parametrize("name", OPTION_VALUES)
def test_an_option_of_an_editor_changes_the_client_or_is_said_aloud(name: str) -> None:
    value, wrong = OPTION_VALUES[name]
    assert client({name: value}) != client({})
    assert client({name: value}).complaints == ()
    assert replace(client({name: wrong}), complaints=()) == client({})
    (complaint,) = client({name: wrong}).complaints
    assert complaint.startswith(f"initializationOptions.remit.{name} was ignored: it has to be ")
    assert (
        client({f"{name}s": value}).complaints[0].startswith(f"initializationOptions.remit has no `{name}s`; it has ")
    )


# VS Code, the gateway, the command line


def test_every_setting_of_vs_code_is_read() -> None:
    package = json.loads((ROOT / "client-vscode/package.json").read_text())
    source = "".join(file.read_text() for file in (ROOT / "client-vscode/src").rglob("*.ts*"))
    read = set(re.findall(r"getConfiguration\('remit'\)\.get\('(\w+)'", source))
    assert {name.removeprefix("remit.") for name in package["contributes"]["configuration"]["properties"]} == read


GATEWAY: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "command": ({"command": "shutdown"}, {"command": "check-availability"}),
    "session_id": ({"command": "close-session", "session_id": "a"}, {"command": "close-session", "session_id": "b"}),
    "instructions": ({"command": "open-session"}, {"command": "open-session", "instructions": "x"}),
    **{
        name: (message, message | {name: value})
        for message in [
            {"command": "message", "session_id": "a", "prompt": "p", "content": "c", "output_format": "text"}
        ]
        for name, value in {"prompt": "q", "content": "d", "output_format": "string_list", "stream": True}.items()
    },
    "request_id": ({"command": "shutdown"}, {"command": "shutdown", "request_id": 7}),
}


def test_every_field_of_the_gateway_changes_what_is_asked() -> None:
    assert set(GATEWAY) == set(RequestForm.model_fields)
    for name, (one, other) in GATEWAY.items():
        assert parse(json.dumps(one).encode()) != parse(json.dumps(other).encode()), name


@pytest.mark.slow
def test_a_field_that_no_request_has_is_in_the_log(tmp_path: Path) -> None:
    """Clients written for the seed may send additional fields, so this is no error."""
    (tmp_path / "says.json").write_text("[]")
    with GatewayProcess("--model", f"script:{tmp_path / 'says.json'}") as gateway:
        gateway.send({"command": "check-availability", "promt": "x"})
        assert gateway.answer()["ok"]
        gateway.logged("no request has a field 'promt'; did you mean 'prompt'")


@cache
def options_read() -> frozenset[str]:
    return frozenset(
        node.attr
        for file in (ROOT / "server/remit_server/cli").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id in {"arguments", "asked"}
    )


@pytest.mark.parametrize("command", command_line.COMMANDS)
def test_every_option_of_the_command_line_is_read(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name under which it is parsed, somewhere in the package of the command line."""
    declared: set[str] = set()
    add = argparse.ArgumentParser.add_argument

    def note(self: Any, *names: Any, **how: Any) -> Any:
        action = add(self, *names, **how)
        declared.add(action.dest)
        return action

    monkeypatch.setattr(argparse._ActionsContainer, "add_argument", note)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(argparse.ArgumentParser, "add_argument", note)
    with pytest.raises(SystemExit):
        command_line.parse_words([command, "--no-such-option"])
    means_the_default = {"stdio"}  # only excludes `--tcp`
    assert declared - options_read() - {"help", "version", "json"} - means_the_default == set()
