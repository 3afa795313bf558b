"""JUnit XML as pytest and Node write it, as results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from remit_server.tools.testing.results import BadReport, Kind, Result, first_lines

_UNUSABLE = re.compile(
    r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|&#(?:x0*(?:[0-8bcef]|1[0-9a-f])|\d);", re.IGNORECASE
)
_ASSERTION = re.compile(r"(?:[\w.]*AssertionError|assert\b|Failed: )")
_PLACE = re.compile(r"^([^\s/:][^\n:]*):(\d+): ", re.MULTILINE)
_URL = re.compile(r"file://([^\s()]+?):(\d+):\d+")


def pytest_results(data: bytes, root: Path) -> tuple[Result, ...]:
    """pytest's, of the family xunit1, which names files. Raises BadReport."""
    del root
    return tuple(_pytest(case) for _, case in _cases(data))


def node_results(data: bytes, root: Path) -> tuple[Result, ...]:
    """Those of `node --test`. Raises BadReport."""
    return tuple(_node(suites, case, root) for suites, case in _cases(data))


def _cases(data: bytes) -> Iterator[tuple[tuple[str, ...], ET.Element]]:
    """Each test case, with the names of the suites that it is in."""
    text = _UNUSABLE.sub("�", data.decode(errors="replace"))
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        # No runner writes entities of its own, and they can grow without end.
        raise BadReport("it declares entities")
    try:
        root = ET.fromstring(text.encode())  # noqa: S314  no entities, and of bounded size
    except (ET.ParseError, RecursionError) as error:
        raise BadReport(str(error)) from error
    pending: list[tuple[tuple[str, ...], ET.Element]] = [((), root)]
    while pending:
        suites, element = pending.pop()
        if element.tag == "testcase":
            yield suites, element
            continue
        inner = (*suites, element.get("name", "")) if element.tag == "testsuite" else suites
        pending += [(inner, child) for child in reversed(element)]


def _pytest(case: ET.Element) -> Result:
    name, file = case.get("name", ""), case.get("file")
    test_id = name
    if file is not None:
        module = file.removesuffix(".py").replace("/", ".")
        classname = case.get("classname", "")
        inner = classname[len(module) + 1 :] if classname.startswith(f"{module}.") else ""
        collected = not classname
        test_id = file if collected else "::".join(filter(None, (file, *inner.split("."), name)))
    seconds = _seconds(case)
    if case.find("skipped") is not None:
        return Result(test_id, "skipped", seconds)
    broken = _one_of(case, "error", "failure")
    if broken is None:
        return Result(test_id, "passed", seconds)
    text, message = broken.text or "", broken.get("message", "")
    said = "\n".join(line[1:].strip() for line in text.splitlines() if line.startswith("E  "))
    kind: Kind = "assertion" if broken.tag == "failure" and _ASSERTION.match(message) else "error"
    place = next(reversed(_PLACE.findall(text)), None)
    if place is None and file is not None and case.get("line", "").isdigit():
        place = (file, str(int(case.get("line", "0")) + 1))
    return Result(
        id=test_id,
        ending="error" if broken.tag == "error" else "failed",
        seconds=seconds,
        kind=kind,
        message=first_lines(said or message or text),
        file=place[0] if place else file,
        line=int(place[1]) if place else None,
    )


def _node(suites: tuple[str, ...], case: ET.Element, root: Path) -> Result:
    name = _below(case.get("name", ""), root)
    test_id = " > ".join((*suites, name))
    seconds = _seconds(case)
    if case.find("skipped") is not None:
        return Result(test_id, "skipped", seconds)
    broken = _one_of(case, "failure", "error")
    if broken is None:
        return Result(test_id, "passed", seconds)
    text = broken.text or ""
    # A file that could not even be run is reported as a test of its own name.
    whole_file = "exitCode:" in text and name != case.get("name")
    places = ((_below(found[0], root), int(found[1])) for found in _URL.findall(text))
    file, line = next((place for place in places if not place[0].startswith("/")), (None, None))
    return Result(
        id=test_id,
        ending="error" if whole_file else "failed",
        seconds=seconds,
        kind="assertion" if "ERR_ASSERTION" in text else "error",
        message=first_lines(broken.get("message", "") or text),
        file=name if whole_file else file,
        line=line,
    )


def _one_of(case: ET.Element, *tags: str) -> ET.Element | None:
    return next((found for tag in tags if (found := case.find(tag)) is not None), None)


def _seconds(case: ET.Element) -> float | None:
    try:
        return float(case.get("time", ""))
    except ValueError:
        return None


def _below(path: str, root: Path) -> str:
    return path.removeprefix(f"{root}/")
