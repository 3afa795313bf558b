"""A command's output is shown while it runs, without any secret, in whatever pieces it comes (POL-11)."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from collections import Counter
from typing import Any

import pytest
from bench_runtime import call, intent
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import SAYS

from remit_governance.secrets.redaction import Redactor
from remit_governance.secrets.secret_shapes import key_body_begins
from remit_server.harness.commands import live_output
from remit_server.harness.commands.live_output import MAX_KEY_LINES, MAX_SHOWN, SHOWN_WHOLE, LiveOutput
from remit_server.sandbox.ports import StreamName

pytestmark = pytest.mark.slow

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")

POLICY = "capabilities:\n  - { name: run, match: { syscall: process.exec }, action: allow }\n"
TOKEN = "ghp_" + "a1B2" * 9
BODY = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + letter * 32 for letter in "abcdef"]
KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *BODY, "-----END RSA PRIVATE KEY-----"])


async def events_of(make_bench: Any, command: str) -> list[Any]:
    bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command="sh work.sh")]}, {"text": "ok"}, policy=POLICY
    )
    (bench.workspace / "work.sh").write_text(command)
    await bench.ask("go")
    return [event for event in bench.events if event.kind in {"tool_call", "tool_output", "tool_result"}]


@needs_bwrap
async def test_lines_are_shown_before_the_command_has_ended(make_bench: Any) -> None:
    events = await events_of(make_bench, "for n in 1 2 3; do echo line $n; sleep 0.3; done; echo last >&2")
    first, *shown, result = events
    assert (first.kind, result.kind) == ("tool_call", "tool_result")
    assert {event.kind for event in shown} == {"tool_output"}
    assert {event.tool_call_id for event in events} == {first.tool_call_id}
    assert "\n".join(event.text for event in shown).splitlines()[:3] == ["line 1", "line 2", "line 3"]
    assert len(shown) >= 3
    assert "line 3" in result.output


@pytest.mark.slow
@needs_bwrap
async def test_a_secret_that_comes_in_halves_is_not_shown(make_bench: Any) -> None:
    halves = f"printf {TOKEN[:9]}; sleep 0.6; printf {TOKEN[9:]}; echo; sleep 0.6"
    key = "; ".join(f"echo '{line}'; sleep 0.3" for line in KEY.splitlines())
    *shown, _ = await events_of(make_bench, f"{halves}; {key}; echo end; sleep 0.6")
    text = "\n".join(event.text for event in shown if event.kind == "tool_output")
    assert text.splitlines() == ["[redacted github token]", "[redacted private key]", "end"]


def test_SEC_04_a_line_of_a_key_is_not_shown_alone_and_a_certificate_is() -> None:
    """What is printed slowly is shown line by line."""
    lines = [f"MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYE{n:02d}\n" for n in range(3)]
    printed = live_output.PrintedLines()
    assert [printed.take(line.encode()) for line in lines] == [b"[redacted private key]\n"] * 3
    certificate = ["-----BEGIN CERTIFICATE-----\n", *lines, "-----END CERTIFICATE-----\n"]
    assert [printed.take(line.encode()).decode() for line in certificate] == certificate
    assert printed.take(lines[0].encode()) == b"[redacted private key]\n"


@pytest.mark.slow
@needs_bwrap
async def test_a_flood_is_shown_in_few_pieces(make_bench: Any) -> None:
    *shown, result = await events_of(make_bench, "yes some words | head -c 3000000")
    assert result.ok
    pieces = [event.text for event in shown if event.kind == "tool_output"]
    assert all(len(piece) <= SHOWN_WHOLE + 100 for piece in pieces)
    assert sum(map(len, pieces)) <= SHOWN_WHOLE + (MAX_SHOWN + 100) * len(pieces)
    assert len(pieces) < 100
    assert "some words" in "".join(pieces[-2:])  # `head` may cut the last line off
    assert " lines not shown ...]" in "".join(pieces)


@needs_bwrap
@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ("echo out; echo err >&2", ["err", "out"]),
        ("printf 'no line end'", ["no line end"]),
        ("echo before; exit 3", ["before"]),
        (f"echo {TOKEN}", ["[redacted github token]"]),
        ("seq 1 3000", [str(number) for number in range(1, 3001)]),
    ],
    ids=["both streams", "no line end", "failed", "secret", "many lines"],
)
async def test_all_that_a_short_command_prints_is_shown_before_its_result(
    make_bench: Any, work: str, expected: list[str]
) -> None:
    """The output of the last interval used to be lost, so that a command that ended at once showed nothing."""
    *shown, result = await events_of(make_bench, work)
    text = "\n".join(event.text for event in shown if event.kind == "tool_output")
    assert sorted(text.split("\n")) == sorted(expected)
    assert (result.kind, result.ok) == ("tool_result", True)


@needs_bwrap
async def test_what_a_stopped_command_has_printed_is_shown(make_bench: Any) -> None:
    bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command="echo begun; sleep 60", timeout=1)]},
        {"text": "ok"},
        policy=POLICY,
    )
    await bench.ask("go")
    assert [event.text for event in bench.of("tool_output")] == ["begun"]
    (result,) = bench.of("tool_result")
    assert "time limit" in result.summary


@needs_bwrap
async def test_what_is_said_of_a_command_besides_its_output_is_in_its_data(make_bench: Any) -> None:
    *_, result = await events_of(make_bench, "echo hi > new.txt")
    assert [note.startswith(SAYS.not_taken_over) for note in result.data["notes"]] == [True]
    assert result.output.endswith(result.data["notes"][0])
    *_, result = await events_of(make_bench, "true")
    assert "notes" not in result.data


def shown_of(chunks: list[bytes]) -> str:
    """Returns what is shown of chunks that come one after the other."""

    async def come() -> list[str]:
        shown: list[str] = []
        live = LiveOutput(shown.append, Redactor().redact)
        for chunk in chunks:
            live.feed("stdout", chunk)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        live.finish()
        return shown

    return "\n".join(asyncio.run(come()))


@pytest.mark.slow
@needs_bwrap
async def test_SEC_01_a_secret_is_found_whatever_the_other_stream_prints_meanwhile(make_bench: Any) -> None:
    """Both streams used to be read as one, so that text of the other stream split the secret, and both halves were
    shown."""
    halves = f"printf {TOKEN[:9]}; sleep 0.6; echo word >&2; sleep 0.6; printf {TOKEN[9:]}; echo; sleep 0.6"
    body = "; ".join(f"echo '{line}'; sleep 0.3; echo 'wait ...' >&2; sleep 0.3" for line in BODY[:3])
    *shown, _ = await events_of(make_bench, f"{halves}; {body}")
    lines = "\n".join(event.text for event in shown if event.kind == "tool_output").splitlines()
    assert lines[:2] == ["word", "[redacted github token]"]
    assert lines[2:] == ["[redacted private key]", *["wait ..."] * 3]


PIECES = st.lists(st.sampled_from([KEY, TOKEN, "plain", f"x={TOKEN};", "\r", "\n", "y" * 20_000]), max_size=8)


def test_no_half_of_a_secret_is_shown_where_a_line_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_output, "EVERY_S", 0.0)
    shown = shown_of([b"y" * 20_000 + TOKEN[:12].encode(), TOKEN[12:].encode() + b"\nnext\n"])
    assert shown == "[... a long line ...]\nnext"


def test_no_line_is_missing_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginning is shown whole; after that each piece says how many lines are left out."""
    whole = b"".join(b"%06d\n" % number for number in range(SHOWN_WHOLE // 7))
    more = b"".join(b"%06d\n" % number for number in range(100_000, 102_000))
    monkeypatch.setattr(live_output, "EVERY_S", 0.0)
    lines = shown_of([whole, more, b"end"]).split("\n")
    assert lines[: SHOWN_WHOLE // 7] == whole.decode().split()
    kept = [line for line in lines[SHOWN_WHOLE // 7 :] if line.isdigit()]
    assert f"[... {2_000 - len(kept):,} lines not shown ...]" in lines
    assert lines[-2:] == ["101999", "end"]


@settings(deadline=None)
@given(pieces=PIECES, cuts=st.lists(st.integers(0, 3_000), max_size=12))
def test_no_secret_is_shown_wherever_the_output_is_cut(pieces: list[str], cuts: list[int]) -> None:
    data, ends = "\n".join(pieces).encode(), sorted(cuts)
    chunks = [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]
    before, live_output.EVERY_S = live_output.EVERY_S, 0.0
    try:
        text = shown_of(chunks)
    finally:
        live_output.EVERY_S = before
    assert TOKEN not in text
    assert not any(line in text for line in BODY)


def test_what_is_for_programs_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_output, "EVERY_S", 0.0)
    assert shown_of([b"one\n", b"two\n\0{}\n", b"three\n"]) == "one\ntwo"


def test_what_follows_a_key_is_shown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_output, "EVERY_S", 0.0)
    assert shown_of([f"{KEY}\nafter\n".encode()]) == "[redacted private key]\nafter"
    assert "after" in shown_of([b"-----BEGIN PRIVATE KEY-----\n" + b"x\n" * 600 + b"after\n"])


FLOODS = {
    "two characters": "y\n",
    "carriage returns": "50%\r",
    "both ends": "y\r\n",
    "a key's body, then such lines": f"{BODY[0]}\n" + "y\n" * 30_000,
    "keys": f"{KEY}\n",
    "no line end": "y",
}


@pytest.mark.parametrize("unit", FLOODS.values(), ids=FLOODS)
def test_TOOL_03_a_flood_is_taken_in_few_steps_whatever_its_lines_are(unit: str) -> None:
    """Each line used to be a step of its own, so that 2 MB a second kept a processor busy and the editor waited."""
    chunk = (unit * (1 + 65_536 // len(unit))).encode()
    steps = Counter[str]()

    async def come() -> None:
        live = LiveOutput(lambda _: None, Redactor().redact)
        live.feed("stdout", chunk)
        sys.setprofile(lambda _frame, kind, _argument: steps.update([kind]))
        try:
            live.feed("stdout", chunk)
        finally:
            sys.setprofile(None)
        live.finish()

    asyncio.run(come())
    keys = chunk.count(b"PRIVATE KEY")
    assert steps["call"] + steps["c_call"] < 100 + 50 * keys


OF_BODY = re.compile(r"[ \t>+-]*(?:[0-9]+\|)?[A-Za-z0-9+/]+={0,2}[ \t]*")


def lines_to_show(lines: list[str]) -> list[str]:
    """Returns what should be shown of whole lines, found line by line."""
    shown, in_body, key_lines = list[str](), False, 0
    for line in lines:
        if in_body and OF_BODY.fullmatch(line):
            continue
        if key_lines:
            key_lines = 0 if "-----END " in line else (key_lines + 1) % MAX_KEY_LINES
            continue
        in_body = key_body_begins(line.encode())
        key_lines = int(not in_body and "PRIVATE KEY" in line and "-----END " not in line)
        shown.append("[redacted private key]" if in_body or key_lines else line)
    return shown


LINES = st.lists(
    st.sampled_from(
        [*KEY.splitlines(), BODY[0], "y", "", "plain text", "x -----END y", f"- {BODY[1]}", f"{BODY[2]} z", "AgE", "-"]
    ),
    max_size=60,
)


@settings(deadline=None)
@given(lines=LINES, cuts=st.lists(st.integers(0, 3_000), max_size=12))
def test_TOOL_03_the_same_lines_are_shown_wherever_the_output_is_cut(lines: list[str], cuts: list[int]) -> None:
    data, ends = "".join(f"{line}\n" for line in lines).encode(), sorted(cuts)

    async def come() -> list[str]:
        shown: list[str] = []
        live = LiveOutput(shown.append, lambda text: text)
        for start, end in zip([0, *ends], [*ends, len(data)], strict=True):
            live.feed("stdout", data[start:end])
        live.finish()
        return shown

    assert "\n".join(asyncio.run(come())) == "\n".join(lines_to_show(lines))


@settings(deadline=None)
@given(both=st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=30)), max_size=20))
def test_SEC_01_each_stream_has_lines_of_its_own(both: list[tuple[StreamName, bytes]]) -> None:
    """For each stream, the lines are the same as if only that stream were fed."""

    def shown_lines(fed: list[tuple[StreamName, bytes]]) -> Counter[str]:
        shown: list[str] = []

        async def come() -> None:
            live = LiveOutput(shown.append, lambda text: text)
            for stream, chunk in fed:
                live.feed(stream, chunk.replace(b"\0", b"\n"))
            live.finish()

        asyncio.run(come())
        return Counter("\n".join(shown).split("\n") if shown else [])

    alone = [shown_lines([each for each in both if each[0] == name]) for name in ("stdout", "stderr")]
    assert shown_lines(both) == alone[0] + alone[1]
