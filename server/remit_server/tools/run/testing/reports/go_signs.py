"""What Go's own `testing` signed of a run: how each test ended, and that the program of tests came to its end (FLW-04).

`inside_go.sh` has it do so. Everything a program of tests prints comes after a line that names its process; what other
processes print there is not read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from remit_server.tools.run.testing.reports.results import Report, Result

_SIGNED = b"remit signed\n"
_BEGIN = re.compile(r"remit begin (\d+)\n")
_SIGN = re.compile(r"remit ([0-9a-f]{64}) ((\d+) (\d+) (passed|failed|skipped) ([0-9a-f]*))\n")
_ANY = re.compile(rf"{_BEGIN.pattern}|{_SIGN.pattern}")


def without_signs(text: str) -> str:
    """Returns what a program of tests printed for people."""
    return _ANY.sub("", text) if "remit " in text else text


def vouch_go(data: bytes, key: bytes, report: Report) -> Report:
    """Holds results to their signatures: what passed or was skipped without one is doubted, and what failed without one
    broke, by whatever it printed. A Go whose `testing` is not known signs nothing, and its output has to be whole.
    """
    if not data.startswith(_SIGNED):
        return report
    if not key:
        return replace(report, doubts=(*report.doubts, "it was ended before its signatures could be checked"))
    doubts: list[str] = []
    endings: dict[str, str] = {}
    for package, text in _printed(data):
        told = _read_signs(text, key)
        if told.is_forged:
            doubts.append(f"something other than the tests of `{package}` signed how they ended")
        elif not told.is_whole:
            doubts.append(f"the tests of `{package}` did not come to their end")
        endings |= {f"{package}.{test}": ending for test, ending in told.endings.items()}
    doubts += [
        f"that `{test.id}` {_WORDS[test.ending]} is printed, and the runner did not say so"
        for test in report.tests
        if test.ending in _WORDS and endings.get(test.id) != test.ending
    ]
    tests = tuple(_held_to(endings.get(test.id), test) for test in report.tests)
    return replace(report, tests=tests, doubts=tuple(dict.fromkeys((*report.doubts, *doubts))))


_WORDS = {"passed": "passed", "skipped": "was skipped"}


def _held_to(ending: str | None, test: Result) -> Result:
    return replace(test, kind="error") if test.ending == "failed" and ending != "failed" else test


@dataclass(frozen=True, slots=True)
class _Told:
    endings: dict[str, str]
    is_whole: bool
    is_forged: bool = False


def _printed(data: bytes) -> Iterator[tuple[str, str]]:
    """Yields what each program of tests printed, by its package."""
    printed: dict[str, list[str]] = {}
    for line in data.splitlines(keepends=True):
        if line.startswith(b"{") and line.endswith(b"\n"):
            event = cast("dict[str, Any]", json.loads(line))
            if event.get("Action") == "output":
                printed.setdefault(str(event.get("Package", "")), []).append(str(event.get("Output", "")))
    for package, parts in printed.items():
        text = "".join(parts)
        if _BEGIN.search(text) is not None:
            yield package, text


def _read_signs(text: str, key: bytes) -> _Told:
    begin = _BEGIN.search(text)
    assert begin is not None, "only a program that began is read"
    endings: dict[str, str] = {}
    ended = False
    own = (sign for sign in _SIGN.findall(text, begin.end()) if sign[2] == begin[1])
    for at, (signature, line, _, number, ending, name) in enumerate(own):
        expected = hashlib.sha256(b" ".join((key, line.encode(), key))).hexdigest()
        if int(number) != at or not hmac.compare_digest(signature, expected):
            return _Told({}, is_whole=False, is_forged=True)
        test = bytes.fromhex(name).decode(errors="replace")
        ended = ended or not test
        if endings.get(test) != "failed":
            endings[test] = ending
    return _Told(endings, ended)
