"""Secrets on their way to the model, to events and to the audit log (SEC-01)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench_runtime import Answering, Bench, call, intent
from threat_bench import LAX, own, result, script

TOKEN = "ghp_" + "a1B2" * 9
LINES = [f"MIIEpAIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRge{n:04d}" for n in range(20)]
KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *LINES, "-----END RSA PRIVATE KEY-----"])


def _nowhere(bench: Bench, *secrets: str) -> None:
    seen = json.dumps([e.model_dump(mode="json") for e in bench.events]) + json.dumps([r.json() for r in bench.audit()])
    for secret in secrets:
        assert secret not in seen, secret


@pytest.fixture
async def bench(make_bench: Any) -> Bench:
    made: Bench = await make_bench(policy=LAX)
    (made.workspace / "conf.py").write_text(f"first = 1\nTOKEN = '{TOKEN}'\n{KEY}\nlast = 2\n")
    return made


async def test_THR_redaction_a_key_read_line_by_line_is_still_a_key(bench: Bench) -> None:
    """A single line of a key looks like any other line, because only the first one says that it is a key."""
    for offset in range(1, 27):
        await result(bench, "read_file", path="conf.py", offset=offset, limit=1)
    for line in LINES[3:9]:
        await result(bench, "search_files", pattern=line[-8:], context_lines=0)
        await result(bench, "search_files", pattern="^MIIE", context_lines=5)
        await result(bench, "edit_file", path="conf.py", old_text=" ".join(line), new_text="x")
        await result(bench, "edit_file", path="conf.py", old_text=line[:20].lower(), new_text="x")
    _nowhere(bench, TOKEN, *(line[4:40] for line in LINES))


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("width", [64, 70])
async def test_SEC_04_the_middle_of_a_key_that_a_command_prints_is_redacted(bench: Bench, width: int) -> None:
    """Neither the first line nor a marker is printed with it."""
    letters = "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYE9jOPqZxV"
    lines = [f"{n:02d}{letters[n:]}{letters[:n]}"[:width] for n in range(12)]
    key = ["-----BEGIN OPENSSH PRIVATE KEY-----", *lines, "-----END OPENSSH PRIVATE KEY-----"]
    (bench.workspace / "deploy.txt").write_text("\n".join([*key, ""]))
    commands = ("sed -n 5,9p deploy.txt", "sed -n 5p deploy.txt", "head -n 6 deploy.txt | tail -n 2")
    for command in (
        *commands,
        "grep -n M2bS deploy.txt | tail -n +3",
        "grep -C1 ^05 deploy.txt",
        "tail -n +6 deploy.txt",
    ):
        shown = await result(bench, "run_command", command=command, asker=Answering())
        assert "[redacted private key]" in shown.output, command
    _nowhere(bench, *(line[20:50] for line in lines))


async def test_THR_redaction_keeps_the_numbers_of_the_lines_after_a_secret(bench: Bench) -> None:
    read = await result(bench, "read_file", path="conf.py")
    assert "\n1|first = 1\n" in read.output
    assert "\n25|last = 2" in read.output
    found = await result(bench, "search_files", pattern="last = 2", context_lines=0)
    assert "25:last = 2" in found.output


async def test_THR_redaction_a_search_does_not_tell_whether_a_guess_is_right(bench: Bench) -> None:
    """Otherwise a model could guess a secret letter by letter, though no result ever contains it."""
    for guess in (TOKEN[:8], TOKEN[:20], f"^TOKEN = '{TOKEN[:5]}", "TOKEN = 'ghp_a", LINES[4][:12]):
        answer = await result(bench, "search_files", pattern=guess)
        assert answer.output.startswith("0 matches"), guess
    assert (await result(bench, "search_files", pattern="TOKEN = ")).output.startswith("1 match ")


@pytest.mark.parametrize("before", [200, 270, 282, 299, 300, 1_970, 1_982, 2_000, 9_990])
async def test_THR_redaction_comes_before_a_long_line_is_cut(bench: Bench, before: int) -> None:
    (bench.workspace / "long.txt").write_text("x" * (before - 1) + " " + TOKEN + " " + "y" * 20_000 + "\n")
    await result(bench, "read_file", path="long.txt")
    await result(bench, "search_files", pattern="y$|^x|ghp_", path="long.txt")
    await result(bench, "edit_file", path="long.txt", old_text="x" * 150 + "z", new_text="")
    _nowhere(bench, TOKEN[:12])


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("kind", ["token", "key"])
async def test_THR_redaction_comes_before_a_commands_output_is_cut(bench: Bench, kind: str) -> None:
    secret = TOKEN if kind == "token" else KEY
    for lead in (8_000, 9_995, 12_000):
        (bench.workspace / "out.txt").write_text("x\n" * (lead // 2) + secret + "\n" + ("y" * 94 + "\n") * 100)
        await result(bench, "run_command", command="cat out.txt; cat out.txt >&2", asker=Answering())
    _nowhere(bench, TOKEN[:12], *(line[4:40] for line in LINES))


async def test_SEC_06_a_token_in_a_models_own_answer_is_neither_shown_nor_stored(make_bench: Any) -> None:
    """The recorded model streams its text in pieces; the session on disk and the result hold the whole."""
    text = f"Use {TOKEN} for it.\n{KEY}\nThat is all."
    bench: Bench = await make_bench({"text": text}, policy=LAX)
    answered = await bench.ask("go")
    shown = "".join(event.text for event in bench.of("token_delta"))
    assert shown == "Use [redacted github token] for it.\n[redacted private key]\nThat is all."
    kept = "".join(path.read_text(errors="replace") for path in bench.workspace.parent.rglob("*.jsonl"))
    for secret in (TOKEN, LINES[3]):
        assert secret not in kept
        assert secret not in repr(answered)


async def test_THR_redaction_covers_whatever_a_model_puts_into_a_call(make_bench: Any) -> None:
    """Names, keys, values, justifications and paths; refused calls are recorded too."""
    calls = [
        call(TOKEN),
        call("select_active_intent", intent=TOKEN),
        call("select_active_intent", intent="CODE", justification=f"because {TOKEN}"),
        call("write_file", path=f"{TOKEN}.txt", content=f"x {TOKEN}"),
        call("write_file", **{TOKEN: {"deep": [TOKEN, {TOKEN: TOKEN}]}}),
        call("edit_file", path=f"missing/{TOKEN}", old_text=TOKEN, new_text="x"),
        call("run_command", command=f"echo {TOKEN}"),
    ]
    bench: Bench = await make_bench({"calls": calls}, {"text": "done"}, policy=LAX)
    await bench.ask("go")
    assert len(bench.of("tool_result")) == 6
    records = json.dumps([r.json() for r in bench.audit()])
    assert TOKEN not in records
    shown = [event.model_dump_json() for event in bench.events if event.kind != "tool_result"]  # type: ignore[attr-defined]
    assert all(TOKEN not in text for text in shown)
    for event in bench.of("tool_result"):
        # `changed_files` is not redacted, because the editor opens the files by these names.
        assert TOKEN not in event.model_copy(update={"changed_files": ()}).model_dump_json()


async def test_THR_redaction_the_servers_own_secrets_in_any_spelling(
    make_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import base64

    secret = "S3rvice/Pass+word!9"
    monkeypatch.setenv("DEPLOY_PASSWORD", secret)
    bench: Bench = await make_bench(policy=LAX)
    spelled = [secret, secret.encode().hex(), base64.b64encode(secret.encode()).decode(), json.dumps(secret)]
    (bench.workspace / "log.txt").write_text("\n".join(f"line {text} end" for text in spelled))
    await result(bench, "read_file", path="log.txt")
    await result(bench, "search_files", pattern="line")
    _nowhere(bench, *spelled)


@pytest.mark.usefixtures("sandbox")
async def test_THR_redaction_a_command_sees_none_of_the_servers_environment(
    make_bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even encoded, because the command's environment does not contain them."""
    monkeypatch.setenv("DEPLOY_PASSWORD", "S3rvicePassword9")
    monkeypatch.setenv("HARMLESS_LOOKING", "also-not-passed-on")
    bench: Bench = await make_bench(policy=LAX)
    look = "(env; cat /proc/*/environ; cat /proc/*/cmdline) 2>/dev/null | tr '\\0' '\\n' | rev"
    answer = await script(bench, look)
    assert "bmad"[::-1] not in answer.output
    assert "S3rvicePassword9"[::-1] not in answer.output
    assert "also-not-passed-on"[::-1] not in answer.output
    assert "TIMER"[::-1] not in answer.output


async def test_THR_redaction_an_error_of_the_turn_shows_no_secret(make_bench: Any) -> None:
    bench: Bench = await make_bench(
        {"calls": [intent("CODE"), call("write_file", path=TOKEN, content=1)] * 40}, policy=LAX
    )
    await bench.ask(own("read_file", path=f"no/{TOKEN}"), "go")
    _nowhere(bench, TOKEN)


async def test_THR_redaction_what_the_policy_describes_is_seen_by_nobody(make_bench: Any) -> None:
    """Text that a `redact` pattern of the policy matches is hidden in results, arguments, refusals and the audit log; a
    search for a guess finds nothing either."""
    policy = LAX + "redact:\n  - { name: customer, pattern: 'CUST-[0-9]{6}' }\n"
    bench: Bench = await make_bench(
        {"calls": [intent("CODE"), call("write_file", path="b.txt", content="CUST-123456")]},
        {"text": "done"},
        policy=policy,
    )
    (bench.workspace / "data.csv").write_text("1,CUST-654321\n")
    read = await result(bench, "read_file", path="data.csv")
    assert "[redacted customer]" in read.output
    assert (await result(bench, "search_files", pattern="CUST-6")).output.startswith("0 matches")
    await result(bench, "edit_file", path="data.csv", old_text="CUST-654322", new_text="x")
    await result(bench, "read_file", path="CUST-654321")
    await bench.ask("go")
    _nowhere(bench, "CUST-654321", "CUST-123456")
