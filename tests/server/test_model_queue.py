"""Which request of the model process runs next, from which cache it starts, and when a dying model is restarted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from remit_server.machine.free_space import control_group_left, parse_vm_stat
from remit_server.models.local.host.caches import CHUNK, Session, Sessions, resume
from remit_server.models.local.host.engine import LOWER_PRIORITY_EVERY, MOST_TOGETHER, FairQueue, QueueKey
from remit_server.models.local.provider import FREE_RESTARTS, MOST_PAUSE_S, Backoff
from remit_server.models.ports import Priority

PRIORITIES: tuple[Priority, ...] = ("turn", "background")
LINES = st.tuples(st.sampled_from("abcdefghijkl"), st.sampled_from(PRIORITIES))


@given(st.lists(LINES, min_size=1, max_size=40), st.lists(st.integers(1, 30), min_size=40, max_size=40))
def test_every_request_is_served_and_each_line_in_order(lines: list[QueueKey], lengths: list[int]) -> None:
    """Requests of any length, all queued at once: each is served, and those of one line in order."""
    queue = FairQueue()
    left = {str(number): lengths[number] for number in range(len(lines))}
    for number, line in enumerate(lines):
        queue.put(str(number), line)
    over: list[str] = []
    for _ in range(sum(left.values()) * LOWER_PRIORITY_EVERY + 1):
        if not left:
            break
        chosen = queue.round()
        assert len(set(chosen)) == len(chosen)
        assert len({lines[int(name)] for name in chosen}) == len(chosen)
        for name in chosen:
            left[name] -= 1
            if left[name] == 0:
                del left[name]
                queue.remove(name)
                over.append(name)
    assert len(over) == len(lines)
    assert len(queue) == 0
    for line in set(lines):
        mine = [int(name) for name in over if lines[int(name)] == line]
        assert mine == sorted(mine)


@given(st.lists(LINES, min_size=1, max_size=30, unique=True))
def test_the_highest_priority_has_all_rounds_but_some(lines: list[QueueKey]) -> None:
    queue = FairQueue()
    for number, line in enumerate(lines):
        queue.put(str(number), line)
    best = min(PRIORITIES.index(priority) for _, priority in lines)
    leading = tuple(str(n) for n, line in enumerate(lines) if PRIORITIES.index(line[1]) == best)[:MOST_TOGETHER]
    steps: Counter[str] = Counter()
    for number in range(1, 2 * LOWER_PRIORITY_EVERY + 1):
        chosen = queue.round()
        steps.update(chosen)
        assert len(chosen) <= MOST_TOGETHER
        if number < LOWER_PRIORITY_EVERY:
            assert chosen == leading
    # The requests that came first have had a step, whatever their priority.
    assert all(steps[str(number)] for number in range(min(len(lines), MOST_TOGETHER)))


@given(st.lists(LINES, min_size=1, max_size=10, unique=True), st.integers(1, 60))
def test_MOD_05_a_completion_at_the_cursor_runs_only_where_nothing_else_waits(lines: list[QueueKey], most: int) -> None:
    queue = FairQueue()
    queue.put("cursor", ("z", "cursor"))
    assert queue.round() == ("cursor",)
    for number, line in enumerate(lines):
        queue.put(str(number), line)
    assert not any("cursor" in queue.round() for _ in range(most))
    for number in range(len(lines)):
        queue.remove(str(number))
    assert queue.round() == ("cursor",)


@dataclass
class ListCache:
    """A prompt cache that is only the list of the tokens that it has read."""

    tokens: list[int]
    can_trim: bool = True

    def trim(self, tokens: int) -> bool:
        if self.can_trim and tokens:
            del self.tokens[len(self.tokens) - tokens :]
        return self.can_trim

    def copy(self, tokens: int) -> ListCache | None:
        return ListCache(self.tokens[: len(self.tokens) - tokens]) if self.can_trim else None

    @property
    def nbytes(self) -> int:
        return len(self.tokens)


def encode(text: str) -> list[int]:
    return [ord(character) for character in text]


def read_whole(text: str, *, can_trim: bool = True) -> Session[ListCache]:
    """Returns a session that has read a text, in whole chunks and the rest."""
    tokens = tuple(encode(text))
    return Session(tokens, text, ListCache(list(tokens), can_trim), len(tokens), len(tokens) // CHUNK * CHUNK)


TEXTS = st.builds(
    lambda shared, own: "s" * shared + own, st.integers(0, 3 * CHUNK), st.text(alphabet="sxyz", min_size=1, max_size=20)
)


@given(TEXTS, st.none() | TEXTS, st.lists(TEXTS, max_size=3), st.booleans(), st.data())
def test_a_prompt_starts_from_a_cache_of_exactly_its_first_tokens(
    text: str, own: str | None, others: list[str], can_trim: bool, data: st.DataObject
) -> None:
    session = None
    if own is not None:
        session = read_whole(own, can_trim=can_trim)
        held = data.draw(st.integers(0, len(session.tokens)))
        del session.cache.tokens[held:]
        session = Session(session.tokens, own, session.cache, held, min(session.whole, held // CHUNK * CHUNK))
    lenders = [read_whole(each, can_trim=can_trim) for each in others]
    prompt = resume(session, lenders, text, encode, lambda: ListCache([]))
    assert list(prompt.tokens) == encode(text)
    assert prompt.cache.tokens == list(prompt.tokens[: prompt.cached])
    assert prompt.cached < len(prompt.tokens)
    assert prompt.whole <= prompt.cached
    assert prompt.whole % CHUNK == 0
    if prompt.shared:
        assert prompt.cached % CHUNK == 0
        assert all(prompt.cache is not lender.cache for lender in lenders)
    for each, lender in zip(others, lenders, strict=True):
        assert lender.cache.tokens == encode(each)


def test_a_shared_prefix_is_copied_up_to_the_last_whole_chunk() -> None:
    lender = read_whole("s" * (2 * CHUNK + 30))
    prompt = resume(None, [lender], "s" * (2 * CHUNK + 20) + "x", encode, lambda: ListCache([]))
    assert (prompt.cached, prompt.whole, prompt.shared) == (2 * CHUNK, 2 * CHUNK, True)


def test_condensed_conversation_keeps_what_is_the_same() -> None:
    before = read_whole("s" * 300 + "a" * 300)
    prompt = resume(before, [], "s" * 300 + "short", encode, lambda: ListCache([]))
    assert (prompt.cached, prompt.whole, prompt.shared) == (300, CHUNK, False)


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(1, 50)), max_size=30), st.integers(0, 100))
def test_kept_caches_stay_within_their_bytes(kept: list[tuple[str, int]], most_bytes: int) -> None:
    sessions: Sessions[ListCache] = Sessions(most_bytes)
    used: list[str] = []
    for name, size in kept:
        sessions.keep(name, read_whole("x" * size))
        used = [*(each for each in used if each != name), name]
        assert sessions.nbytes <= most_bytes
        # The remaining sessions are the ones used last.
        assert list(sessions.kept()) == used[len(used) - len(sessions) :]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_pauses_grow_up_to_a_limit(gaps: list[float]) -> None:
    backoff, now, last = Backoff(), 0.0, 0.0
    for number, gap in enumerate(gaps, 1):
        now += gap
        backoff = backoff.after_death(now, "why")
        pause = backoff.pause(now)
        assert (pause == 0) == (number <= FREE_RESTARTS)
        assert last <= pause + 1e-6 <= MOST_PAUSE_S + 1e-3
        assert backoff.pause(now + pause + 0.001) == 0
        last = pause


def test_memory_left_by_control_groups(tmp_path: Path) -> None:
    """The limit of an outer group counts too, and memory that only caches files counts as free."""
    listing = tmp_path / "cgroup"
    listing.write_text("0::/outer/inner\n")
    mount = tmp_path / "fs"
    inner = mount / "outer" / "inner"
    inner.mkdir(parents=True)
    for folder, limit, usage, cached in ((inner, "max", 10, 0), (inner.parent, "1000", 600, 100)):
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text(f"{usage}\n")
        (folder / "memory.stat").write_text(f"anon 1\ninactive_file {cached}\n")
    assert list(control_group_left(listing, mount)) == [500]
    listing.write_text("5:cpu,memory:/docker/abc\n")
    (mount / "memory").mkdir()
    for name, value in (("limit_in_bytes", 900), ("usage_in_bytes", 200)):
        (mount / "memory" / f"memory.{name}").write_text(f"{value}\n")
    (mount / "memory" / "memory.stat").write_text("total_inactive_file 50\n")
    assert list(control_group_left(listing, mount)) == [750]
    assert list(control_group_left(tmp_path / "none", mount)) == []


def test_memory_free_on_macos() -> None:
    text = (
        "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free:                10.\n"
        "Pages active:              99.\nPages inactive:             5.\nPages speculative:          1.\n"
        "Pages wired down:          50.\nPages purgeable:            2.\n"
    )
    assert parse_vm_stat(text) == 18 * 16384
    assert parse_vm_stat("nothing of it") is None
