"""What came out of the sandbox by the channel of a run's report: the report, held to its signatures, and coverage."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

_COVERAGE = b'{"coverage":'
"""How the line of a signed report begins that tells which lines ran."""
FORGED = "something other than the runner wrote to its report"


@dataclass(frozen=True, slots=True)
class Channel:
    """The report without signatures and the coverage report. `trouble` says why the report is not believed.

    `key` is the run's own, empty where another was told, or none before the run was ended.
    """

    report: bytes
    coverage: bytes
    trouble: str = ""
    key: bytes = b""


def read_channel(output: bytes, *, signed: bool) -> Channel:
    """Reads what the script of `run_tests` printed: zero, the key's digest, report, zero, key, zero, coverage, which is
    a line of the report where that is signed.

    The digest came before anything of the workspace ran, so that nothing there can end the script and name another key.
    Of a run that was ended before its script, nothing follows the report, and a signed one cannot be checked.
    """
    digest, _, begun = output.removeprefix(b"\0").partition(b"\n")
    before, _, coverage = begun.rpartition(b"\0")
    report, _, key = before.rpartition(b"\0")
    if not key:
        return Channel(b"" if signed else begun, b"")
    own = hashlib.sha256(key).hexdigest().encode() == digest
    if not signed:
        return Channel(report, coverage, key=key if own else b"")
    # Whatever follows the last end of a line was being written when all was stopped.
    lines = [line.partition(b" ") for line in report.split(b"\n")[:-1]]
    if not own or any(not _is_signed(key, at, signature, text) for at, (signature, _, text) in enumerate(lines)):
        return Channel(b"", b"", FORGED)
    told = [text for _, _, text in lines]
    measured = [text[len(_COVERAGE) : -1] for text in told if text.startswith(_COVERAGE)]
    results = b"".join(text + b"\n" for text in told if not text.startswith(_COVERAGE))
    return Channel(results, measured[-1] if measured else b"")


def _is_signed(key: bytes, at: int, signature: bytes, text: bytes) -> bool:
    return hmac.compare_digest(hmac.new(key, b"%d %s" % (at, text), "sha256").hexdigest().encode(), signature)
