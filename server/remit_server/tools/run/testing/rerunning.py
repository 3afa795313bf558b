"""Parses the ids that reports give to tests: which file or folder a test is in, and how a runner is told to run it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.\w+)+(?: \(.*\))?")
_GO = re.compile(r"(?P<package>\w[\w./~-]*?)\.(?P<test>(?:Test|Example|Fuzz)\S*)")
_CARGO = re.compile(r"[^\W\d]\w*(?:::\w+)*")
_PYTHON_NAME = re.compile(r"[^\W\d]\w*(?:::[^\W\d]\w*)?")
_JS_SIGNS = re.compile(r"[.*+?^${}()|\[\]\\/]")


@dataclass(frozen=True, slots=True)
class Id:
    """A test in a file or, if `is_file` is False, below a folder; `.` is the workspace."""

    path: str
    test: str
    is_file: bool


def read_id(text: str, is_file: Callable[[str], bool], is_folder: Callable[[str], bool]) -> Id | None:
    """Returns a test's id, or None if the text is none. The file or folder in the id must exist."""
    if any(sign < " " for sign in text):
        return None
    for sign in ("::", " > "):
        path, found, test = text.partition(sign)
        if found and path and test and is_file(path):
            return Id(path, test, True)
    parts = text.split("/")
    for count in range(len(parts) - 1, 0, -1):
        folder = "/".join(parts[:count])
        if folder and is_folder(folder):
            return Id(folder, "/".join(parts[count:]), False)
    return Id(".", text, False)


def is_run_by(runner: str, test: Id) -> bool:
    """Returns whether a runner gives tests ids of this kind, and can run one test alone."""
    if runner == "pytest":
        return test.is_file
    if runner == "unittest":
        dotted = _DOTTED.fullmatch(test.test) and not test.test.endswith(".py")
        return bool(_PYTHON_NAME.fullmatch(test.test) if test.is_file else dotted)
    if runner in {"vitest", "jest", "node"}:
        return test.is_file
    if runner == "go":
        return not test.is_file and _GO.fullmatch(test.test) is not None
    return not test.is_file and _CARGO.fullmatch(test.test) is not None


def javascript_pattern(test: str) -> str:
    """Returns a pattern of one test's whole name for Vitest and Jest, which join titles with a blank; a title may
    itself hold ` > `."""
    return f"^{'( | > )'.join(map(_js_escaped, test.split(' > ')))}$"


def node_pattern(test: str) -> str:
    """Returns such a pattern for Node, which matches a test's own name, and in newer versions the whole name."""
    *above, own = test.split(" > ")
    before = f"(?:{' '.join(map(_js_escaped, above))} )?" if above else ""
    return f"^{before}{_js_escaped(own)}$"


def go_pattern(test: str) -> tuple[str, str]:
    """Returns the value of `-run`, and the package."""
    found = _GO.fullmatch(test)
    assert found is not None
    return "/".join(f"^{re.escape(part)}$" for part in found["test"].split("/")), found["package"]


def unittest_name(test: str) -> str:
    """Returns the dotted name, or its end, without the part that names a subtest."""
    return test.partition(" (")[0].replace("::", ".")


def _js_escaped(text: str) -> str:
    return _JS_SIGNS.sub(lambda sign: f"\\{sign[0]}", text)
