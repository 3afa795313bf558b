"""Reports in JSON as results: Jest and Vitest, which write the same, and `go test -json`."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from remit_server.tools.run.command_parts import without_colours
from remit_server.tools.run.testing.reports.go_signs import without_signs
from remit_server.tools.run.testing.reports.results import BadReport, Ending, Kind, Report, Result, first_lines

_ENDINGS: dict[str, Ending] = {"passed": "passed", "failed": "failed", "pass": "passed", "fail": "failed"}
_JS_PLACE = re.compile(r"(/[^\s():]+):(\d+):\d+")
_JS_ASSERTION = re.compile(r"AssertionError|expect\(|\bassert(?:\.\w+)?\(|ERR_ASSERTION")
_GO_PLACE = re.compile(r"^\s*(\S+\.go):(\d+)", re.MULTILINE)


class _Form(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


F = TypeVar("F", bound=BaseModel)


class _JestTest(_Form):
    ancestors: list[str] = Field(default=[], alias="ancestorTitles")
    title: str
    status: str
    duration: float | None = None
    failures: list[str] | None = Field(default=None, alias="failureMessages")


class _JestFile(_Form):
    name: str
    status: str = ""
    message: str = ""
    tests: list[_JestTest] = Field(default=[], alias="assertionResults")


class _Jest(_Form):
    files: list[_JestFile] = Field(alias="testResults")


class _Event(_Form):
    action: str = Field(alias="Action")
    package: str = Field(default="", alias="Package")
    test: str = Field(default="", alias="Test")
    elapsed: float | None = Field(default=None, alias="Elapsed")
    output: str = Field(default="", alias="Output")
    import_path: str = Field(default="", alias="ImportPath")


def jest_results(data: bytes, root: Path) -> Report:
    """Returns those of Jest and Vitest. Raises BadReport."""
    results: list[Result] = []
    for file in _read(_Jest, data).files:
        name = file.name.removeprefix(f"{root}/")
        results += [_jest_test(name, test, root) for test in file.tests]
        if file.status == "failed" and not file.tests:
            results.append(Result(name, "error", None, "error", first_lines(_plain(file.message)), name))
    return Report(tuple(results))


def _jest_test(file: str, test: _JestTest, root: Path) -> Result:
    test_id = " > ".join((file, *test.ancestors, test.title))
    ending = _ENDINGS.get(test.status, "skipped")
    seconds = None if test.duration is None else test.duration / 1000
    if ending != "failed":
        return Result(test_id, ending, seconds, file=file)
    text = _plain("\n".join(test.failures or []))
    places = [(path.removeprefix(f"{root}/"), int(line)) for path, line in _JS_PLACE.findall(text)]
    own = next((place for place in places if place[0] == file), None)
    kind: Kind = "assertion" if _JS_ASSERTION.search(text.partition("\n    at ")[0]) else "error"
    said = first_lines("\n".join(line for line in text.splitlines() if not line.lstrip().startswith("at ")))
    return Result(test_id, "failed", seconds, kind, said, file, own[1] if own else None)


def go_results(data: bytes, root: Path) -> Report:
    """Returns those of `go test -json`; a package that fails without a failed test is an error. Raises BadReport."""
    del root
    printed: dict[str, list[str]] = {}
    results: dict[str, Result] = {}
    ran: set[str] = set()
    ended: set[str] = set()
    for line in data.splitlines(keepends=True):
        # The last one may have been cut off.
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
    # A package's tests say so when all are over; without that one of them ended it, and may have printed the rest.
    cut = sorted(name for name in ran if name not in ended or not ({"PASS\n", "FAIL\n"} & {*printed.get(name, [])}))
    return Report(
        tuple(results.values()), doubts=tuple(f"the tests of `{name}` did not come to their end" for name in cut)
    )


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


def _plain(text: str) -> str:
    return without_colours(text)


def _read(form: type[F], data: bytes) -> F:
    try:
        return form.model_validate_json(data)
    except ValidationError as error:
        raise BadReport(f"it lacks {', '.join('.'.join(map(str, e['loc'])) for e in error.errors()[:3])}") from error
