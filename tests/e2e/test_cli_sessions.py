"""Sessions in the terminal: resumed, forked, searched, exported, undone (SES-04, SES-05)."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from bench_runtime import call, intent
from command_line import CommandLine
from messages import SAYS

DONE, FAILED, USAGE = 0, 1, 2

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "words.json"
    write = {"calls": [intent("CODE"), call("write_file", path="new.py", content="x = 1\n")]}
    file.write_text(json.dumps([write, {"text": "I wrote <b>new.py</b> ```as asked```."}]))
    return f"script:{file}"


def test_SES_04_a_session_is_gone_on_with_by_last_by_name_and_by_number(remit: CommandLine, script: str) -> None:
    assert remit("--approve", "session", "write new.py", REMIT_MODEL=script).code == DONE
    (listed,) = remit("session", "list", "--json").lines
    assert (listed["title"], listed["turns"]) == ("write new.py", 1)
    assert remit("session", "rename", "last", "my work").code == DONE
    for words in (["--continue"], ["--resume", "my work"], ["--resume", "1"], ["--resume", listed["session_id"]]):
        assert remit(*words, "go on", REMIT_MODEL=script).code == DONE
    (listed,) = remit("session", "list", "--json").lines
    assert (listed["name"], listed["turns"]) == ("my work", 5)
    shown = remit("session", "show", "my work").out
    assert shown.index("write new.py") < shown.index("I wrote <b>new.py</b>") < shown.index("go on")


def test_SES_04_what_is_not_there_is_said(remit: CommandLine, script: str) -> None:
    for words in (["--continue", "go on"], ["session", "show"], ["session", "undo"], ["session", "fork", "x"]):
        done = remit(*words, REMIT_MODEL=script)
        assert (done.code, SAYS.there_is_no_session in done.err) == (FAILED, True), words
    assert remit("session", "list").out.startswith("this folder has no sessions yet")
    assert remit("--continue", "--resume", "x", "go on").code == USAGE
    remit("say it", REMIT_MODEL=script)
    assert remit("session", "fork", "--at", "99").code == FAILED
    for name in ("7", "last", " ", "n" * 101):
        assert remit("session", "rename", "last", name).code == FAILED, name


def test_CLI_18_a_single_call_is_no_conversation_to_go_on_with(remit: CommandLine, script: str) -> None:
    read = ("run-tool", "read_file", '{"path": "README.md"}', "--intent", "READ_FILE")
    remit(*read)
    done = remit("--continue", "go on", REMIT_MODEL=script)
    assert (done.code, SAYS.there_is_no_session in done.err) == (FAILED, True)
    remit("say it", REMIT_MODEL=script)
    said = remit("session", "list", "--json").lines[0]["session_id"]
    remit(*read)
    remit("--continue", "go on", REMIT_MODEL=script)
    turns = {each["session_id"]: each["turns"] for each in remit("session", "list", "--json").lines}
    assert (turns[said], sorted(turns.values())) == (2, [1, 1, 2])


def test_CLI_18_another_model_that_goes_on_is_named(remit: CommandLine, script: str) -> None:
    remit("say it", REMIT_MODEL=script)
    assert remit("--continue", "--json", "and more", REMIT_MODEL=script).of("warning") == []
    (told,) = remit("--continue", "--json", "go on").of("warning")
    assert "`built-in`" in told["message"]
    assert f"`script:{Path(script).name}`" in told["message"]


def test_SES_05_undo_and_redo_after_a_restart(remit: CommandLine, script: str) -> None:
    remit("--approve", "session", "write new.py", REMIT_MODEL=script)
    new = remit.workspace / "new.py"
    assert new.exists()
    assert remit("list the files").code == DONE, "a session that changes nothing"
    assert "undone: new.py" in remit("session", "undo", "--approve", "session").out
    assert not new.exists()
    assert remit("session", "redo", "--approve", "session").code == DONE
    assert new.read_text() == "x = 1\n"
    new.write_text("x = 1\nmine\n")
    assert remit("session", "undo", "--approve", "session").code == FAILED
    assert new.read_text() == "x = 1\nmine\n", "it did not exist before, and is not the agent's alone any more"


def test_SES_05_each_undo_without_a_name_goes_one_further_back(remit: CommandLine) -> None:
    for name in ("one.txt", "two.txt"):
        call = json.dumps({"path": name, "content": "1"})
        assert remit("run-tool", "write_file", call, "--intent", "CODE", "--approve", "session").code == DONE
    there = [remit.workspace / "one.txt", remit.workspace / "two.txt"]
    for command, left, back in (
        ("undo", [True, False], "redo"),
        ("undo", [False, False], "redo"),
        ("redo", [True, False], "undo"),
        ("redo", [True, True], "undo"),
    ):
        (done,) = remit("session", command, "--approve", "session", "--json").of("run_completed")
        assert [each.exists() for each in there] == left
        assert done["result"]["taken_back_by"] == back
    assert remit("session", "redo", "--approve", "session").code == FAILED


def test_SES_04_a_fork_goes_its_own_way(remit: CommandLine, script: str) -> None:
    remit("--approve", "session", "write new.py", REMIT_MODEL=script)
    first = remit("session", "list", "--json").json["session_id"]
    done = remit("session", "fork", "--at", "2", "--name", "other", "--json")
    assert done.json["forked_from"] == first
    assert remit("--resume", "other", "go on", REMIT_MODEL=script).code == DONE
    titles = {each["name"]: each["turns"] for each in remit("session", "list", "--json").lines}
    assert titles == {"other": 2, None: 1}
    assert "I wrote" not in remit("session", "show", "other").out.split("go on")[0]
    # A change of the first session can be undone in its fork too.
    assert remit("session", "undo", "other", "--approve", "session").code == DONE
    assert not (remit.workspace / "new.py").exists()
    assert remit("session", "delete", "other").code == DONE
    assert [each["session_id"] for each in remit("session", "list", "--json").lines] == [first]


def test_SES_05_where_nothing_can_be_taken_back_no_turn_begins(remit: CommandLine, script: str) -> None:
    remit("--approve", "never", "write new.py", REMIT_MODEL=script)
    before = remit("session", "list", "--json").json
    assert remit("session", "undo", "--json").json["error"]["code"] == "not_found"
    assert remit("session", "list", "--json").json == before


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)


def test_SES_04_search_and_export(remit: CommandLine, script: str) -> None:
    remit("--approve", "session", "write new.py", REMIT_MODEL=script)
    hits = remit("session", "search", "NEW.PY", "--json").lines
    assert {hit["who"] for hit in hits} == {"you", "model", "write_file"}
    assert len(remit("session", "search", "new.py", "write", "--json").lines) >= 2, "wherever the words stand"
    assert remit("session", "search", "nowhere").code == FAILED
    assert remit("session", "search", "new.py", "nowhere").code == FAILED
    page = remit.workspace.parent / "page.html"
    assert remit("session", "export", "--out", str(page)).code == DONE
    tags = Tags()
    tags.feed(page.read_text())
    assert "b" not in tags.tags
    assert "script" not in tags.tags
    assert "I wrote &lt;b&gt;new.py" in page.read_text()
    assert remit("session", "export", "--out", str(page)).code == FAILED, "a file that is there is not replaced"
    assert "## 1 · You\n\nwrite new.py" in remit("session", "export").out
    records = remit("session", "export", "--format", "json").lines
    assert [records[0]["type"], records[-1]["type"]] == ["session_start", "session_end"]


def test_SES_06_statistics_of_one_and_of_all(remit: CommandLine, script: str) -> None:
    for _ in range(2):
        remit("--approve", "session", "write new.py", REMIT_MODEL=script)
    one, both = (remit("session", "stats", *more, "--json").json for more in ([], ["--all"]))
    assert (one["sessions"], both["sessions"]) == (1, 2)
    assert both["messages"]["user"] == 2 * one["messages"]["user"] == 2
    assert "write_file: 1 call," in remit("session", "stats").out
    page = remit.workspace.parent / "figures.html"
    assert remit("session", "stats", "--all", "--html", str(page)).code == DONE
    tags = Tags()
    tags.feed(page.read_text())
    assert {"svg", "rect", "h2"} <= tags.tags
    assert not {"script", "img", "link"} & tags.tags
