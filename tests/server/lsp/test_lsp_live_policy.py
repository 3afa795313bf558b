"""Policy and permissions that change on disk while `remit serve` runs (POL-02)."""

from __future__ import annotations

import re
from itertools import count

import pytest
from messages import SAYS

from remit_governance.audit.reading.query import query_audit
from remit_governance.audit.record import AuditKind
from remit_governance.permissions.remembered import parse_permissions

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

HEAD = "version: 1\ncapabilities:\n"
READS = '  - { name: reads, match: { syscall: [fs.read, fs.list], path_glob: ["**"] }, action: allow }\n'
WRITES = HEAD + READS + '  - { name: writes, match: { syscall: fs.write, path_glob: ["**"] }, action: %s }\n'
ALLOWS, ASKS, DENIES = (WRITES % word for word in ("allow", "require_review", "deny"))
BROKEN = ALLOWS.replace("action: allow }\n", "action: allow, reasn: x }\n", 1)
FAULT = f"3:{BROKEN.splitlines()[2].index('reasn') + 1}: unknown key `reasn`"
turns = count(1)


async def write(client, name="a.txt"):
    """Runs a write; returns `ok`, or the code of its error."""
    _, events = await begun(client, name)
    return (await ended(client, events))["code"]


async def begun(client, name="a.txt"):
    token = f"T{next(turns)}"
    part = {"type": "call", "tool": "write_file", "arguments": {"path": name, "content": token}, "intent": "CODE"}
    params = {"session_id": "s", "turn_id": token, "input": part, "partialResultToken": token}
    return client.start("remit/run", params)[1], token


async def ended(client, token):
    await client.until(lambda: [e for e in client.events(token) if e["kind"] == "run_completed"])
    (result,) = (e for e in client.events(token) if e["kind"] == "tool_result")
    return {
        "code": "ok" if result["ok"] else result["error"]["code"],
        "rules": result["rules"],
        "error": result["error"],
    }


def told(client):
    return [n["params"] for n in client.notifications if n["method"] == "window/showMessage"]


async def next_message(client, number, text):
    await client.until(lambda: len(told(client)) >= number)
    message = told(client)[number - 1]
    assert text in message["message"], message
    return message


@pytest.fixture
def person(tmp_path):
    """The path of the person's policy file, whose folder does not exist yet."""
    return tmp_path / "config" / "policy.yaml"


def saved(path, text):
    """Saves as editors do: a new file replaces the old one."""
    path.parent.mkdir(exist_ok=True, parents=True)
    temporary = path.with_name(f".{path.name}.swp")
    temporary.write_text(text)
    temporary.replace(path)


async def test_an_edited_policy_holds_for_the_next_call_and_a_broken_one_leaves_the_old_in_force(
    start_real, person, tmp_path
):
    saved(person, ALLOWS)
    client = await start_real()
    await client.initialize()
    assert await write(client) == "ok"
    first = await client.result("remit/status")
    assert first["policy_problem"] is None

    saved(person, DENIES)
    assert (await next_message(client, 1, f"{SAYS.is_now_in_force}: {person}"))["type"] == 3
    assert await write(client) == "denied"
    second = await client.result("remit/status")
    assert second["policy"] != first["policy"]

    saved(person, BROKEN)
    message = await next_message(client, 2, f"{person}:{FAULT}")
    assert message["type"] == 1
    assert "did you mean `reason`" in message["message"]
    assert await write(client) == "denied"
    broken = await client.result("remit/status")
    assert broken["policy"] == second["policy"]
    assert f"{person}:{FAULT}" in broken["policy_problem"]["why"]

    saved(person, BROKEN)  # the same problem is not reported again
    saved(person, BROKEN + "#")
    saved(person, ALLOWS)
    await next_message(client, 3, SAYS.is_now_in_force)
    assert await write(client) == "ok"
    assert (await client.result("remit/status"))["policy_problem"] is None
    assert await client.shutdown() == 0
    (database,) = (tmp_path / "state").glob("*/audit.sqlite3")
    updates = [r.event.metadata for r in query_audit(database) if r.event.kind is AuditKind.POLICY_UPDATE]
    versions = [first["policy"], second["policy"]]
    assert [[u["old"], u["new"], u["revoked_tokens"]] for u in updates] == [[*versions, "0"], [*versions[::-1], "0"]]
    assert all(str(person) in u["files"] for u in updates)


async def test_CFG_05_a_turn_that_begins_right_after_a_save_goes_by_what_was_saved(start_real, person):
    saved(person, ALLOWS)
    client = await start_real()
    await client.initialize()
    found = []
    for text in (ALLOWS, DENIES, ALLOWS, DENIES):
        saved(person, text)
        found.append(await write(client))
    assert found == ["ok", "denied", "ok", "denied"]


async def test_a_server_opened_with_a_broken_policy_recovers_when_it_is_mended(start_real, person):
    saved(person, BROKEN)
    client = await start_real()
    await client.initialize()
    error = await client.error("remit/status")
    assert f"{person}:{FAULT}" in error["data"]["why"]
    saved(person, BROKEN + "# still\n")  # nothing new, so it is not reported again
    saved(person, "\n" + BROKEN)
    assert (await next_message(client, 1, f"{person}:4:"))["type"] == 1
    saved(person, ALLOWS)
    await next_message(client, 2, "can be used again")
    assert await write(client) == "ok"


@pytest.mark.slow
async def test_folders_that_come_later_and_links_are_followed(start_real, person, tmp_path):
    client = await start_real()
    await client.initialize()
    await client.result("remit/status")
    dotfiles = tmp_path / "dotfiles" / "policy.yaml"
    saved(dotfiles, ALLOWS)
    person.parent.mkdir()
    person.symlink_to(dotfiles)
    await next_message(client, 1, SAYS.is_now_in_force)
    assert await write(client) == "ok"
    saved(dotfiles, DENIES)
    await next_message(client, 2, SAYS.is_now_in_force)
    assert await write(client) == "denied"
    saved(dotfiles, ALLOWS)
    await next_message(client, 3, SAYS.is_now_in_force)
    project = client.root / ".remit" / "policy.yaml"
    saved(project, HEAD + "  - { name: no-a, match: { syscall: fs.write, path_glob: [a.txt] }, action: deny }\n")
    await next_message(client, 4, f"{project}")
    assert await write(client) == "denied"
    assert await write(client, "b.txt") == "ok"


@pytest.mark.slow
async def test_a_call_judged_under_the_old_policy_is_stale(start_real, person):
    saved(person, ASKS)
    client = await start_real()
    await client.initialize(remit={"approvals": "stream"})
    _, token = await begun(client)
    await client.until(lambda: [e for e in client.events(token) if e["kind"] == "approval_required"])
    saved(person, ALLOWS)
    await next_message(client, 1, SAYS.is_now_in_force)
    (question,) = (e for e in client.events(token) if e["kind"] == "approval_required")
    answer = {"approval_id": question["approval_id"], "decision": "allow", "digest": question["digest"]}
    await client.result("remit/approval/respond", answer)
    assert (await ended(client, token))["code"] == "stale"
    assert not (client.root / "a.txt").exists()


async def test_an_answer_for_good_is_written_as_shown_and_taken_back_by_removing_it(start_real, person):
    saved(person, ASKS)
    permissions = person.with_name("permissions.yaml")
    permissions.write_text("# mine\ndefault_action: allow  # as it was\n")
    client = await start_real()
    await client.initialize(remit={"approvals": "stream"})
    _, token = await begun(client)
    await client.until(lambda: [e for e in client.events(token) if e["kind"] == "approval_required"])
    (question,) = (e for e in client.events(token) if e["kind"] == "approval_required")
    rule = question["always_rule"]
    bound = rf"{{tool: write_file, syscall: fs.write, path: a.txt, workspace: {client.root}, workspace_id: w[0-9a-f]{{16}}}}"
    assert re.fullmatch(bound, rule)
    assert question["everywhere_rule"] == "{tool: write_file, syscall: fs.write, path: a.txt}"
    assert question["scopes"] == ["once", "session", "edits", "always", "everywhere"]
    answer = {"approval_id": question["approval_id"], "decision": "allow", "scope": "always"}
    assert (await client.result("remit/approval/respond", answer))["accepted"]
    assert (await ended(client, token))["code"] == "ok"
    assert permissions.read_text() == f"# mine\ndefault_action: allow  # as it was\nallow:\n  - {rule}\n"

    _, token = await begun(client)
    assert (await ended(client, token))["code"] == "ok"
    (resolved,) = (e for e in client.events(token) if e["kind"].startswith("approval_"))
    assert (resolved["by"], resolved["scope"], resolved["decision"]) == ("standing_answer", "always", "allow")

    saved(permissions, "deny:\n  - {path: a.txt}\n")
    await next_message(client, 1, SAYS.is_now_in_force)
    assert await write(client) == "denied"
    assert parse_permissions("", permissions.read_text()).allow == ()


@pytest.mark.slow
async def test_THR_approvals_a_deny_written_while_a_question_is_open_counts(start_real, person):
    """Holds for `always` and every other yes: a deny rule that came meanwhile is stronger."""
    saved(person, ASKS)
    client = await start_real()
    await client.initialize(remit={"approvals": "stream"})
    _, token = await begun(client)
    await client.until(lambda: [e for e in client.events(token) if e["kind"] == "approval_required"])
    saved(person.with_name("permissions.yaml"), "deny:\n  - {path: a.txt}\n")
    await next_message(client, 1, SAYS.is_now_in_force)
    (question,) = (e for e in client.events(token) if e["kind"] == "approval_required")
    answer = {"approval_id": question["approval_id"], "decision": "allow", "scope": "always"}
    await client.result("remit/approval/respond", answer)
    assert (await ended(client, token))["code"] == "denied"
    assert not (client.root / "a.txt").exists()


async def test_CFG_05_an_edited_configuration_is_told_and_counts(start_real, person, tmp_path):
    saved(person, ALLOWS)
    client = await start_real()
    await client.initialize()
    assert await write(client) == "ok"
    saved(person.with_name("config.yaml"), "limits: { max_steps: 7, max_stps: 3 }\n")
    assert "did you mean `max_steps`" in (await next_message(client, 1, SAYS.the_configuration_on_disk_has))["message"]
    saved(person.with_name("config.yaml"), "limits: { max_steps: 7 }\n")
    assert (await next_message(client, 2, f"{SAYS.from_the_next_turn_on}`limits.max_steps`"))["type"] == 3
    assert await write(client, "b.txt") == "ok"
