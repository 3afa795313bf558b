"""Policy files in an editor: diagnostics, completion, hover with hits, and the way from a denial to its rule
(POL-02)."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
import pytest_asyncio
from messages import SAYS

from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.policy.language.load import default_source
from remit_server.runtime.settings import Settings
from remit_server.transports.lsp.features.sync import PAUSE_S

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

HEAD = "version: 1\ncapabilities:\n"
GOOD = HEAD + "  - name: hands-off\n    match: { syscall: fs.write, path_glob: [gen/**] }\n    action: deny\n"
BAD = GOOD.replace("action: deny", "action: permit")
PROJECT = ".remit/policy.yaml"
UNFORCED = " (not in force until this is fixed)"


OPEN: set[str] = set()
"""The documents that the shared client has open."""


@pytest.fixture(scope="module", autouse=True)
def homes(tmp_path_factory):
    """The environment that gives these tests, and every server that they start, files of their own for the person."""
    base = tmp_path_factory.mktemp("homes")
    moved = {"REMIT_CONFIG_DIR": str(base / "config"), "REMIT_STATE_DIR": str(base / "state")}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in moved.items():
            patch.setenv(name, value)
        yield moved


@pytest_asyncio.fixture(loop_scope="module")
async def client(shared, homes):
    """The shared client with a good project policy, no policy of the person's, no recorded calls, and nothing open."""
    for path in homes.values():
        shutil.rmtree(path, ignore_errors=True)
    project = shared.root / PROJECT
    project.parent.mkdir(exist_ok=True)
    project.unlink(missing_ok=True)
    project.write_text(GOOD)
    yield shared
    for uri in OPEN:
        shared.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    OPEN.clear()
    await shared.result("remit/status")
    shared.notifications.clear()


def person(homes) -> Path:
    path = Path(homes["REMIT_CONFIG_DIR"]) / "policy.yaml"
    path.parent.mkdir(exist_ok=True)
    return path


async def initialized(start, capabilities=None):
    """Starts a client of its own with a good project policy."""
    client = await start()
    (client.root / ".remit").mkdir()
    (client.root / PROJECT).write_text(GOOD)
    await client.initialize(capabilities)
    return client


def open_file(client, path: Path, text: str) -> str:
    document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    OPEN.add(path.as_uri())
    return path.as_uri()


def save(client, uri: str, text: str) -> None:
    Path(uri.removeprefix("file://")).write_text(text)
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})


def published(client, uri: str) -> list[dict]:
    return [
        n["params"]
        for n in client.notifications
        if n["method"] == "textDocument/publishDiagnostics" and n["params"]["uri"] == uri
    ]


async def next_diagnostics(client, uri: str, seen: int = 0) -> list[dict]:
    await client.until(lambda: len(published(client, uri)) > seen)
    return published(client, uri)[-1]["diagnostics"]


def position(text: str, at: str, beyond: int = 0) -> dict[str, int]:
    before = text[: text.index(at) + beyond]
    line = before.rpartition("\n")[2]
    return {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}


async def complete(client, uri: str, at: dict[str, int]):
    return await client.result("textDocument/completion", {"textDocument": {"uri": uri}, "position": at})


async def hover(client, uri: str, at: dict[str, int]):
    return await client.result("textDocument/hover", {"textDocument": {"uri": uri}, "position": at})


async def open_rule(client, *arguments):
    return await client.reply(
        "workspace/executeCommand", {"command": "remit.policy.open", "arguments": list(arguments)}
    )


# diagnostics


async def test_a_mistake_is_marked_in_utf_16(client):
    text = GOOD + "    reason: '🎉' # 🎉🎉\n  - { name: b, reason: '🎉🎉', match: {}, acton: deny }\n"
    uri = open_file(client, client.root / PROJECT, text)
    found = await next_diagnostics(client, uri)
    (unknown,) = [d for d in found if "acton" in d["message"]]
    start = position(text, "acton")
    assert unknown == {
        "range": {"start": start, "end": {"line": start["line"], "character": start["character"] + 5}},
        "severity": 1,
        "code": "policy_invalid",
        "source": "remit",
        "message": "unknown key `acton`; did you mean `action`",
    }
    assert published(client, uri)[-1]["version"] == 1


async def test_a_good_file_has_none_and_a_closed_one_none_any_more(client):
    uri = open_file(client, client.root / PROJECT, GOOD)
    assert await next_diagnostics(client, uri) == []
    client.change(uri, 2, {"text": BAD})
    assert len(await next_diagnostics(client, uri, 1)) == 1
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert await next_diagnostics(client, uri, 2) == []


async def test_what_is_typed_is_followed_and_looked_at_in_the_pauses(client):
    """The text is edited in the editor's own steps; during a series of them only the last text is checked."""
    uri = open_file(client, client.root / PROJECT, GOOD)
    assert await next_diagnostics(client, uri) == []
    start, end = position(GOOD, "deny"), position(GOOD, "deny", 4)
    client.change(uri, 2, {"range": {"start": start, "end": end}, "text": ""})
    for number, letter in enumerate("permit"):
        at = {"line": start["line"], "character": start["character"] + number}
        client.change(uri, 3 + number, {"range": {"start": at, "end": at}, "text": letter})
    (found,) = await next_diagnostics(client, uri, 1)
    assert found["message"].startswith("`action: permit` is not right")
    assert published(client, uri)[-1]["version"] == 8
    await asyncio.sleep(3 * PAUSE_S)
    assert len(published(client, uri)) == 2


async def test_an_error_that_was_saved_says_that_the_policy_is_not_in_force(client):
    uri = open_file(client, client.root / PROJECT, GOOD)
    client.change(uri, 2, {"text": BAD})
    (typed,) = await next_diagnostics(client, uri)
    assert not typed["message"].endswith(UNFORCED)
    save(client, uri, BAD)
    (saved,) = await next_diagnostics(client, uri, len(published(client, uri)))
    assert saved["message"] == typed["message"] + UNFORCED


async def test_a_broken_file_says_so_when_it_is_opened(client):
    (client.root / PROJECT).write_text(BAD)
    uri = open_file(client, client.root / PROJECT, BAD.replace("\n", "\r\n"))
    (found,) = await next_diagnostics(client, uri)
    assert found["message"].endswith(UNFORCED)


async def test_a_project_s_file_may_only_tighten_and_the_person_s_may_allow(client, homes):
    text = GOOD.replace("deny", "allow")
    (found,) = await next_diagnostics(client, open_file(client, client.root / PROJECT, text))
    assert SAYS.a_project_s_policy_may in found["message"]
    mine = text.replace("hands-off", "mine")
    assert await next_diagnostics(client, open_file(client, person(homes), mine)) == []


async def test_a_rule_that_can_never_fire_is_a_warning(client, homes):
    text = HEAD + "  - name: a\n    match: { path_glob: [] }\n    action: deny\n"
    (found,) = await next_diagnostics(client, open_file(client, person(homes), text))
    assert (found["severity"], found["code"]) == (2, "policy_warning")
    assert found["range"] == {"start": position(text, "path_glob"), "end": position(text, " }")}


async def test_saving_one_file_looks_at_the_other_again(client, homes):
    """Rule names must differ between both files, and the person uses one of the project's open file."""
    person(homes).write_text("version: 1\n")
    project = open_file(client, client.root / PROJECT, GOOD)
    mine = open_file(client, person(homes), "version: 1\n")
    assert await next_diagnostics(client, project) == []
    assert await next_diagnostics(client, mine) == []
    client.change(mine, 2, {"text": GOOD})
    (on_top,) = await next_diagnostics(client, mine, 1)
    assert on_top["severity"] == 2
    assert SAYS.this_file_is_not_in in on_top["message"]
    assert str(client.root / PROJECT) in on_top["message"]
    save(client, mine, GOOD)
    (taken,) = await next_diagnostics(client, project, 1)
    assert taken["message"].startswith("the name `hands-off` is taken by a rule at ")
    assert taken["message"].endswith(UNFORCED)


async def test_a_project_s_policy_that_is_a_link_is_refused_as_the_server_would(client, tmp_path):
    (tmp_path / "elsewhere").write_text(GOOD)
    (client.root / PROJECT).unlink()
    (client.root / PROJECT).symlink_to(tmp_path / "elsewhere")
    (found,) = await next_diagnostics(client, open_file(client, client.root / PROJECT, GOOD))
    assert found["severity"] == 1
    assert found["message"].startswith("the file cannot be read: ")


async def test_other_files_of_that_name_are_left_alone(client):
    """Many other programs have a `policy.yaml`."""
    uri = open_file(client, client.root / "policy.yaml", "kind: Policy\n")
    other = open_file(client, client.root / "deploy.yaml", "kind: Policy\n")
    project = open_file(client, client.root / PROJECT, BAD)
    await next_diagnostics(client, project)
    await asyncio.sleep(2 * PAUSE_S)
    assert published(client, uri) == published(client, other) == []
    assert await complete(client, uri, {"line": 0, "character": 0}) is None
    assert await hover(client, uri, {"line": 0, "character": 0}) is None
    assert await hover(client, other, {"line": 0, "character": 0}) is None


async def test_the_person_s_file_alone_without_any_workspace(start, homes):
    client = await start()
    await client.initialize(rootUri=None)
    uri = open_file(client, person(homes), BAD)
    assert len(await next_diagnostics(client, uri)) == 1
    assert (await complete(client, uri, position(BAD, "permit")))["items"]
    shown = await hover(client, uri, position(GOOD, "hands-off"))
    assert "calls" not in shown["contents"]["value"]
    assert await client.shutdown() == 0


async def test_a_policy_that_takes_long_holds_up_neither_requests_nor_the_end(start):
    client = await initialized(start)
    text = HEAD + "".join(
        f"  - name: r{n}\n    match: {{ path_glob: ['a{n}/**'] }}\n    action: deny\n" for n in range(9_000)
    )
    open_file(client, client.root / PROJECT, text)
    await asyncio.sleep(2 * PAUSE_S)
    assert (await client.result("remit/status"))["running_turns"] == 0
    assert await client.shutdown() == 0


@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        "{" * 5_000,
        "a: &a [*a, *a]\n",
        "- \ud800\n",
        "\ufeff" + BAD,
        "? [a]\n: b\n",
        "x" * 1_000_001,
        "\x85\u2028a: {",
    ],
)
async def test_any_text_gets_diagnostics_inside_of_it(client, text):
    """THR-configuration: a project's policy is opened before anybody has read it."""
    uri = open_file(client, client.root / PROJECT, text)
    found = await next_diagnostics(client, uri)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert found
    for place in (d["range"][end] for d in found for end in ("start", "end")):
        assert place["line"] < len(lines)
        assert place["character"] <= len(lines[place["line"]].encode("utf-16-le", "surrogatepass")) // 2


# completion


async def test_completion_in_braces_of_a_broken_text(client):
    text = "# 🎉\n" + HEAD + "  - name: '🎉'\n    match: { syscall: fs.read, pa\n    action: deny\n"
    uri = open_file(client, client.root / PROJECT, text)
    found = await complete(client, uri, position(text, "pa\n", 2))
    assert found["isIncomplete"] is False
    labels = [item["label"] for item in found["items"]]
    assert "path_glob" in labels
    assert "syscall" not in labels
    item = found["items"][labels.index("path_glob")]
    span = {"start": position(text, "pa\n"), "end": position(text, "pa\n", 2)}
    assert item["textEdit"] == {"range": span, "newText": "path_glob: "}
    assert item["documentation"]


async def test_completion_of_tools_and_actions(client):
    text = GOOD.replace("fs.write", "fs.write, tool: re")
    uri = open_file(client, client.root / PROJECT, text)
    tools = await complete(client, uri, position(text, "tool: re", 8))
    assert {"read_file", "run_command"} <= {item["label"] for item in tools["items"]}
    actions = await complete(client, uri, position(text, "deny"))
    assert [item["label"] for item in actions["items"]] == ["deny", "pass", "require_review"]


async def test_the_person_s_file_completes_allow(client, homes):
    uri = open_file(client, person(homes), GOOD)
    actions = await complete(client, uri, position(GOOD, "deny"))
    assert next(item["label"] for item in actions["items"]) == "allow"


async def test_a_comment_completes_nothing(client):
    uri = open_file(client, client.root / PROJECT, "# \n")
    assert (await complete(client, uri, {"line": 0, "character": 2}))["items"] == []


async def test_completion_and_hover_are_offered(start):
    client = await start()
    capabilities = (await client.initialize())["capabilities"]
    assert "{" in capabilities["completionProvider"]["triggerCharacters"]
    assert capabilities["hoverProvider"]
    assert capabilities["textDocumentSync"]["save"]
    assert "diagnosticProvider" not in capabilities
    assert "remit.policy.open" in capabilities["executeCommandProvider"]["commands"]


# hover


def record(client, homes, *calls: tuple[str, str]) -> None:
    """Writes calls into the audit log of this client's workspace, as the harness does."""
    with AuditLog(Settings.from_environment(client.root, homes).audit_database) as log:
        for decision, rule in calls:
            for kind in (AuditKind.TOOL_INTENT, AuditKind.TOOL_OUTCOME):
                log.append(AuditEvent(kind=kind, policy_decision=decision, policy_rule_name=rule))


async def test_hover_on_a_rule_tells_what_it_does_and_how_often_it_did(client, homes):
    uri = open_file(client, client.root / PROJECT, GOOD)
    told = "`hands-off` denies `fs.write` on `gen/**`.\n\n"
    at = position(GOOD, "hands-off")
    before = await hover(client, uri, at)
    assert before["contents"] == {"kind": "plaintext", "value": told + SAYS.no_calls_have_been_recorded}
    assert before["range"] == {"start": at, "end": position(GOOD, "hands-off", 9)}
    record(client, homes, ("allowed", "other"), *[("denied", "hands-off")] * 2, ("review_required", "b, hands-off"))
    after = await hover(client, uri, at)
    assert after["contents"]["value"] == told + "asked about 1, denied 2 of the last 4 calls"


async def test_hover_counts_the_last_hundred_calls(client, homes):
    record(client, homes, *[("denied", "hands-off")] * 20, *[("allowed", "hands-off")] * 3, *[("allowed", "o")] * 85)
    uri = open_file(client, client.root / PROJECT, GOOD)
    shown = await hover(client, uri, position(GOOD, "hands-off"))
    assert shown["contents"]["value"].endswith("allowed 3, denied 12 of the last 100 calls")


async def test_hover_with_an_audit_log_that_is_none(client, homes):
    database = Settings.from_environment(client.root, homes).audit_database
    database.parent.mkdir(parents=True)
    database.write_text("nonsense")
    uri = open_file(client, client.root / PROJECT, GOOD)
    shown = await hover(client, uri, position(GOOD, "hands-off"))
    assert SAYS.the_audit_log_cannot_be_read in shown["contents"]["value"]


async def test_hover_on_a_key_tells_what_it_means(client):
    uri = open_file(client, client.root / PROJECT, GOOD)
    shown = await hover(client, uri, position(GOOD, "path_glob"))
    assert shown["contents"]["value"].startswith("`path_glob`: The path in the workspace")
    assert await hover(client, uri, position(GOOD, "gen/**")) is None


async def test_hover_in_markdown_for_a_client_that_draws_it(start):
    client = await initialized(start, {"textDocument": {"hover": {"contentFormat": ["markdown", "plaintext"]}}})
    uri = open_file(client, client.root / PROJECT, GOOD)
    assert (await hover(client, uri, position(GOOD, "action")))["contents"]["kind"] == "markdown"


async def test_hover_in_the_packaged_default(client):
    """If the person has no policy of their own, a denial leads to this file."""
    default = default_source()
    uri = open_file(client, Path(default.file), default.text)
    assert await next_diagnostics(client, uri) == []
    shown = await hover(client, uri, position(default.text, "read-workspace"))
    assert shown["contents"]["value"].startswith("`read-workspace` allows `fs.read` or `fs.list` on `**`.")


# from a denial to its rule


SHOWS = {"window": {"showDocument": {"support": True}}}


def messages(client) -> list[str]:
    return [n["params"]["message"] for n in client.notifications if n["method"] == "window/showMessage"]


async def test_a_rule_is_shown_where_it_stands(start):
    client = await initialized(start, SHOWS)
    client.handlers["window/showDocument"] = lambda _: {"success": True}
    project = client.root / PROJECT
    reason = {"rule": "hands-off", "layer": "yaml", "action": "deny", "reason": "x", "file": str(project), "line": 3}
    answer = await open_rule(client, reason)
    assert answer["result"] == {"file": str(project), "line": 3, "shown": True}
    (asked,) = [a["params"] for a in client.asked if a["method"] == "window/showDocument"]
    assert asked["uri"] == project.as_uri()
    assert asked["takeFocus"] is True
    assert asked["selection"] == {"start": position(GOOD, "hands-off"), "end": position(GOOD, "hands-off", 9)}
    assert messages(client) == []


async def test_a_client_that_cannot_show_it_is_told_where_it_is(client):
    asked = len(client.asked)
    answer = await open_rule(client, {"rule": "no-secrets"})
    default = default_source()
    line = default.text[: default.text.index("no-secrets")].count("\n") + 1
    assert answer["result"] == {"file": default.file, "line": line, "shown": False}
    assert messages(client) == [f"rule `no-secrets` is at {default.file}:{line}"]
    assert len(client.asked) == asked


@pytest.mark.parametrize("answers", [lambda _: {"success": False}, None])
async def test_a_client_that_fails_to_show_it_is_told_where_it_is(start, answers):
    client = await initialized(start, SHOWS)
    if answers is not None:
        client.handlers["window/showDocument"] = answers
    assert (await open_rule(client, {"rule": "hands-off"}))["result"]["shown"] is False
    assert messages(client) == [f"rule `hands-off` is at {client.root / PROJECT}:3"]


async def test_the_editor_s_text_is_the_truth(client):
    """The rule has moved since it denied, and the text is not saved yet."""
    uri = open_file(client, client.root / PROJECT, GOOD)
    client.change(uri, 2, {"text": "# one\n# two\n" + GOOD})
    reason = {"rule": "hands-off", "file": str(client.root / PROJECT), "line": 3}
    assert (await open_rule(client, reason))["result"]["line"] == 5
    renamed = {"rule": "gone", "file": str(client.root / PROJECT), "line": 3}
    assert (await open_rule(client, renamed))["result"]["line"] == 3
    moved = {"rule": "hands-off", "file": "/not/here/policy.yaml", "line": 3}
    assert (await open_rule(client, moved))["result"]["line"] == 5


async def test_the_person_s_rule_wins_over_the_default_of_the_same_name(client, homes):
    person(homes).write_text(GOOD.replace("hands-off", "no-secrets"))
    assert (await open_rule(client, {"rule": "no-secrets"}))["result"]["file"] == str(person(homes))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"rule": "nobody"}, "no policy file here has a rule `nobody`"),
        ({"rule": "builtin.git-internals"}, "`builtin.git-internals` is built in"),
        ({"file": "/etc/passwd", "line": 1}, "`/etc/passwd` is not a policy file here"),
        ({"file": "a\x00b", "line": 1}, "is not a policy file here"),
    ],
)
async def test_what_cannot_be_shown_says_why(client, arguments, why):
    error = (await open_rule(client, arguments))["error"]
    assert error["data"]["code"] == "not_found"
    assert why in error["data"]["why"]
    assert error["data"]["fix"]


@pytest.mark.parametrize("arguments", [[], ["x"], [{}], [{"rule": 5}], [{"file": "x"}], [{"line": 3}], [{}, {}]])
async def test_wrong_arguments_say_how_they_should_look(client, arguments):
    error = (await open_rule(client, *arguments))["error"]
    assert error["code"] == -32602
    assert SAYS.rule_file_line in error["data"]["fix"]


# configuration

CONFIG = "model:\n  max_tokns: 100\n  seed: 7\nsessions: { days: 3 }\nlog: {}\n"


async def test_CFG_04_a_projects_configuration_is_checked_as_it_is_read(client):
    uri = open_file(client, client.root / ".remit/config.yaml", CONFIG)
    (unknown,) = await next_diagnostics(client, uri)
    start = position(CONFIG, "max_tokns")
    assert unknown == {
        "range": {"start": start, "end": {"line": 1, "character": start["character"] + 9}},
        "severity": 1,
        "code": "config_invalid",
        "source": "remit",
        "message": "unknown key `max_tokns`; did you mean `max_tokens`",
    }
    change = {
        "textDocument": {"uri": uri, "version": 2},
        "contentChanges": [{"text": CONFIG.replace("tokns", "tokens")}],
    }
    client.notify("textDocument/didChange", change)
    (forbidden,) = await next_diagnostics(client, uri, 1)
    assert forbidden["message"].startswith("a project may not set `sessions.days`; remove it there; you can set it in")


async def test_CFG_04_the_persons_own_is_completed_and_explained(client, homes):
    path = person(homes).with_name("config.yaml")
    text = "model:\n  cach\nlog:\n  level: \nlimits:\n  max_steps: 5\n"
    uri = open_file(client, path, text)
    keys = (await complete(client, uri, position(text, "cach", 4)))["items"]
    by_name = {each["label"]: each for each in keys}
    assert SAYS.a_project_may_not_set in by_name["cache_dir"]["documentation"]
    levels = (await complete(client, uri, position(text, "level: ", 7)))["items"]
    assert [each["label"] for each in levels] == ["debug", "info", "warning", "error"]
    shown = await hover(client, uri, position(text, "max_steps", 2))
    assert "steps of one turn; by default `25`; `REMIT_MAX_STEPS`; a project may lower it" in str(shown["contents"])


async def test_CFG_04_a_project_is_offered_only_what_it_may_set(client):
    uri = open_file(client, client.root / ".remit/config.yaml", "\n")
    found = (await complete(client, uri, {"line": 0, "character": 0}))["items"]
    assert [each["label"] for each in found] == ["model", "limits", "workflow", "git", "scheduler", "hooks"]


async def test_CFG_04_a_broken_configuration_does_not_hide_what_a_policy_lacks(client, homes):
    person(homes).with_name("config.yaml").write_text("nothing: [")
    uri = open_file(client, client.root / PROJECT, GOOD + "oops: 1\n")
    assert "unknown key `oops`" in (await next_diagnostics(client, uri))[0]["message"]
