"""The 25 correctness properties of the gateway (GW-01), each tested with the real process and a real model.

If a property is about what the model sees, the model has random weights and a template that shows it everything, so
that the token count in the log is exactly that of the seed's prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from examples import examples
from gateway_process import GatewayProcess
from hypothesis import given, settings
from hypothesis import strategies as st
from random_model import BPE, kept_model
from tokenizers import Tokenizer

pytestmark = [pytest.mark.model, pytest.mark.slow]

PREFIX = "[IntelligenceKit]"
HUNDRED = settings(max_examples=examples(100), deadline=None)
NOWHERE = "00000000-0000-0000-0000-000000000000"

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
plain = st.text("abcdefghij éß漢\n.", min_size=1, max_size=40)
formats = st.sampled_from(["text", "string_list"])
unknown_formats = st.one_of(
    words.filter(lambda name: name not in {"text", "string_list"}), st.integers(), st.booleans(), st.lists(words)
)


def message(session: str, prompt: str = "say", content: str = "this", wanted: Any = "text") -> dict[str, Any]:
    return {"command": "message", "session_id": session, "prompt": prompt, "content": content, "output_format": wanted}


def error(code: str) -> dict[str, Any]:
    return {"ok": False, "error": code}


def is_error(answer: dict[str, Any]) -> bool:
    return set(answer) == {"ok", "error"} and answer["ok"] is False and bool(answer["error"])


def is_text(answer: dict[str, Any]) -> bool:
    return set(answer) == {"ok", "result"} and answer["ok"] is True and isinstance(answer["result"], str)


def is_list(answer: dict[str, Any]) -> bool:
    items = answer.get("result")
    return answer == {"ok": True, "result": items} and isinstance(items, list) and all(type(i) is str for i in items)


@dataclass(frozen=True)
class Step:
    """A line, and the name of the answer that it gets if it is sent alone."""

    line: bytes
    gets: str


ANSWERS = {
    "opened": lambda a: set(a) == {"ok", "session_id"} and a["ok"] is True,
    "available": lambda a: a == {"ok": True, "available": True},
    "text": is_text,
    "list": is_list,
}


def answers(step: Step, answer: dict[str, Any]) -> bool:
    known = ANSWERS.get(step.gets)
    return known(answer) if known else answer == error(step.gets)


def request(gets: str, **fields: Any) -> Step:
    return Step(json.dumps(fields).encode(), gets)


def steps(session: str) -> st.SearchStrategy[Step]:
    """Lines of every kind, of which few ask the model."""
    valid = st.one_of(
        st.builds(lambda text: request("opened", command="open-session", instructions=text), words),
        st.just(request("available", command="check-availability")),
        st.builds(lambda p, c: request("text", **message(session, p, c)), words, words),
        st.builds(lambda p, c: request("list", **message(session, p, c, "string_list")), words, words),
    )
    return st.one_of(valid, wrong(session))


def wrong(session: str) -> st.SearchStrategy[Step]:
    return st.one_of(
        st.builds(lambda data: Step(b"{" + data.replace(b"\n", b""), "invalid_json"), st.binary(max_size=20)),
        st.builds(lambda name: request("unknown_command", command=f"{name}?"), words),
        st.builds(lambda text: request("command_required", prompt=text), words),
        st.builds(lambda text: request("session_not_found", **message(f"no {text}")), words),
        st.builds(lambda text: request("session_not_found", command="close-session", session_id=f"no {text}"), words),
        st.just(request("session_id_required", command="close-session")),
        st.just(request("prompt_required", **message(session, prompt=""))),
        st.just(request("content_required", **message(session, content=""))),
        st.builds(lambda name: request("unknown_output_format", **message(session, wanted=name)), unknown_formats),
    ).filter(lambda step: step.gets != "invalid_json" or not is_json(step.line))


def is_json(line: bytes) -> bool:
    try:
        json.loads(line.decode("utf-8"))
    except ValueError:
        return False
    return True


def alive(gateway: GatewayProcess) -> None:
    """Asserts that a valid request gets the next answer, so that no answer is left over and the server works."""
    assert gateway.ask({"command": "check-availability"}) == {"ok": True, "available": True}
    assert gateway.quiet()


@pytest.fixture(scope="module")
def session(gateway: GatewayProcess) -> str:
    return gateway.open()


@given(data=st.data())
@HUNDRED
def test_IK_01_one_response_per_request(gateway: GatewayProcess, session: str, data: st.DataObject) -> None:
    step = data.draw(steps(session))
    gateway.send_bytes(step.line + b"\n")
    assert answers(step, gateway.answer())
    alive(gateway)


@given(data=st.data())
@HUNDRED
def test_IK_02_responses_come_in_the_order_of_requests(
    gateway: GatewayProcess, session: str, data: st.DataObject
) -> None:
    """The requests are sent in one write, and each answer is recognised by its request's marker."""
    sent = data.draw(st.lists(steps(session), min_size=2, max_size=6))
    gateway.send_bytes(b"".join(step.line + b"\n" for step in sent))
    for step in sent:
        assert answers(step, gateway.answer())
    assert gateway.quiet()


@given(data=st.data())
@HUNDRED
def test_IK_03_every_response_is_one_line_of_json(gateway: GatewayProcess, session: str, data: st.DataObject) -> None:
    """`strict_json` checks each line of standard output, and fails on anything else."""
    garbage = st.binary(min_size=1, max_size=200).map(lambda b: Step(b.replace(b"\n", b"?") + b"!", "invalid_json"))
    sent = data.draw(st.lists(st.one_of(garbage, steps(session)), min_size=1, max_size=4))
    gateway.send_bytes(b"".join(step.line + b"\n" for step in sent))
    for step in sent:
        line = gateway.line()
        assert line == json.dumps(json.loads(line), separators=(",", ":")).encode() + b"\n"
        assert answers(step, json.loads(line))
    alive(gateway)


valid_lines = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
).map(lambda value: json.dumps({"command": "open-session", "x": value}, ensure_ascii=False).encode())


@st.composite
def invalid_json(draw: st.DrawFn) -> bytes:
    """Draws valid lines that are cut off or have a byte added or changed, and random bytes."""
    line = draw(valid_lines)
    place = draw(st.integers(0, len(line) - 1))
    byte = draw(st.binary(min_size=1, max_size=1))
    broken = draw(
        st.sampled_from([line[:place], line[:place] + byte + line[place:], line[:place] + byte + line[place + 1 :]])
        | st.binary(max_size=60)
    )
    return broken.replace(b"\n", b" ")


@given(line=invalid_json().filter(lambda line: line.strip(b"\r") and not is_json(line)))
@HUNDRED
def test_IK_04_invalid_json_is_answered_and_the_next_message_processed(gateway: GatewayProcess, line: bytes) -> None:
    gateway.send_bytes(line + b"\n")
    assert gateway.answer() == error("invalid_json")
    alive(gateway)


@given(data=st.data())
@HUNDRED
def test_IK_05_empty_lines_get_no_response(gateway: GatewayProcess, session: str, data: st.DataObject) -> None:
    empty = st.lists(st.sampled_from([b"\n", b"\r\n"]), max_size=4).map(b"".join)
    sent = data.draw(st.lists(st.tuples(empty, wrong(session)), min_size=1, max_size=5))
    gateway.send_bytes(b"".join(before + step.line + b"\n" for before, step in sent) + data.draw(empty))
    for _, step in sent:
        assert answers(step, gateway.answer())
    alive(gateway)


@given(fields=st.dictionaries(words.filter(lambda name: name != "command"), st.none() | words, max_size=4))
@HUNDRED
def test_IK_06_a_request_without_command_is_an_error(gateway: GatewayProcess, fields: dict[str, Any]) -> None:
    fields.pop("request_id", None)
    assert gateway.ask(fields) == error("command_required")
    assert gateway.ask({**fields, "command": None}) == error("command_required")


SEEN: set[str] = set()


@given(count=st.integers(1, 5))
@HUNDRED
def test_IK_07_session_ids_are_unique(gateway: GatewayProcess, count: int) -> None:
    """In all examples together, and also after sessions were closed."""
    gateway.send(*[{"command": "open-session"}] * count)
    new = [gateway.answer()["session_id"] for _ in range(count)]
    assert len({*SEEN, *new}) == len(SEEN) + count
    SEEN.update(new)
    for each in new:
        gateway.close(each)


@given(first=st.lists(plain, min_size=1, max_size=3), second=st.lists(plain, min_size=1, max_size=3), data=st.data())
@HUNDRED
def test_IK_08_sessions_are_independent(
    reader: GatewayProcess, first: list[str], second: list[str], data: st.DataObject
) -> None:
    """A session gives the same answers beside another one as alone, also after the other one was closed."""
    alone = _conversation(reader, first)
    one, other = reader.open(), reader.open()
    beside = []
    rest = list(second)
    for content in first:
        for each in rest[: data.draw(st.integers(0, len(rest)))]:
            assert is_text(reader.ask(message(other, "other", each)))
            rest.remove(each)
        beside.append(reader.ask(message(one, "say", content)))
        if not rest and other:
            reader.close(other)
            other = ""
    assert beside == alone
    for each in filter(None, (one, other)):
        reader.close(each)


def _conversation(reader: GatewayProcess, contents: list[str]) -> list[dict[str, Any]]:
    session = reader.open()
    said = [reader.ask(message(session, "say", content)) for content in contents]
    assert all(map(is_text, said))
    reader.close(session)
    return said


@given(name=st.uuids().map(str) | words, wanted=formats | unknown_formats)
@HUNDRED
def test_IK_09_an_unknown_session_is_not_found(gateway: GatewayProcess, name: str, wanted: Any) -> None:
    assert gateway.ask(message(name, wanted=wanted)) == error("session_not_found")
    assert gateway.ask({"command": "close-session", "session_id": name}) == error("session_not_found")


@given(content=words, wanted=formats)
@HUNDRED
def test_IK_10_a_closed_session_is_not_found(gateway: GatewayProcess, content: str, wanted: str) -> None:
    session = gateway.open()
    assert gateway.ask(message(session, "say", content, wanted))["ok"] is True
    gateway.close(session)
    assert gateway.ask(message(session, "say", content, wanted)) == error("session_not_found")


@pytest.fixture(scope="module")
def hasty() -> Iterator[GatewayProcess]:
    """A gateway that closes sessions as soon as they are idle for a moment."""
    with GatewayProcess("--model", kept_model(), "--idle-timeout", "0.03", "--idle-check", "0.01") as process:
        yield process


@given(count=st.integers(1, 4), wanted=formats)
@HUNDRED
def test_IK_11_idle_sessions_are_closed(hasty: GatewayProcess, count: int, wanted: str) -> None:
    """With a short time-out; test_sessions_are_idle_after_their_time_only tests that none is closed too early."""
    hasty.send(*[{"command": "open-session"}] * count)
    for session in [hasty.answer()["session_id"] for _ in range(count)]:
        hasty.logged(f"Warning: Session {session} idle timeout")
        assert hasty.ask(message(session, wanted=wanted)) == error("session_not_found")


@given(instructions=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=300), given_=st.booleans())
@HUNDRED
def test_IK_12_instructions_are_optional(gateway: GatewayProcess, instructions: str | None, given_: bool) -> None:
    session = gateway.open(**({"instructions": instructions} if given_ else {}))
    gateway.close(session)


REQUIRED = ("session_id", "prompt", "content", "output_format")


@given(missing=st.sets(st.sampled_from(REQUIRED), min_size=1), null=st.booleans(), content=words)
@HUNDRED
def test_IK_13_each_field_of_a_message_is_required(
    gateway: GatewayProcess, session: str, missing: set[str], null: bool, content: str
) -> None:
    """If several fields are missing, the first one is named."""
    sent = {name: value for name, value in message(session, "say", content).items() if name not in missing}
    expected = next(name for name in REQUIRED if name in missing)
    assert gateway.ask({**sent, **(dict.fromkeys(missing) if null else {})}) == error(f"{expected}_required")


@given(prompt=words, content=words)
@HUNDRED
def test_IK_14_the_result_has_the_structure_of_its_format(gateway: GatewayProcess, prompt: str, content: str) -> None:
    """Constrained decoding ensures it, even if the token limit cuts the answer off, as here."""
    session = gateway.open()
    assert is_text(gateway.ask(message(session, prompt, content, "text")))
    assert is_list(gateway.ask(message(session, prompt, content, "string_list")))
    gateway.close(session)


@given(wanted=unknown_formats)
@HUNDRED
def test_IK_15_an_unknown_output_format_is_an_error(gateway: GatewayProcess, session: str, wanted: Any) -> None:
    assert gateway.ask(message(session, wanted=wanted)) == error("unknown_output_format")


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(BPE))


def prompt_tokens(prompt: str, content: str) -> int:
    """Returns the number of tokens of a session's first message, assembled as the seed says (GW-01)."""
    told = f"{prompt}\n\nContent:\n{content}"
    text = f"<|user|>You are a helpful assistant.<|end|><|user|>{told}<|end|><|assistant|>"
    return len(tokenizer().encode(text, add_special_tokens=False).ids)


def seen(reader: GatewayProcess, prompt: str, content: str) -> tuple[dict[str, Any], int]:
    """Returns the answer to a session's first message, and the number of tokens that the model got."""
    session = reader.open()
    answer = reader.ask(message(session, prompt, content))
    found = reader.logged(rf"Message processed: session={session}.* prompt_tokens=(\d+)")
    reader.close(session)
    return answer, int(found[1])


@st.composite
def long_content(draw: st.DrawFn, characters: int) -> str:
    """Draws a text of this length, with characters of one and of more bytes."""
    piece = draw(st.text("abc defgé漢😀\n", min_size=5, max_size=30))
    return (piece * (characters // len(piece) + 1))[:characters]


@given(content=long_content(10_000), extra=st.text("xyz é😀", max_size=3_000), prompt=plain)
@HUNDRED
def test_IK_16_content_is_cut_at_ten_thousand_characters(
    reader: GatewayProcess, content: str, extra: str, prompt: str
) -> None:
    """The model gets exactly the tokens of the first 10,000 characters, and its answer is the same as for them."""
    answer, tokens = seen(reader, prompt, content + "漢" + extra)
    assert tokens == prompt_tokens(prompt, content)
    assert tokens < prompt_tokens(prompt, content + "漢" + extra)
    assert answer == seen(reader, prompt, content)[0]


@given(prompt=plain, content=plain)
@HUNDRED
def test_IK_17_the_model_is_shown_prompt_and_content(reader: GatewayProcess, prompt: str, content: str) -> None:
    """Token for token: the session's instructions, the prompt, an empty line, `Content:` and the content."""
    answer, tokens = seen(reader, prompt, content)
    assert is_text(answer)
    assert tokens == prompt_tokens(prompt, content)


@given(data=st.data())
@HUNDRED
def test_IK_18_every_error_has_the_same_structure(gateway: GatewayProcess, session: str, data: st.DataObject) -> None:
    step = data.draw(wrong(session))
    gateway.send_bytes(step.line + b"\n")
    answer = gateway.answer()
    assert is_error(answer)
    assert answer["error"] == step.gets


@given(content=plain, length=st.integers(1_500, 12_000), first=st.booleans())
@HUNDRED
def test_IK_19_a_session_survives_an_error_in_it(
    narrow: GatewayProcess, content: str, length: int, first: bool
) -> None:
    """A local model has no guardrail, so the error is a message that is longer than the model can read."""
    session = narrow.open()
    if first:
        assert is_text(narrow.ask(message(session, "say", content)))
    failed = narrow.ask(message(session, "say", "漢" * length))
    assert is_error(failed)
    assert failed["error"].startswith("execution_failed: the conversation does not fit the model")
    assert is_text(narrow.ask(message(session, "say", content)))
    narrow.close(session)


@pytest.fixture(scope="module")
def drop_in() -> Iterator[GatewayProcess]:
    """A gateway with the seed's own log prefix."""
    with GatewayProcess("--model", kept_model(), "--max-tokens", "8", "--log-prefix", PREFIX) as process:
        yield process


@given(data=st.data())
@HUNDRED
def test_IK_20_errors_are_logged_with_the_prefix(drop_in: GatewayProcess, data: st.DataObject) -> None:
    """Each line of the log begins with the prefix, even if a client sends line ends in JSON strings."""
    forged = st.just(request("session_not_found", **message("x\n[forged] line\r\u2028\u0085 y")))
    step = data.draw(wrong(NOWHERE).filter(lambda s: s.gets != "unknown_output_format") | forged)
    since = len(drop_in.log)
    drop_in.send_bytes(step.line + b"\n")
    answer = drop_in.answer()
    assert is_error(answer)
    drop_in.logged(f"^{PREFIX.replace('[', chr(92) + '[')} Error: {answer['error']}", since)
    assert all(line.startswith(f"{PREFIX} ") and len(line.splitlines()) == 1 for line in drop_in.log)


@given(data=st.data())
@HUNDRED
def test_IK_21_the_server_goes_on_whatever_comes(gateway: GatewayProcess, session: str, data: st.DataObject) -> None:
    sent = data.draw(st.lists(steps(session), min_size=1, max_size=5))
    gateway.send_bytes(b"".join(step.line + b"\n" for step in sent))
    assert [step for step in sent if not answers(step, gateway.answer())] == []
    alive(gateway)
    assert gateway.process.poll() is None


@given(instructions=words, contents=st.lists(words, min_size=1, max_size=2), wanted=formats)
@HUNDRED
def test_IK_22_a_session_from_open_to_close(
    gateway: GatewayProcess, instructions: str, contents: list[str], wanted: str
) -> None:
    session = gateway.open(instructions=instructions)
    for content in contents:
        assert gateway.ask(message(session, "say", content, wanted))["ok"] is True
    gateway.close(session)
    assert gateway.ask(message(session, "say", contents[0], wanted)) == error("session_not_found")


@given(content=words, wanted=formats | unknown_formats, open_=st.booleans())
@HUNDRED
def test_IK_23_an_empty_prompt_is_rejected(
    gateway: GatewayProcess, session: str, content: str, wanted: Any, open_: bool
) -> None:
    sent = message(session if open_ else NOWHERE, "", content, wanted)
    assert gateway.ask(sent) == error("prompt_required")


@given(prompt=words, wanted=formats | unknown_formats, open_=st.booleans())
@HUNDRED
def test_IK_24_an_empty_content_is_rejected(
    gateway: GatewayProcess, session: str, prompt: str, wanted: Any, open_: bool
) -> None:
    sent = message(session if open_ else NOWHERE, prompt, "", wanted)
    assert gateway.ask(sent) == error("content_required")


@given(content=long_content(9_999), last=st.sampled_from("é漢😀"), prompt=plain)
@HUNDRED
def test_IK_25_ten_thousand_characters_are_not_cut(
    reader: GatewayProcess, content: str, last: str, prompt: str
) -> None:
    """The last character reaches the model: it gets the tokens of all 10,000, which are more than those of 9,999."""
    answer, tokens = seen(reader, prompt, content + last)
    assert is_text(answer)
    assert tokens == prompt_tokens(prompt, content + last)
    assert tokens > prompt_tokens(prompt, content)
