"""MOD-25: a model is tried with requests in scratch folders, and judged by the files that it leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows

from remit_server.cli.main import main
from remit_server.cli.trials import SHIPPED, Right, interval, missed, read_requests
from remit_server.errors import SetupError

BEFORE = {"a.py": "x = 1\n", "b.txt": "one\n"}
JUDGED: list[tuple[dict[str, Any], dict[str, str], str, int]] = [
    ({"changed": []}, BEFORE, "", 0),
    ({"changed": ["a.py"]}, BEFORE, "", 1),
    ({"changed": ["a.py"]}, {**BEFORE, "a.py": "x = 2\n"}, "", 0),
    ({"changed": ["a.py"]}, {**BEFORE, "a.py": "x = \n"}, "", 1),
    ({"changed": ["a.py"], "file": {"a.py": "^x = 3$"}}, {**BEFORE, "a.py": "x = 2\n"}, "", 1),
    ({"file_lacks": {"a.py": "x"}}, BEFORE, "", 1),
    ({"changed": ["c.txt"]}, {**BEFORE, "c.txt": ""}, "", 0),
    ({"gone": ["b.txt"]}, {"a.py": "x = 1\n"}, "", 0),
    ({"gone": ["b.txt"]}, BEFORE, "", 1),
    ({"answer": "forty.two"}, BEFORE, "It is\nFORTY\ntwo.", 0),
    ({"answer": "42", "answer_lacks": "not"}, BEFORE, "not 42", 1),
]


@rows("right, after, answer, wrong", JUDGED)
def test_MOD_25_what_was_left_is_judged(right: dict[str, Any], after: dict[str, str], answer: str, wrong: int) -> None:
    assert len(missed(Right.model_validate(right), BEFORE, after, answer)) == wrong


@given(st.integers(0, 400), st.integers(1, 400))
def test_MOD_25_the_share_lies_in_its_interval(right: int, of: int) -> None:
    right = min(right, of)
    low, high = interval(right, of)
    assert 0 <= low <= right / of + 1e-9
    assert right / of - 1e-9 <= high <= 1


def test_MOD_25_doing_nothing_is_right_nowhere_in_the_set_that_comes_along() -> None:
    chosen = read_requests(SHIPPED)
    assert len(chosen.requests) == 12
    assert [
        each.ask for each in chosen.requests if not missed(each.right, chosen.files, chosen.files, "I could not.")
    ] == []


ASK = "requests: [{ ask: go, right: { changed: [] } }]\n"
BROKEN = {
    "no such file": None,
    "no YAML": "files: [",
    "no files": ASK,
    "a field that is none": "files: { a.txt: x }\nrequests: [{ ask: go, right: { chnged: [] } }]\n",
    "a pattern that is none": 'files: { a.txt: x }\nrequests: [{ ask: go, right: { answer: "(" } }]\n',
    "a path outside": "files: { ../a.txt: x }\n" + ASK,
    "too much": "files: { a.txt: " + "x" * (1 << 20) + " }\n" + ASK,
}


@pytest.mark.parametrize("name", BROKEN)
def test_MOD_25_a_file_that_holds_no_requests_is_an_error(tmp_path: Path, name: str) -> None:
    file, text = tmp_path / "set.yaml", BROKEN[name]
    if text is not None:
        file.write_text(text)
    with pytest.raises(SetupError) as raised:
        read_requests(file)
    assert raised.value.why
    assert raised.value.fix


def test_MOD_25_each_request_has_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "set.yaml"
    file.write_text(
        "files: { notes.txt: 'milk' }\n"
        "requests:\n"
        "  - { ask: delete notes.txt, right: { changed: [notes.txt], gone: [notes.txt] } }\n"
        "  - { ask: show notes.txt, right: { changed: [], answer: milk } }\n"
        "  - { ask: create a file new.txt, right: { changed: [] } }\n"
    )
    here = tmp_path / "here"
    here.mkdir()
    (here / "notes.txt").write_text("mine\n")
    monkeypatch.chdir(here)
    for name in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"REMIT_{name}_DIR", str(tmp_path / name))
    assert main(["model", "check", "built-in", "--requests", str(file), "--json"]) == 0
    _, *found, whole = map(json.loads, capsys.readouterr().out.splitlines())
    assert [(each["right"], each["damage"], each["status"]) for each in found] == [
        (True, 0, "completed"),
        (True, 0, "completed"),
        (False, 1, "completed"),
    ]
    assert (whole["right"], whole["of"], whole["damage"]) == (2, 3, 1)
    assert [path.name for path in here.iterdir()] == ["notes.txt"]
    assert (here / "notes.txt").read_text() == "mine\n"
    assert main(["model", "check", "built-in", "--requests", str(file)]) == 0
    assert "2 of 3 came out right" in capsys.readouterr().out
