"""Paths as attackers write them, each tried through the whole dispatcher (FILE-01)."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Answering, Bench
from threat_bench import LAX, result

from remit_server.harness.dispatcher import Dispatcher
from remit_server.tools.table import TOOLS

SECRET = "outside-secret-1234"


@pytest.fixture
async def bench(make_bench: Any, tmp_path: Path) -> Bench:
    made: Bench = await make_bench(policy=LAX)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    (tmp_path / "shop2").mkdir()
    (tmp_path / "shop2" / "secret.txt").write_text(SECRET)
    (made.workspace / ".env").write_text(f"KEY={SECRET}\n")
    return made


def _links(root: Path, outside: Path) -> None:
    (root / "out").symlink_to(outside / "outside")
    (root / "file").symlink_to(outside / "outside" / "secret.txt")
    (root / "twice").symlink_to("out/secret.txt")
    (root / "magic").symlink_to("/proc/self/root")
    (root / "cwd").symlink_to("/proc/self/cwd")
    (root / "loop").symlink_to("loop")


def _files(root: Path) -> set[Path]:
    """Returns all files but those in Remit's own folders, which come and go during a test."""
    return {path for path in root.rglob("*") if not {"state", "data"} & set(path.relative_to(root).parts)}


OUTSIDE = [
    "../outside/secret.txt",
    "out/secret.txt",
    "file",
    "twice",
    "./a/../../outside/secret.txt",
    "{shop}2/secret.txt",
    "{shop}/../outside/secret.txt",
    "//{shop}/../outside/secret.txt",
    "/etc/passwd",
    "/proc/self/environ",
    "/proc/self/root{outside}/secret.txt",
    "magic{outside}/secret.txt",
    "magic/etc/passwd",
    "cwd/../../etc/passwd",
    "/dev/stdin",
    "/proc/self/fd/0",
    "~/.ssh/id_rsa",
    "file:///etc/passwd",
    "loop",
    "out\u2044secret.txt",
    "..\uff0foutside\uff0fsecret.txt",
    "a.py\0.txt",
    "a.py ",
    "a.py.",
]


@pytest.mark.parametrize("tool", ["read_file", "edit_file", "write_file", "search_files", "list_files"])
async def test_THR_paths_nothing_outside_is_read_or_written(bench: Bench, tmp_path: Path, tool: str) -> None:
    _links(bench.workspace, tmp_path)
    rest: dict[str, dict[str, Any]] = {
        "edit_file": {"old_text": "outside", "new_text": "pwned"},
        "write_file": {"content": "pwned"},
        "search_files": {"pattern": "outside-secret"},
        "list_files": {"pattern": "*"},
    }
    before = _files(tmp_path)
    for spelling in OUTSIDE:
        path = spelling.format(shop=bench.workspace, outside=tmp_path / "outside")
        answer = await result(bench, tool, path=path, **rest.get(tool, {}))
        if answer.ok:
            # A path that only looks like a way out is a new name in the workspace.
            assert tool == "write_file", spelling
            assert all(
                (bench.workspace / name).resolve().is_relative_to(bench.workspace) for name in answer.changed_files
            )
        assert SECRET not in answer.output, spelling
    assert (tmp_path / "outside" / "secret.txt").read_text() == SECRET
    assert (tmp_path / "shop2" / "secret.txt").read_text() == SECRET
    assert all(path.is_relative_to(bench.workspace) for path in _files(tmp_path) - before)


SPELLINGS = [".env", "./.env", ".//.env", "sub/../.env", "{shop}/.env", "link", "sub/up/.env", "{shop}/./sub//../.env"]


async def test_THR_paths_every_spelling_of_a_denied_path_is_denied(bench: Bench) -> None:
    (bench.workspace / "sub").mkdir()
    (bench.workspace / "sub" / "up").symlink_to("..")
    (bench.workspace / "link").symlink_to(".env")
    for spelling in SPELLINGS:
        path = spelling.format(shop=bench.workspace)
        for tool, rest in (
            ("read_file", {}),
            ("edit_file", {"old_text": "KEY", "new_text": "X"}),
            ("search_files", {"pattern": "KEY"}),
        ):
            answer = await result(bench, tool, path=path, **rest)
            assert answer.error is not None, (tool, spelling)
            assert answer.error.code == "denied", (tool, spelling)
    everywhere = await result(bench, "search_files", pattern="KEY=")
    assert SECRET not in everywhere.output
    assert everywhere.output.startswith("0 matches")


async def test_THR_paths_a_link_swapped_after_the_policy_leads_nowhere_else(bench: Bench) -> None:
    """The file that policy judged is read and written, even if the link is changed in between."""
    link = bench.workspace / "link"
    hook = bench.workspace / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(parents=True)
    hook.write_text("hook\n")

    def swapping(prepare: Callable[..., Any], to: str) -> Callable[..., Any]:
        async def swapped(*arguments: Any) -> Any:
            link.unlink()
            link.symlink_to(to)
            return await prepare(*arguments)

        return swapped

    for tool, to, rest in (
        ("read_file", ".env", {}),
        ("search_files", ".env", {"pattern": "KEY"}),
        ("write_file", ".git/hooks/pre-commit", {"content": "evil\n"}),
        ("edit_file", ".git/hooks/pre-commit", {"old_text": "hook", "new_text": "evil"}),
    ):
        link.unlink(missing_ok=True)
        link.symlink_to("a.py")
        # The swap must happen between two stages of one call, which another process could not time.
        tools = {**TOOLS, tool: replace(TOOLS[tool], prepare=swapping(TOOLS[tool].prepare, to))}
        bench.runtime._runner.dispatcher = Dispatcher(replace(bench.runtime.dispatcher.parts, tools=tools))
        answer = await result(bench, tool, path="link", **rest)
        assert SECRET not in answer.output, tool
        assert hook.read_text() == "hook\n", tool


async def test_THR_paths_a_folder_swapped_for_a_link_while_a_question_is_open(bench: Bench, make_bench: Any) -> None:
    asking: Bench = await make_bench(
        policy=LAX.replace("action: allow }\n  - { name: runs", "action: require_review }\n  - { name: runs")
    )
    folder = asking.workspace / "folder"
    folder.mkdir()
    (folder / "f.txt").write_text("old\n")
    outside = asking.workspace.parent / "outside"
    (outside / "f.txt").write_text("old\n")

    def swap() -> None:
        (folder / "f.txt").unlink()
        folder.rmdir()
        folder.symlink_to(outside)

    answer = await result(
        asking, "edit_file", Answering(before=swap), path="folder/f.txt", old_text="old", new_text="new"
    )
    assert answer.error is not None
    assert (outside / "f.txt").read_text() == "old\n"


async def test_THR_paths_a_write_leaves_the_other_names_of_a_hard_link_alone(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside" / "secret.txt"
    os.link(outside, bench.workspace / "mine.txt")
    answer = await result(bench, "edit_file", path="mine.txt", old_text="outside", new_text="inside")
    assert answer.ok
    assert outside.read_text() == SECRET


@pytest.mark.parametrize("tool", ["read_file", "write_file", "search_files"])
async def test_THR_paths_pipes_sockets_and_devices_never_block(bench: Bench, tool: str) -> None:
    os.mkfifo(bench.workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(bench.workspace)  # the path of a socket may have at most 108 bytes
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        for name in ("pipe", "socket"):
            rest = {"write_file": {"content": "x"}, "search_files": {"pattern": "x"}}.get(tool, {})
            async with asyncio.timeout(10):
                answer = await result(bench, tool, path=name, **rest)
            assert answer.error is not None
            assert answer.error.code == "not_a_file"


async def test_THR_paths_characters_that_turn_the_order_round_are_refused(bench: Bench) -> None:
    """A person who is shown such a name in another order could not tell which file is meant."""
    for name in ("\u202eyp.a", "a\u2066b.py", "x\u2069.py"):
        answer = await result(bench, "write_file", path=name, content="x")
        assert answer.error is not None
        assert answer.error.code == "invalid_arguments"
    assert sorted(p.name for p in bench.workspace.iterdir()) == [".env", "a.py"]


async def test_THR_paths_a_folder_that_may_not_be_listed_shows_no_names(make_bench: Any) -> None:
    deny = '  - { name: hush, match: { syscall: [fs.list, fs.read], path_glob: ["hush/**"] }, action: deny }\n'
    bench: Bench = await make_bench(policy=LAX + deny)
    (bench.workspace / "hush").mkdir()
    (bench.workspace / "hush" / "takeover-plan.txt").write_text("x")
    answer = await result(bench, "list_files", pattern="*")
    assert "a.py" in answer.output
    assert "takeover" not in answer.output


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("folder", ["..", "/", "/etc", "out", "../shop2", "/proc/self/cwd", "a.py", "pipe"])
async def test_THR_paths_the_model_cannot_choose_a_working_folder_outside(
    bench: Bench, tmp_path: Path, folder: str
) -> None:
    (bench.workspace / "out").symlink_to(tmp_path / "outside")
    os.mkfifo(bench.workspace / "pipe")
    answer = await result(bench, "run_command", command="pwd; ls", working_dir=folder, asker=Answering())
    assert answer.error is not None
    assert answer.exit_code is None
