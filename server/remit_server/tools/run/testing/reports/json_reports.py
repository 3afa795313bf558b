"""Reads JSON reports: that of Jest and Vitest, which write the same form, and that of `go test -json`.

`inside_go.sh` makes Go's own `testing` sign how each test ended, and that the test program came to its end (FLW-04). A
test program's output counts from the line that names its process; signatures from other processes are ignored.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, Field, ValidationError

from remit_server.tools.run.command_parts import without_colours
from remit_server.tools.run.testing.reports.results import (
    BadReport,
    Ending,
    Kind,
    Report,
    ReportForm,
    Result,
    first_lines,
)

_SIGNED = b"remit signed\n"
_BEGIN = re.compile(r"remit begin (\d+)\n")
_SIGN = re.compile(r"remit ([0-9a-f]{64}) ((\d+) (\d+) (passed|failed|skipped) ([0-9a-f]*))\n")
_ANY = re.compile(rf"{_BEGIN.pattern}|{_SIGN.pattern}")


def without_signs(text: str) -> str:
    """Returns the output of a test program without the lines for signatures."""
    return _ANY.sub("", text) if "remit " in text else text


def vouch_go(data: bytes, key: bytes, report: Report) -> Report:
    """Checks results against their signatures. A test that passed or was skipped without a signature is doubted; a
    failure without one is an error, whatever was printed. A Go whose `testing` is unknown
    signs nothing, and `go_results` only checks that its output is whole.
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
            doubts.append(f"the tests of `{package}` did not finish")
        endings |= {f"{package}.{test}": ending for test, ending in told.endings.items()}
    doubts += [
        f"it was printed that `{test.id}` {_WORDS[test.ending]}, but the runner did not say so"
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
    """Yields the package and the output of each test program."""
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


_ENDINGS: dict[str, Ending] = {"passed": "passed", "failed": "failed", "pass": "passed", "fail": "failed"}
_JS_PLACE = re.compile(r"(/[^\s():]+):(\d+):\d+")
_JS_ASSERTION = re.compile(r"AssertionError|expect\(|\bassert(?:\.\w+)?\(|ERR_ASSERTION")
_GO_PLACE = re.compile(r"^\s*(\S+\.go):(\d+)", re.MULTILINE)


F = TypeVar("F", bound=BaseModel)


class _JestTest(ReportForm):
    ancestors: list[str] = Field(default=[], alias="ancestorTitles")
    title: str
    status: str
    duration: float | None = None
    failures: list[str] | None = Field(default=None, alias="failureMessages")


class _JestFile(ReportForm):
    name: str
    status: str = ""
    message: str = ""
    tests: list[_JestTest] = Field(default=[], alias="assertionResults")


class _Jest(ReportForm):
    files: list[_JestFile] = Field(alias="testResults")


class _Event(ReportForm):
    action: str = Field(alias="Action")
    package: str = Field(default="", alias="Package")
    test: str = Field(default="", alias="Test")
    elapsed: float | None = Field(default=None, alias="Elapsed")
    output: str = Field(default="", alias="Output")
    import_path: str = Field(default="", alias="ImportPath")


def jest_results(data: bytes, root: Path) -> Report:
    """Returns the results of Jest or Vitest. Raises BadReport."""
    results: list[Result] = []
    for file in _read(_Jest, data).files:
        name = file.name.removeprefix(f"{root}/")
        results += [_jest_test(name, test, root) for test in file.tests]
        if file.status == "failed" and not file.tests:
            results.append(Result(name, "error", None, "error", first_lines(without_colours(file.message)), name))
    return Report(tuple(results))


def _jest_test(file: str, test: _JestTest, root: Path) -> Result:
    test_id = " > ".join((file, *test.ancestors, test.title))
    ending = _ENDINGS.get(test.status, "skipped")
    seconds = None if test.duration is None else test.duration / 1000
    if ending != "failed":
        return Result(test_id, ending, seconds, file=file)
    text = without_colours("\n".join(test.failures or []))
    places = [(path.removeprefix(f"{root}/"), int(line)) for path, line in _JS_PLACE.findall(text)]
    own = next((place for place in places if place[0] == file), None)
    kind: Kind = "assertion" if _JS_ASSERTION.search(text.partition("\n    at ")[0]) else "error"
    said = first_lines("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("at ")))
    return Result(test_id, "failed", seconds, kind, said, file, own[1] if own else None)


def go_results(data: bytes, root: Path) -> Report:
    """Returns the results of `go test -json`; a package that fails without a failed test is an error. Raises
    BadReport."""
    del root
    printed: dict[str, list[str]] = {}
    results: dict[str, Result] = {}
    ran: set[str] = set()
    ended: set[str] = set()
    for line in data.splitlines(keepends=True):
        # The last line may have been cut off.
        if not (line.startswith(b"{") and line.endswith(b"\n")):
            continue
        event = _read(_Event, line)
        name = event.package or event.import_path.partition(" ")[0]
        test_id = f"{name}.{event.test}" if event.test else name
        if event.action == "run":
            results[test_id] = Result(test_id, "unfinished")
            ran.add(name)
        elif event.action in {"output", "build-output"}:
            printed.setdefault(test_id, []).append(without_signs(event.output))
        elif event.action in {"pass", "fail", "skip"} and event.test:
            results[test_id] = _go_test(test_id, event, "".join(printed.get(test_id, [])))
        elif event.action in {"fail", "build-fail"} and not _has_failed(name, results):
            said = "".join(printed.get(name, []))
            results[name] = _place(Result(name, "error", None, "error", first_lines(said)), said)
        if event.action in {"pass", "fail"} and not event.test:
            ended.add(name)
    # A package prints PASS or FAIL once all its tests are over. Without that, a test ended the program, and may have
    # printed the rest itself.
    cut = sorted(name for name in ran if name not in ended or not ({"PASS\n", "FAIL\n"} & {*printed.get(name, [])}))
    return Report(tuple(results.values()), doubts=tuple(f"the tests of `{name}` did not finish" for name in cut))


def _go_test(test_id: str, event: _Event, printed: str) -> Result:
    ending = _ENDINGS.get(event.action, "skipped")
    if ending != "failed":
        return Result(test_id, ending, event.elapsed)
    said = "".join(line for line in printed.splitlines(keepends=True) if not line.lstrip().startswith(("===", "---")))
    kind: Kind = "error" if re.search(r"^panic: ", said, re.MULTILINE) else "assertion"
    return _place(Result(test_id, "failed", event.elapsed, kind, first_lines(said)), said)


def _place(result: Result, text: str) -> Result:
    place = _GO_PLACE.search(text)
    if place is None:
        return result
    return replace(result, file=place[1].removeprefix("./"), line=int(place[2]))


def _has_failed(package: str, results: dict[str, Result]) -> bool:
    return any(
        each.ending in {"failed", "error"} and (key == package or key.startswith(f"{package}."))
        for key, each in results.items()
    )


def _read(form: type[F], data: bytes) -> F:
    try:
        return form.model_validate_json(data)
    except ValidationError as error:
        raise BadReport(f"it lacks {', '.join('.'.join(map(str, e['loc'])) for e in error.errors()[:3])}") from error
