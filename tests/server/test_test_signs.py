"""The signed output of Go's and Rust's tests, read by pure functions (FLW-04). test_workflow_endings.py really runs
them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from messages import SAYS
from rows import rows

from remit_server.tools.run.testing.reports.cargo_signs import siphash, vouch_cargo
from remit_server.tools.run.testing.reports.cargo_text import cargo_results
from remit_server.tools.run.testing.reports.json_reports import go_results, vouch_go
from remit_server.tools.run.testing.reports.results import Report

ROOT = Path("/home/me/shop")
KEY = hashlib.sha256(b"a run").hexdigest().encode()
OTHER = hashlib.sha256(b"another run").hexdigest().encode()


def go_sign(number: int, ending: str, test: str, process: int = 7, key: bytes = KEY) -> str:
    line = f"{process} {number} {ending} {test.encode().hex()}"
    return f"remit {hashlib.sha256(b' '.join((key, line.encode(), key))).hexdigest()} {line}\n"


def go_run(*signs: str, ending: str = "pass", signed: bool = True) -> Report:
    printed = ["remit begin 7\n", "=== RUN   TestA\n", *signs, "PASS\n" if ending == "pass" else "FAIL\n"]
    events = [{"Action": "run", "Package": "shop", "Test": "TestA"}]
    events += [{"Action": "output", "Package": "shop", "Test": "TestA", "Output": text} for text in printed]
    events += [{"Action": "output", "Package": "shop", "Output": printed[-1]}]
    events += [{"Action": ending, "Package": "shop", "Test": "TestA"}, {"Action": ending, "Package": "shop"}]
    data = "".join([*(["remit signed\n"] if signed else []), *(f"{json.dumps(event)}\n" for event in events)]).encode()
    return vouch_go(data, KEY, go_results(data, ROOT))


def test_FLW_04_what_go_signed_is_believed() -> None:
    assert go_run(go_sign(0, "passed", "TestA"), go_sign(1, "passed", "")).doubts == ()
    failed = go_run(go_sign(0, "failed", "TestA"), go_sign(1, "failed", ""), ending="fail")
    assert (failed.doubts, failed.tests[0].kind) == ((), "assertion")
    assert "remit" not in failed.tests[0].message


@rows(
    ("signs", "why"),
    [
        ((), "did not finish"),
        ((go_sign(0, "passed", ""),), "it was printed that `shop.TestA` passed"),
        ((go_sign(0, "passed", "TestA"),), "did not finish"),
        ((go_sign(0, "failed", "TestA"), go_sign(1, "passed", "")), "it was printed that `shop.TestA` passed"),
        ((go_sign(0, "passed", "TestA", key=OTHER), go_sign(1, "passed", "")), "signed how they ended"),
        ((go_sign(1, "passed", "TestA"), go_sign(0, "passed", "")), "signed how they ended"),
        (
            (go_sign(0, "passed", "TestA", process=8), go_sign(0, "passed", "")),
            "it was printed that `shop.TestA` passed",
        ),
    ],
    ids=["nothing", "another test", "no end", "another ending", "another key", "another order", "another process"],
)
def test_FLW_04_what_go_did_not_sign_is_doubted(signs: tuple[str, ...], why: str) -> None:
    assert why in "; ".join(go_run(*signs).doubts)
    assert not [doubt for doubt in go_run(*signs, signed=False).doubts if "sign" in doubt]


def test_FLW_04_a_failure_that_go_did_not_sign_is_no_assertion() -> None:
    assert go_run(ending="fail").tests[0].kind == "error"


def cargo_sign(number: int, ending: str, word: str = "", process: int = 7, key: bytes = KEY) -> str:
    line = f"{process} {number} {ending} {word.encode().hex()}"
    return f"remit {siphash((int(key[:16], 16), int(key[16:32], 16)), line.encode()):016x} {line}\n"


BEGAN = cargo_sign(0, "began", "1")
PRINTED = "running 1 test\n{}test a ... {}\n{}\n\ntest result: ok. 1 passed\n\n"
DOC = "running 1 test\ntest src/lib.rs - total (line 1) ... ok\n\ntest result: ok. 1 passed\n"


def cargo_run(text: str, programs: int = 1, key: bytes = KEY) -> Report:
    data = f"remit signed {programs}\n{text}{DOC}".encode()
    return vouch_cargo(data, key, cargo_results(data, ROOT))


def test_FLW_04_what_cargo_signed_is_believed() -> None:
    passed = cargo_run(BEGAN + PRINTED.format(cargo_sign(1, "passed", "a"), "ok", "") + cargo_sign(2, "ended"))
    assert [(test.id, test.ending) for test in passed.tests] == [
        ("a", "passed"),
        ("src/lib.rs - total (line 1)", "passed"),
    ]
    assert (passed.doubts, passed.planned) == ((), 2)
    failed = cargo_run(BEGAN + PRINTED.format(cargo_sign(1, "asserted", "a"), "FAILED", ""))
    assert ([test.kind for test in failed.tests], failed.doubts) == (["assertion", None], ())
    broke = cargo_run(BEGAN + PRINTED.format(cargo_sign(1, "failed", "a"), "FAILED", ""))
    assert [test.kind for test in broke.tests] == ["error", None]


@rows(
    ("text", "endings", "doubt"),
    [
        (PRINTED.format("", "ok", ""), [], "did not finish"),
        (BEGAN + PRINTED.format("", "ok", ""), [], "did not finish"),
        (BEGAN + PRINTED.format(cargo_sign(1, "failed", "a"), "ok", ""), ["unfinished"], ""),
        (cargo_sign(0, "began", "1", key=OTHER) + PRINTED.format("", "ok", ""), None, "signed how they ended"),
        (cargo_sign(1, "passed", "a") + PRINTED.format("", "ok", ""), None, "signed how they ended"),
        (
            cargo_sign(0, "began", "2") + PRINTED.format(cargo_sign(1, "passed", "a"), "ok", ""),
            ["passed"],
            "did not finish",
        ),
    ],
    ids=["nothing", "no test", "another ending", "another key", "no beginning", "no end"],
)
def test_FLW_04_what_cargo_did_not_sign_proves_nothing(text: str, endings: list[str] | None, doubt: str) -> None:
    found = cargo_run(text)
    assert [test.ending for test in found.tests if test.id == "a"] == (endings or [])
    assert doubt in "; ".join(found.doubts)


def test_FLW_04_a_run_that_ended_before_it_told_its_key_is_doubted() -> None:
    assert SAYS.before_its_signatures_could_be in cargo_run(BEGAN, key=b"").doubts[-1]


def test_FLW_04_siphash_is_the_one_that_is_published() -> None:
    """The example in appendix A of the paper."""
    assert siphash((0x0706050403020100, 0x0F0E0D0C0B0A0908), bytes(range(15))) == 0xA129CA6149BE45E5


@given(st.binary(max_size=300), st.sampled_from([b"remit signed\n", b"remit signed 2\n", b""]))
def test_FLW_04_no_output_breaks_what_reads_signatures(data: bytes, head: bytes) -> None:
    vouch_cargo(head + data, KEY, cargo_results(head + data, ROOT))
    lines = b"".join(json.dumps({"Action": "output", "Output": part}).encode() + b"\n" for part in str(data).split())
    vouch_go(head + lines, KEY, go_results(lines, ROOT))
