"""Reads the output of a test run in the sandbox: the report, checked against its signatures, and the coverage."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

_COVERAGE = b'{"coverage":'
"""The start of the line in a signed report that holds the coverage."""
FORGED = "something other than the runner wrote to its report"


@dataclass(frozen=True, slots=True)
class Channel:
    """The report without signatures, and the coverage report. `trouble` says why the report is not believed.

    `key` is the run's key; it is empty if the printed key is not the run's own, or if the run was stopped before it.
    """

    report: bytes
    coverage: bytes
    trouble: str = ""
    key: bytes = b""


def read_channel(output: bytes, *, signed: bool) -> Channel:
    """Reads the output of the script of `run_tests`: zero, the key's digest, report, zero, key, zero, coverage. If the
    report is signed, the coverage is one of its lines.

    The digest is printed before anything of the workspace runs, so that no test can end the script and print another
    key. If the run was stopped before the script ended, nothing follows the report, and a signed report cannot be
    checked.
    """
    digest, _, begun = output.removeprefix(b"\0").partition(b"\n")
    before, _, coverage = begun.rpartition(b"\0")
    report, _, key = before.rpartition(b"\0")
    if not key:
        return Channel(b"" if signed else begun, b"")
    own = hashlib.sha256(key).hexdigest().encode() == digest
    if not signed:
        return Channel(report, coverage, key=key if own else b"")
    # Text after the last line end was being written when the run was stopped.
    lines = [line.partition(b" ") for line in report.split(b"\n")[:-1]]
    if not own or any(not _is_signed(key, at, signature, text) for at, (signature, _, text) in enumerate(lines)):
        return Channel(b"", b"", FORGED)
    told = [text for _, _, text in lines]
    measured = [text[len(_COVERAGE) : -1] for text in told if text.startswith(_COVERAGE)]
    results = b"".join(text + b"\n" for text in told if not text.startswith(_COVERAGE))
    return Channel(results, measured[-1] if measured else b"")


def _is_signed(key: bytes, at: int, signature: bytes, text: bytes) -> bool:
    return hmac.compare_digest(hmac.new(key, b"%d %s" % (at, text), "sha256").hexdigest().encode(), signature)
