"""A day of work as it was recorded: code that was made faster must write the same bytes (AUD-02; SES-03)."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

from remit_governance.audit.record import Entry, chain_hash, read_content
from remit_governance.secrets.redaction import Redactor
from remit_server.sessions.session_file import parse_lines, to_lines

DAY = Path(__file__).parents[1] / "cases/recorded_day"
"""Seven turns of a scripted model: reads, writes, commands, refusals, a person's no, and secrets in all of them."""
SECRET = "AKIA" + "IOSFODNN7EXAMPLE"


def test_AUD_02_the_audit_records_of_a_day_are_written_byte_for_byte_as_before() -> None:
    rows = [json.loads(line) for line in (DAY / "audit.jsonl").read_text().splitlines()]
    assert len(rows) == 120
    for (_, _, before), (number, content, hash_) in pairwise(rows):
        read, timestamp, event = read_content(content)
        again = Entry.of(timestamp, event).content(read)
        assert (read, again) == (number, content.encode())
        assert chain_hash(before, again) == hash_


def test_SES_03_the_lines_of_a_session_are_written_byte_for_byte_as_before() -> None:
    data = (DAY / "session.jsonl").read_bytes()
    lines = parse_lines(data)
    assert (len(lines.records), lines.bad, lines.torn) == (141, (), 0)
    # Redacted text is not redacted again.
    assert to_lines(lines.records, Redactor().redact_json) == data


def test_SES_03_secrets_are_taken_out_where_they_stood() -> None:
    data = (DAY / "session.jsonl").read_bytes()
    assert SECRET.encode() not in data
    marked = data.replace(b"[redacted aws key]", SECRET.encode())
    assert marked != data
    assert to_lines(parse_lines(marked).records, Redactor().redact_json) == data
