"""SES-03: a session has one writer at a time, and a file that no crash, full disk or edit by hand makes unreadable."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from examples import examples, rounds
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import SAYS

from remit_server.contract import ErrorCode, ModelConfig, RunResult, UserSaid
from remit_server.models.ports import UserMessage
from remit_server.sessions.recorder import Recorder
from remit_server.sessions.session_file import SessionError, SessionFile, parse_lines, read_session, to_lines

MODEL = ModelConfig(provider="script", model="m")
SUPPORT = Path(__file__).parents[2] / "support"


def recorder(path: Path) -> Recorder:
    return Recorder(SessionFile(path), "s", "/w", "0", lambda text: text)


def said(text: str) -> UserSaid:
    return UserSaid(timestamp="2026-01-01T00:00:00.000Z", turn_id="t", content=text)


def ended(turn: str) -> RunResult:
    return RunResult(session_id="s", turn_id=turn, status="completed", final_output="")


def texts(path: Path) -> list[str]:
    return [record.content for record in read_session(path).records if isinstance(record, UserSaid)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "session.jsonl"


def test_SES_01_only_its_owner_can_read_it(path: Path) -> None:
    recorder(path).begin("t", MODEL)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@given(st.lists(st.text(max_size=30), max_size=5), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_SES_03_cut_at_any_byte_it_loses_at_most_the_last_record(contents: list[str], data: st.DataObject) -> None:
    whole = to_lines(map(said, contents))
    cut = data.draw(st.integers(0, len(whole)))
    found = parse_lines(whole[:cut])
    assert not found.bad
    assert len(found.records) == whole[:cut].count(b"\n")
    assert found.torn == len(whole[:cut].rpartition(b"\n")[2])


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_SES_03_a_torn_line_is_mended_and_written_on(path: Path, cut: int) -> None:
    first = recorder(path)
    first.begin("1", MODEL)
    for text in ("one", "two"):
        first.keep(UserMessage(text), text)
    first.file.close()
    os.truncate(path, path.stat().st_size - cut)
    second = recorder(path)
    conversation = second.begin("2", MODEL)
    assert conversation is not None
    # If only the line's end is missing, because one byte was cut off, the whole line is there.
    assert [m.text for m in conversation.messages] == (["one", "two"] if cut == 1 else ["one"])
    second.keep(UserMessage("three"), "three")
    assert texts(path)[-1] == "three"
    assert not read_session(path).bad


def test_SES_03_a_bad_line_is_told_of_and_skipped(path: Path) -> None:
    first = recorder(path)
    first.begin("1", MODEL)
    first.keep(UserMessage("one"), "one")
    first.end(ended("1"))
    with path.open("ab") as file:
        file.write(b'\xff\x00{{\n{"type": "unheard of"}\n' + to_lines([said("two")]))
    again = recorder(path)
    conversation = again.begin("2", MODEL)
    assert conversation is not None
    assert [m.text for m in conversation.messages] == ["one", "two"]
    assert "line 5, 6 of the session's file cannot be read and was skipped" in again.problems[0]


def test_SES_03_a_second_writer_is_refused_until_the_turn_has_ended(path: Path) -> None:
    first, second = recorder(path), recorder(path)
    first.begin("1", MODEL)
    with pytest.raises(SessionError, match="another process is working in it") as refused:
        second.begin("2", MODEL)
    assert refused.value.code is ErrorCode.BUSY
    first.keep(UserMessage("one"), "one")
    first.end(ended("1"))
    conversation = second.begin("2", MODEL)
    assert conversation is not None
    assert len(conversation.messages) == 1
    second.keep(UserMessage("two"), "two")
    second.end(ended("2"))
    there = first.begin("3", MODEL)
    assert there is not None
    assert [m.text for m in there.messages] == ["one", "two"], "what another process added is seen"
    first.end(ended("3"))
    assert first.begin("4", MODEL) is None, "nobody else went on with it"


def test_SES_03_a_file_that_was_deleted_is_made_anew(path: Path) -> None:
    first = recorder(path)
    first.begin("1", MODEL)
    first.keep(UserMessage("one"), "one")
    first.end(ended("1"))
    path.unlink()
    assert first.begin("2", MODEL) is not None
    assert read_session(path).records[0].type == "session_start"


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder"])
def test_THR_sessions_what_is_no_file_is_not_followed(path: Path, kind: str, tmp_path: Path) -> None:
    path.parent.mkdir()
    target = tmp_path / "theirs"
    target.write_text("theirs")
    if kind == "symlink":
        path.symlink_to(target)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(SessionError):
        recorder(path).begin("1", MODEL)
    assert target.read_text() == "theirs"


FULL = """
import json, sys
from pathlib import Path
sys.path.insert(0, {support!r})
from session_killed import MODEL, recorder
from remit_server.models.ports import UserMessage
from remit_server.sessions.session_file import read_session
folder = Path(sys.argv[1])
filler, path = folder / "filler", folder / "session.jsonl"
failures = []
for room in range(0, 9000, 1800):
    path.unlink(missing_ok=True)
    filler.write_bytes(b"")
    writer = recorder(path)
    writer.begin("t", MODEL)
    size = path.stat().st_size
    with filler.open("ab", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 512)
        except OSError:
            pass
        file.truncate(max(0, filler.stat().st_size - room))
    for n in range(40):
        writer.keep(UserMessage(f"{{n}} " + "y" * 997), "")
        found = read_session(path)
        if found.bad or found.torn:
            failures.append((room, n, found.bad, found.torn))
    told = [p for p in writer.problems if "cannot be saved" in p]
    filler.unlink()
    writer.keep(UserMessage("40"), "")
    after = recorder(Path(path))
    writer.file.release()
    kept = [int(m.text.split()[0]) for m in after.begin("u", MODEL).messages]
    if kept != list(range(41)) or len(told) != 1:
        failures.append((room, kept, told))
    for each in (writer, after):
        each.file.close()
print(json.dumps(failures))
"""


@pytest.mark.slow
def test_SES_03_a_full_disk_loses_nothing_once_there_is_room(tmp_path: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("there is no bwrap to mount with: install bubblewrap")
    small = tmp_path / "small"
    small.mkdir()
    mounted = ["bwrap", "--dev-bind", "/", "/", "--size", "98304", "--tmpfs", str(small), "--"]
    script = FULL.format(support=str(SUPPORT))
    done = subprocess.run([*mounted, sys.executable, "-c", script, str(small)], capture_output=True, check=False)
    if done.returncode != 0 and b"bwrap:" in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr.decode().strip()}")
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == []


def test_SES_03_what_no_longer_fits_in_memory_is_said_to_be_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: object) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr("remit_server.sessions.session_file.MOST_WAITING", 1_000)
    writer = recorder(path)
    writer.begin("1", MODEL)
    with monkeypatch.context() as during:
        during.setattr(os, "write", full)
        for number in range(20):
            writer.keep(UserMessage(f"{number}"), None)
    assert [problem.split(":")[0] for problem in writer.problems] == [
        SAYS.the_session_cannot_be_saved,
        SAYS.the_session_has_lost_what,
    ]
    writer.keep(UserMessage("20"), None)
    kept = texts(path)
    assert (kept[0], kept[-1]) == ("0", "20")
    assert 2 < len(kept) < 20


def killed(folder: Path, rounds: int) -> dict[str, int]:
    command = [sys.executable, str(SUPPORT / "session_killed.py"), str(folder), str(rounds)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_SES_03_killed_at_random_moments(tmp_path: Path) -> None:
    """THR-storage-kill-session."""
    times = rounds(500, 100)
    found = killed(tmp_path, times)
    assert (found["rounds"], found["lost"]) == (times, 0)
