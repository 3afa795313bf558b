"""What a chat's commands print is true: where messages go, which tokens were used, which words count (AGT-15,
CLI-09)."""

from __future__ import annotations

import json
import shutil
from itertools import product
from typing import Any

import pytest
from bench_runtime import Bench
from chat_server import Said, chat_server
from messages import SAYS

from remit_governance.intents import SELECT_INTENT
from remit_server.chat.commands import ALIASES, COMMANDS, run_command
from remit_server.chat.replies import Chat, NotUnderstood
from remit_server.cli.chat.app import TerminalChat
from remit_server.cli.chat.transcript import Transcript
from remit_server.contract import UserSaid

HOSTS = {
    "built-in": None,
    "script:nosuch.json": None,
    "openai:m@http://127.0.0.1:9/v1": None,
    "openai:m@http://localhost:9/v1": None,
    "ollama:m": None,
    "openai:m@http://192.0.2.1:9/v1": "192.0.2.1:9",
    "openai:gpt-4o": "api.openai.com",
    "anthropic:claude": "api.anthropic.com",
    "google:gemini": "generativelanguage.googleapis.com",
}
"""Models to which a session switches, and the host to which its messages leave this machine, if any."""


async def told_by_status(chat: Chat) -> str:
    shown = (await run_command(chat, "/status")).text
    return next(line for line in shown.splitlines() if line.startswith("- sent to:"))


async def told_by_model(chat: Chat) -> str:
    return (await run_command(chat, "/model")).text.splitlines()[0]


async def told_by_the_bar(chat: Chat) -> str:
    return str(TerminalChat(chat).session.bottom_toolbar()).partition("→")[2]  # type: ignore[operator, misc]


WHERE = (told_by_status, told_by_model, told_by_the_bar)


async def test_AGT_15_where_the_next_message_goes_is_told(chat: Chat) -> None:
    wrong = list[tuple[str, str, str]]()
    for (model, host), tell in product(HOSTS.items(), WHERE):
        chat.model = model
        told = await tell(chat)
        named = [each for each in HOSTS.values() if each and each in told]
        stays = SAYS.messages_to_it_stay_on in told or "nowhere" in told or tell is told_by_the_bar
        if named != ([] if host is None else [host]) or not (stays or host is not None):
            wrong.append((model, tell.__name__, told))
    assert wrong == []


CALL = (SELECT_INTENT, {"intent": "READ_FILE"})
ANSWER = Said(json.dumps({"answer": "it adds"}))
STEPS: dict[str, tuple[str, tuple[Said, ...]]] = {
    "asked once": ("openai:m@{}/v1", (ANSWER,)),
    "of Ollama": ("ollama:m@{}", (ANSWER,)),
    "asked twice": ("anthropic:m@{}", (Said(calls=[CALL]), Said("it adds"))),
    "asked twice by Google": ("google:m@{}", (Said(calls=[CALL]), Said("it adds"))),
}


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
async def test_AGT_15_the_tokens_that_are_told_are_those_of_the_wire(make_bench: Any, step: str) -> None:
    """Each request counts once, and the context is the longest of them."""
    bench: Bench = await make_bench()
    reference, answers = STEPS[step]
    with chat_server(*answers, owner="vllm") as server:
        result = await bench.ask("what does a.py do?", model=reference.format(server.url))
    assert (result.status, len(server.requests)) == ("completed", len(answers)), result
    prompt, answer = 11, 3  # the fake server reports these for each request
    assert result.usage.prompt_tokens == prompt * len(answers)
    assert result.usage.completion_tokens == answer * len(answers)
    (used,) = bench.of("usage")
    bar = Transcript(print, lambda: None, lambda: 80)
    bar.take(used)
    assert (used.context, bar.context) == (prompt, prompt)
    chat = Chat(bench.runtime, bench.settings, "s", lambda: "new")
    shown = (await run_command(chat, "/context")).text
    assert f"was sent {prompt:,} tokens at once" in shown
    assert f"took {prompt * len(answers):,} tokens in" in shown


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")
async def test_AGT_15_what_a_command_printed_is_told_once(make_bench: Any) -> None:
    bench: Bench = await make_bench()
    await bench.ask("run `printf '%s%s\\n' two -more`", model="built-in")
    lines = list[str]()
    chat = Transcript(lines.append, lambda: None, lambda: 80)
    for event in bench.events:
        chat.take(event)
    told = "\n".join(lines)
    assert (told.count("two-more"), told.count("ended with exit code 0")) == (1, 1), told


TAKES_NONE = [name for name, row in COMMANDS.items() if not row.takes]


async def test_AGT_15_words_that_a_command_does_not_take_are_an_error(chat: Chat) -> None:
    wrong = dict[str, object]()
    aliases = [name for name, means in ALIASES.items() if means in TAKES_NONE]
    for name, words in product([*TAKES_NONE, *aliases], ["x", "20", "--all", "a b"]):
        try:
            wrong[f"/{name} {words}"] = await run_command(chat, f"/{name} {words}")
        except NotUnderstood as error:
            if f"`/{name}` takes no words" not in str(error):
                wrong[f"/{name} {words}"] = error
    assert wrong == {}


@pytest.mark.parametrize("most", [1, 2, 3])
async def test_AGT_15_as_many_sessions_are_kept_as_are_set(make_bench: Any, most: int) -> None:
    bench: Bench = await make_bench({"text": "yes"}, count=most)
    for name in "abcd":
        await bench.ask("go", session=name)
    kept = bench.runtime.sessions.list()
    assert [each.session_id for each in kept] == ["d", "c", "b", "a"][:most]
    chat = Chat(bench.runtime, bench.settings, "d", lambda: "new")
    shown = (await run_command(chat, "/sessions")).text
    assert sum(line[:1].isdigit() for line in shown.splitlines()) == most, shown
    assert sum(isinstance(each, UserSaid) for each in bench.runtime.sessions.read(kept[0])) == kept[0].turns == 1


CUT = '{"write_file": "WRITE_FILE", "path": "b.py", "content": "'
LEFT_OFF = {
    "cut": (Said(CUT + "x = 1", reason="length"), "length", 3),
    "alike": (Said(CUT + "x = 1; " * 300), "alike", None),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", LEFT_OFF)
async def test_AGT_15_a_call_that_was_not_written_to_its_end_is_refused_and_counted(make_bench: Any, how: str) -> None:
    said, why, written = LEFT_OFF[how]
    bench: Bench = await make_bench()
    with chat_server(said, ANSWER, owner="vllm") as server:
        result = await bench.ask("write b.py", model=f"openai:m@{server.url}/v1")
    refused, *_ = bench.of("tool_result")
    assert (refused.ok, refused.error.code, result.final_output) == (False, "invalid_arguments", "it adds")
    (warned,) = bench.of("warning")
    assert ("token limit" in warned.message) is (why == "length")
    assert not (bench.workspace / "b.py").exists()
    first = bench.of("usage")[0].usage
    assert first.completion_tokens == written or (written is None and 100 < first.completion_tokens < 1_000)


@pytest.mark.parametrize("command", ["/status", "/policy"])
async def test_POL_03_what_is_in_force_is_told_by_its_files_and_the_version_comes_last(
    make_bench: Any, command: str
) -> None:
    rule = "version: 1\ncapabilities:\n  - { name: NAME, match: { syscall: fs.write, path_glob: [x] }, action: deny }\n"
    bench: Bench = await make_bench(policy=rule.replace("NAME", "mine"))
    (bench.workspace / ".remit").mkdir()
    (bench.workspace / ".remit" / "policy.yaml").write_text(rule.replace("NAME", "ours"))
    await bench.runtime.reload()
    chat = Chat(bench.runtime, bench.settings, "here", lambda: "new")
    now = bench.runtime.status()
    assert [str(bench.settings.person_policy) in each for each in now.policy_layers] == [False, True, False, False]
    assert ".remit/policy.yaml" in now.policy_layers[-1]
    (line,) = [each for each in (await run_command(chat, command)).text.splitlines() if now.policy in each]
    assert all(each in line for each in now.policy_layers)
    assert line.endswith(now.policy)
