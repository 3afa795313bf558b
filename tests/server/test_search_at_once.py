"""A search that takes no time holds up nobody: it needs no thread; every other one moves to one (agent.md §2)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from remit_server.tools.matching import parse_pattern
from remit_server.tools.search_files import SEARCH_FILES, Query, Search, SearchFilesArguments, search
from remit_server.tools.spec import Outcome, ReadPlan, ToolContext
from remit_server.workspace.paths import Workspace
from remit_server.workspace.ports import NoDocuments
from remit_server.workspace.ripgrep import find_ripgrep
from remit_server.workspace.walk import SMALL_TREE, Limits


def grown(root: Path, files: int) -> None:
    for number in range(files):
        (root / f"{number:04}.py").write_text("foo\n" if number % 10 == 0 else "bar\n")


async def called(
    root: Path, *, pattern: str = "foo", quick: bool = True, asked: Callable[[], None] = lambda: None
) -> tuple[Outcome, list[bool]]:
    """The outcome of a call, and for each file that policy was asked about whether the event loop waited meanwhile."""
    here, held = threading.get_ident(), list[bool]()

    def permits(_syscall: str, _path: str) -> bool:
        held.append(threading.get_ident() == here)
        asked()
        return True

    with Workspace(root) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, permits, str, quick=quick)
        plan = await SEARCH_FILES.prepare(SearchFilesArguments(pattern=pattern, context_lines=0), ctx)
        assert isinstance(plan, ReadPlan)
        found = await plan.run()
        expected = search(ctx, Query(parse_pattern(pattern), ctx.resolve("."), context=0), Limits())
        assert found == expected
    return found, held[: len(held) // 2]


async def test_a_small_tree_is_searched_at_once(tmp_path: Path) -> None:
    grown(tmp_path, 10)
    assert await called(tmp_path) == (await called(tmp_path))
    assert (await called(tmp_path))[1] == [True]


async def test_a_program_of_the_persons_rules_is_never_waited_for_on_the_event_loop(tmp_path: Path) -> None:
    grown(tmp_path, 100)
    assert set((await called(tmp_path, quick=False))[1]) == {False}


async def test_a_pattern_that_may_take_long_to_prepare_is_prepared_in_a_thread(tmp_path: Path) -> None:
    grown(tmp_path, 10)
    for pattern in ("fo{2}", "foo|" + "x" * 100):
        assert (await called(tmp_path, pattern=pattern))[1] == [False]


async def test_what_takes_longer_moves_to_a_thread_and_goes_on_where_it_was(tmp_path: Path) -> None:
    grown(tmp_path, 100)
    found, held = await called(tmp_path, asked=lambda: time.sleep(0.005))
    assert (held[0], held[-1], len(held)) == (True, False, 10)
    assert found.data["files"] == 10


async def test_ripgrep_is_never_waited_for_on_the_event_loop(tmp_path: Path) -> None:
    with Workspace(tmp_path) as workspace:
        if find_ripgrep(workspace) is None:
            pytest.skip("there is no rg: install ripgrep")
    grown(tmp_path, SMALL_TREE + 1)
    found, held = await called(tmp_path)
    assert set(held) == {False}
    assert found.data["files"] == SMALL_TREE // 10 + 1


def test_an_expression_that_takes_long_is_tried_again_and_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a" * 40 + "\n")
    (tmp_path / "b.py").write_text("ab\n")
    with Workspace(tmp_path) as workspace:
        ctx = ToolContext(workspace, NoDocuments(), {}, lambda *_: True, str)
        query = Query(parse_pattern(r"(?:a|aa|aaa)+(?<=aaaa)b|(a|b\B)+b"), ctx.resolve("."))
        for seconds in (0.0, 0.01):
            limits = Limits(seconds=1.0)
            begun = Search(ctx, query, limits)
            assert begun.go_on(seconds) is None
            assert not limits.stopped
            found = begun.finish()
            assert found.data["truncated"] is limits.stopped
            assert limits.stopped or found.data["total_matches"] == 1
