"""Positions in the workflow are written to a session's file and read back, whatever they contain (FLW-12)."""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.workflow.position import Position, Surroundings, TakenUp, digest_position, take_up
from remit_governance.workflow.proof.runs import Red, TestFiles
from remit_governance.workflow.states import Mode, State, Trigger
from remit_governance.workflow.test_files import CATEGORIES, Exemption
from remit_server.contract import ModelConfig
from remit_server.harness.workflow.take_up import find_position
from remit_server.sessions.folder import SessionFolder
from remit_server.sessions.history import Contents, SessionHistory
from remit_server.sessions.recorder import Recorder
from remit_server.sessions.session_file import SessionFile

NAMES = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
# Bytes of a file that are not UTF-8 are lone surrogates here.
TEXTS = st.binary(max_size=40).map(lambda data: data.decode(errors="surrogateescape"))
TESTS = st.dictionaries(NAMES, TEXTS, max_size=4).map(TestFiles)
NAME_SETS = st.frozensets(NAMES, max_size=4)
DIGESTS = st.dictionaries(NAMES, st.none() | NAMES, max_size=3)
PLACES = st.builds(
    Position,
    st.sampled_from(Mode),
    st.sampled_from(State),
    st.none() | st.builds(Exemption, st.sampled_from(CATEGORIES), NAME_SETS),
    st.none() | TESTS,
    st.none() | st.builds(Red, NAME_SETS, NAME_SETS, TESTS, NAMES),
    st.booleans(),
    NAME_SETS,
    DIGESTS,
    st.none() | NAMES,
)


def opened(folder: Path) -> SessionHistory:
    recorder = Recorder(SessionFile(folder / "session.jsonl"), "s", "/w", "0", lambda text: text)
    recorder.begin("t", ModelConfig(provider="script", model="script"))
    return SessionHistory(recorder, Contents(folder / "contents"))


def audited(place: Position) -> AuditEvent:
    return AuditEvent(AuditKind.STATE_TRANSITION, metadata={"position": digest_position(place)})


async def keep(place: Position, history: SessionHistory) -> None:
    for tests in (place.before, place.red and place.red.locked):
        if tests is not None:
            await history.keep_tests(tests)
    history.keep_position(place)


@given(PLACES, PLACES)
def test_FLW_12_a_place_comes_back_as_it_was_and_only_where_its_digest_is_named(one: Position, two: Position) -> None:
    async def round_trip(folder: Path) -> None:
        history = opened(folder)
        await keep(one, history)
        await keep(two, history)
        history.recorder.file.close()
        again = opened(folder)
        assert await find_position(again, audited(two)) == two
        if digest_position(one) != digest_position(two):
            assert await find_position(again, audited(one)) == one
        other = replace(two, approved=two.approved | {"another"})
        if digest_position(other) not in {digest_position(one), digest_position(two)}:
            assert await find_position(again, audited(other)) is None
        assert await find_position(again, None) is None
        again.recorder.file.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(round_trip(Path(folder)))


@given(PLACES, st.sampled_from(Mode), st.none() | TESTS, DIGESTS)
def test_FLW_12_what_is_taken_up_is_never_looser_than_it_was_kept(
    kept: Position, held_to: Mode, tests: TestFiles | None, files: dict[str, str | None]
) -> None:
    said = take_up(kept, held_to, Surroundings(tests, files))
    order = list(Mode)
    if order.index(kept.mode) > order.index(held_to):
        assert said.trigger is Trigger.RESET
    if kept.red is not None and tests is not None and tests.digest != kept.red.locked.digest:
        assert said.trigger is Trigger.RESET
    if said.trigger is None:
        assert said == TakenUp()
        assert kept.state is not State.VALIDATING
    else:
        assert said.why
        assert said.trigger in {Trigger.RESET, Trigger.REJECTED, Trigger.TESTS_ENDED}


def test_FLW_12_the_files_of_a_proof_stay_while_a_session_speaks_of_them(tmp_path: Path) -> None:
    folder = SessionFolder(tmp_path)
    place = Position(Mode.STRICT, State.TEST_WRITING, before=TestFiles({"test_a.py": "assert 1\n"}))
    recorder = Recorder(SessionFile(folder.file_of("s")), "s", "/w", "0", lambda text: text)
    recorder.begin("t", ModelConfig(provider="script", model="script"))
    history = SessionHistory(recorder, folder.contents)
    asyncio.run(keep(place, history))
    folder.contents.keep("sha256:" + "0" * 64, b"of nobody")
    for path in folder.path.glob("contents/*/*"):
        os.utime(path, (0, 0))
    folder.forget_contents()
    assert place.before is not None
    assert history.tests(place.before.digest) == place.before
    assert not list(folder.path.glob("contents/00/*"))
