"""A signed checkpoint is one line, and can be written in only one way (AUD-01)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rows import rows

from remit_governance.audit.proof.checkpoint import Checkpoint, Signer, make, read_line, signature_holds
from remit_governance.audit.proof.checkpoint_file import Evidence, Lines, judge

KEY = bytes(range(32))
OURS = frozenset({Signer(KEY).key})
SAID = Checkpoint("log", 3, "head", 5, 6, "")


def test_a_checkpoint_is_one_line_that_reads_back() -> None:
    signed = make(SAID, Signer(KEY))
    assert b"\n" not in signed.line
    assert read_line(signed.line) == signed
    assert signature_holds(signed)
    assert make(SAID, Signer(KEY)) == signed


@given(st.integers(0, 500), st.integers(0, 7))
@example(154, 5)  # `b` becomes `B`, which is the same hexadecimal digit
def test_one_bit_of_a_line_never_passes(at: int, bit: int) -> None:
    line = make(SAID, Signer(KEY)).line
    at %= len(line)
    changed = line[:at] + bytes([line[at] ^ (1 << bit)]) + line[at + 1 :]
    try:
        signed = read_line(changed)
    except ValueError:
        return
    assert not signature_holds(signed) or signed.key not in OURS


@rows(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        make(SAID, Signer(KEY)).line + b" ",
        make(SAID, Signer(KEY)).line.replace(b'"count":3', b'"count":"3"'),
        make(SAID, Signer(KEY)).line.replace(b'"count":3', b'"count":3.0'),
        make(SAID, Signer(KEY)).line.replace(b'"count":3', b'"count":true'),
        make(SAID, Signer(KEY)).line.replace(b'"version":1', b'"version":2'),
        make(SAID, Signer(KEY)).line.replace(b'"count":3', b'"count":3,"count":3'),
    ],
)
def test_what_is_no_line_of_ours_is_not_read(line: bytes) -> None:
    with pytest.raises(ValueError, match="not a checkpoint"):
        read_line(line)


@given(st.binary(max_size=300))
def test_reading_a_checkpoint_file_never_fails(data: bytes) -> None:
    lines = Lines.read(data + b"\n")
    judgement = judge(lines, OURS, Evidence("log", 0, 3, {}))
    assert judgement.faults
