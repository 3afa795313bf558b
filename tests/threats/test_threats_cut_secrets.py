"""What is shortened lost its secrets before: half of a secret is recognised by nobody (SEC-01)."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench, call
from hypothesis import given
from hypothesis import strategies as st
from rows import rows
from threat_bench import LAX

from remit_governance.secrets.cutting import shorten, truncate
from remit_governance.secrets.redaction import Redactor
from remit_server.agent.context.condense import Room, condense
from remit_server.agent.context.conversation import Conversation
from remit_server.models.ports import AssistantMessage, Message, ProposedCall, SystemMessage, ToolMessage, UserMessage

KEYS = {
    "api key": "sk-proj-" + "a1B2" * 9,
    "github": "ghp_" + "a1B2" * 9,
    "google": "AIza" + "b2C" * 11 + "d4",
    "jwt": "eyJ" + "a1B2" * 5 + ".eyJ" + "c3D4" * 9 + "." + "e5F6" * 9,
    "password": "password=Zx9Kq2Lm7pQw8Er7",
    "of the environment": "Qw8Er7Ty6uIo5Pa4Sd3F",
}
LEAST_PART = 8
"""Characters of a secret that nobody may see in a row."""
ROOT = Path(__file__).parents[2]


def _shows_part(key: str, text: str) -> bool:
    secret = key.partition("=")[2] or key[8:] if key.startswith(("password", "eyJ")) else key[4:]
    return any(secret[n : n + LEAST_PART] in text for n in range(len(secret) - LEAST_PART + 1))


@rows("kind", KEYS)
def test_SEC_01_no_half_of_a_secret_is_left_wherever_the_cut_is(kind: str) -> None:
    key = KEYS[kind]
    reads = Redactor(secrets=[KEYS["of the environment"]])
    for before in range(130):
        text = f"{'word ' * (before // 5)}{'w' * (before % 5)} {key} and more {'words ' * 40}"
        assert not _shows_part(key, reads.redact(shorten(text, 120))), before
        assert not _shows_part(key, truncate(reads.redact(text), 120, "middle")), before


@given(st.text(max_size=200), st.integers(1, 210))
def test_SEC_01_a_shortened_text_keeps_to_its_limit_and_says_so(text: str, most: int) -> None:
    short = shorten(text, most)
    assert len(short) <= most
    assert short == text or short.endswith("…") or "[redacted" in short


def test_SEC_01_a_long_path_is_shortened_and_not_left_out() -> None:
    assert shorten("src/package_2/a/long/way/to/a/file_of_mine.py", 20) == "src/package_2/a/lon…"


@pytest.mark.parametrize("kind", KEYS)
def test_SEC_01_condensing_cuts_no_secret_in_two(kind: str) -> None:
    """Arguments, requests, results and answers are cut; what is sent is redacted only after that."""
    key, reads = KEYS[kind], Redactor(secrets=[KEYS["of the environment"]])
    for before in range(0, 400, 7):
        text = f"{'w ' * (before // 2)}{'w' * (before % 2)} {key} {'words ' * 200}"
        made = ProposedCall("1", "run_command", {"command": text})
        messages: list[Message] = [
            SystemMessage("rules"), UserMessage(text), AssistantMessage(text, (made,)),
            ToolMessage("1", "run_command", f"error denied: {text}"), UserMessage("and now"),
            AssistantMessage(text, (made,)), ToolMessage("1", "run_command", text),
        ]  # fmt: skip
        conversation = Conversation(messages)
        conversation.condensed = condense(conversation, text, Room(900, 700), reads.redact)
        sent = [reads.redact(message.text) for message in conversation.sent]
        sent += [
            reads.redact(str(each.arguments["command"]))
            for message in conversation.sent
            if isinstance(message, AssistantMessage)
            for each in message.calls
        ]
        assert not any(_shows_part(key, each) for each in sent), before


async def test_SEC_01_a_long_name_of_a_tool_is_redacted_before_it_is_cut(make_bench: Any) -> None:
    key = KEYS["google"]
    calls = [call(f"{'w' * before} {key}") for before in range(60, 100, 4)]
    bench: Bench = await make_bench({"calls": calls}, {"text": "done"}, policy=LAX)
    await bench.ask("go")
    seen = json.dumps([e.model_dump(mode="json") for e in bench.events]) + json.dumps([r.json() for r in bench.audit()])
    assert not _shows_part(key, seen)


BY_HAND = {
    "cli": "a person's own words in their own terminal",
    "models/local/host": "the process of the model, which has no redactor",
    "models/built_in": "texts that are read and not shown",
    "extensions/program.py": "the process of a person's rules, on the standard library alone",
    "tools/code/language_server/inside_client.py": "a program in the sandbox, on the standard library alone",
    "tools/mcp/inside_mcp.py": "a program in the sandbox, on the standard library alone",
    "tools/web/inside_fetch.py": "a program in the sandbox, on the standard library alone",
    "tools/code": "lines of files that are redacted",
    "tools/edit/near_miss.py": "lines of files that are redacted",
    "tools/files/read_file.py": "lines of files that are redacted",
    "tools/search": "lines of files that are redacted, and the pattern of a search",
    "sandbox/network/client_hello.py": "names of hosts",
    "hooks/records/kept_sessions.py": "names of files",
    "harness/turn.py": "the ids of calls",
    "transports": "what a client sent, told to this client",
    "policy/editing": "the words of the policy language",
    "policy/language/policy_form.py": "the globs of a policy",
}
"""Places where a text is cut by hand, and why no secret is parted there."""


def _cut_by_hand(tree: ast.AST) -> Iterator[int]:
    """Yields the lines in which a text is cut to a length: within an f-string, or where it is made."""
    quoted = {id(part) for each in ast.walk(tree) if isinstance(each, ast.FormattedValue) for part in ast.walk(each)}
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=text, slice=ast.Slice(lower=None, upper=length)) if _is_length(length):
                if id(node) in quoted or _is_text(text):
                    yield node.lineno
            case _:
                pass


def _is_length(node: ast.AST | None) -> bool:
    match node:
        case ast.Constant(value=int(length)):
            return length >= 20
        case ast.Name(id=name):
            return name.isupper() and "MOST_NAMED" not in name and not name.endswith(("BYTES", "FILES"))
        case ast.BinOp(left=left, right=right):
            return _is_length(left) or _is_length(right)
        case _:
            return False


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.JoinedStr() | ast.Call(func=ast.Name(id="str" | "repr" | "visible")):
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in {"strip", "lstrip", "rstrip", "join", "decode", "dumps", "redact"}
        case _:
            return False


def test_SEC_01_no_text_is_cut_by_hand() -> None:
    found: list[str] = []
    for package in (ROOT / "server/remit_server", ROOT / "governance/remit_governance"):
        for file in sorted(package.rglob("*.py")):
            path = file.relative_to(package).as_posix()
            if not any(path == place or path.startswith(f"{place}/") for place in BY_HAND):
                found += [f"{path}:{line}" for line in _cut_by_hand(ast.parse(file.read_text()))]
    assert found == [], "use `shorten` or `truncate` (remit_governance/secrets/cutting.py)"
