"""SES-05: the changes of turns are undone in real files, whoever else writes them."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import SHOP, Answering, Bench, benches, call, intent
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import SAYS
from obvious_undo import ObviousHistory

from remit_server.contract import RunResult

UNDO = {"type": "call", "tool": "undo_changes", "arguments": {}, "intent": "CODE"}
REDO = UNDO | {"arguments": {"direction": "redo"}}
PATHS = ("one.txt", "two.txt")


def own(tool: str, intents: str = "CODE", **arguments: Any) -> dict[str, Any]:
    return {"type": "call", "tool": tool, "arguments": arguments, "intent": intents}


def wrote(*turns: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns a script in which the model makes one call per turn."""
    return [step for each in turns for step in ({"calls": [intent("CODE"), each]}, {"text": "done"})]


def reason(result: RunResult) -> str:
    return result.reason or str(result.error)


ISOLATED = shutil.which("bwrap") is not None
KINDS = ["agent", "agent", "person", "person", "undo", "undo", "redo", "remove", "again"]
COMMANDS_ALLOWED = "version: 1\ncapabilities:\n" + "".join(
    f"  - {{ name: r{n}, match: {{ syscall: {kind}{globs} }}, action: allow }}\n"
    for n, (kind, globs) in enumerate(
        (("process.exec", ""), *((each, ', path_glob: ["**"]') for each in ("fs.read", "fs.write", "fs.delete")))
    )
)
OPS = st.lists(
    st.tuples(
        st.sampled_from([*KINDS, *(["command"] if ISOLATED else [])]),
        st.sampled_from(PATHS),
        st.randoms(use_true_random=False),
    ),
    max_size=12,
)


def command_for(files: dict[str, list[str] | None]) -> str:
    """Returns a command that gives the files these lines; None removes a file."""
    done = list[str]()
    for path, lines in files.items():
        text = "".join(f"{line}\n" for line in lines or [])
        done.append(f"rm {path}" if lines is None else f"printf '%s' {shlex.quote(text)} > {path}")
    return "; ".join(done)


async def interleave(ops: list[tuple[str, str, Any]], folder: Path) -> None:
    async with benches(folder) as make:
        bench: Bench = await make({"text": "x"}, policy=COMMANDS_ALLOWED)
        obvious = ObviousHistory(dict.fromkeys(PATHS))
        typed = 0
        for turn, (kind, path, choose) in enumerate(ops):
            lines = obvious.files[path]
            if kind == "again":  # the next process resumes the session
                await bench.runtime.close()
                turns = bench.turns
                bench = await make({"text": "x"}, policy=COMMANDS_ALLOWED)
                bench.turns = turns
            elif kind == "undo":
                assert ((await bench.ask(UNDO)).status == "completed") == obvious.undo(), (turn, kind)
            elif kind == "redo":
                assert ((await bench.ask(REDO)).status == "completed") == obvious.redo(), (turn, kind)
            elif kind == "remove":
                if lines is not None:
                    assert (await bench.ask(own("delete_file", path=path))).status == "completed"
                    obvious.change(turn, {path: None})
            else:
                new = [line for line in lines or [] if choose.random() < 0.8]
                for _ in range(choose.randint(1, 3)):
                    typed += 1
                    new.insert(choose.randint(0, len(new)), f"{kind} {typed}")
                if kind == "agent":
                    content = "".join(f"{line}\n" for line in new)
                    result = await bench.ask(own("write_file", path=path, content=content))
                    assert result.status == "completed", reason(result)
                    obvious.change(turn, {path: new})
                elif kind == "command":
                    other = next(each for each in PATHS if each != path)
                    both = {path: new} | ({other: None} if obvious.files[other] and choose.random() < 0.4 else {})
                    result = await bench.ask(own("run_command", "EXECUTE", command=command_for(both)))
                    assert result.status == "completed", reason(result)
                    obvious.change(turn, both)
                else:
                    (bench.workspace / path).write_text("".join(f"{line}\n" for line in new))
                    obvious.files[path] = new
            for each in PATHS:
                file = bench.workspace / each
                there = file.read_text().splitlines() if file.exists() else None
                assert there == obvious.files[each], (turn, kind, each)


@pytest.mark.slow
@given(OPS)
@settings(max_examples=examples(30), deadline=None)
def test_SES_05_any_interleaving_ends_as_a_second_implementation_does(ops: list[tuple[str, str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(interleave(ops, Path(folder)))


async def test_SES_05_the_models_turns_are_undone_and_redone(make_bench: Any) -> None:
    bench: Bench = await make_bench(
        *wrote(
            call("write_file", path="new.py", content="x = 1\n"),
            call("edit_file", path="a.py", old_text="total = 0", new_text="total = 1"),
            call("move_file", path="a.py", new_path="b.py"),
            call("delete_file", path="b.py"),
        )
    )
    for number in range(4):
        result = await bench.ask(f"step {number}")
        assert result.status == "completed", reason(result)
    changed = SHOP.replace("= 0", "= 1")
    states = [{"a.py": SHOP}, {"a.py": SHOP, "new.py": "x = 1\n"}]
    states += [{"a.py": changed, "new.py": "x = 1\n"}, {"b.py": changed, "new.py": "x = 1\n"}, {"new.py": "x = 1\n"}]

    def there() -> dict[str, str]:
        return {path.name: path.read_text() for path in bench.workspace.glob("*.py")}

    assert there() == states[4]
    for state in reversed(states[:4]):
        assert (await bench.ask(UNDO)).status == "completed"
        assert there() == state
    assert "there is nothing to undo" in reason(await bench.ask(UNDO))
    for state in states[1:]:
        assert (await bench.ask(REDO)).status == "completed"
        assert there() == state
    assert "there is nothing to redo" in reason(await bench.ask(REDO))


async def test_SES_05_what_was_changed_since_stays_and_is_said(make_bench: Any) -> None:
    bench: Bench = await make_bench(*wrote(call("write_file", path="a.py", content="1\n2\n3\n4\n5\n")))
    (bench.workspace / "a.py").write_text("one\n2\n3\n4\nfive\n")
    await bench.ask(own("read_file", "READ_FILE", path="a.py"))
    assert (await bench.ask("write")).status == "completed"
    (bench.workspace / "a.py").write_text("mine\n2\n3\n4\n5\n")
    await bench.ask(UNDO)
    assert (bench.workspace / "a.py").read_text() == "mine\n2\n3\n4\nfive\n"
    assert "a.py: 1 of its 2 places was changed since, and stays as it is" in bench.of("tool_result")[-1].output


async def test_SES_05_a_turn_that_was_restored_by_hand_does_not_stop_the_one_before(make_bench: Any) -> None:
    bench: Bench = await make_bench({"text": "x"})
    for path in PATHS:
        (bench.workspace / path).write_text("1\n")
        await bench.ask(own("read_file", "READ_FILE", path=path))
        await bench.ask(own("write_file", path=path, content="2\n"))
    (bench.workspace / "two.txt").write_text("1\n")
    result = await bench.ask(UNDO)
    (told,) = [each for each in bench.of("tool_result") if each.tool == "undo_changes"]
    assert (result.status, result.changes, told.ok, told.data["changed"]) == ("completed", (), True, [])
    assert (await bench.ask(UNDO)).status == "completed"
    assert [(bench.workspace / path).read_text() for path in PATHS] == ["1\n", "1\n"]
    assert "there is nothing to undo" in reason(await bench.ask(UNDO))
    assert (await bench.ask(REDO)).status == "completed"
    assert [(bench.workspace / path).read_text() for path in PATHS] == ["2\n", "1\n"]
    assert "there is nothing to redo" in reason(await bench.ask(REDO))


async def test_SES_05_a_turn_whose_file_was_changed_since_can_still_be_undone_later(make_bench: Any) -> None:
    bench: Bench = await make_bench({"text": "x"})
    file = bench.workspace / "two.txt"
    await bench.ask(own("write_file", path="two.txt", content="2\n"))
    file.write_text("mine\n")
    assert (await bench.ask(UNDO)).status != "completed"
    assert file.read_text() == "mine\n"
    file.write_text("2\n")
    assert (await bench.ask(UNDO)).status == "completed"
    assert not file.exists()


@pytest.mark.parametrize("in_folder", [False, True])
@pytest.mark.parametrize("outside", [False, True])
async def test_SES_05_no_link_that_the_person_put_in_a_file_s_place_is_followed(
    make_bench: Any, tmp_path: Path, in_folder: bool, outside: bool
) -> None:
    """The other file has exactly the content that the turn wrote, so only its name shows that it is another file."""
    bench: Bench = await make_bench({"text": "x"})
    place = bench.workspace / "out"
    place.mkdir()
    (place / "edited.txt").write_text("old\n")
    await bench.ask(own("read_file", "READ_FILE", path="out/edited.txt"))
    for name in ("made", "edited"):
        assert (await bench.ask(own("write_file", path=f"out/{name}.txt", content="new\n"))).status == "completed"
    mine = (tmp_path if outside else bench.workspace) / "mine"
    if in_folder:
        place.rename(mine)
        place.symlink_to(mine)
    else:
        mine.mkdir()
        for file in list(place.iterdir()):
            file.rename(mine / file.name)
            file.symlink_to(mine / file.name)
    for turn in ("2", "3"):
        result = await bench.ask(own("undo_changes", turn=turn))
        assert result.status != "completed" or not result.changes
    assert {file.name: file.read_text() for file in mine.iterdir()} == {"made.txt": "new\n", "edited.txt": "new\n"}
    assert place.is_symlink() == in_folder


async def test_SES_05_one_file_of_a_turn(make_bench: Any) -> None:
    bench: Bench = await make_bench({"text": "x"})
    for path in PATHS:
        await bench.ask(own("write_file", path=path, content="x\n"))
    assert (await bench.ask(own("undo_changes", turn="1", paths=["one.txt"]))).status == "completed"
    assert [(bench.workspace / path).exists() for path in PATHS] == [False, True]
    assert SAYS.changed_none_of_these_files in reason(await bench.ask(own("undo_changes", paths=["a.py"])))


async def test_SES_05_rights_come_back(make_bench: Any) -> None:
    bench: Bench = await make_bench({"text": "x"})
    script = bench.workspace / "run.sh"
    script.write_text("true\n")
    script.chmod(0o755)
    await bench.ask(own("delete_file", path="run.sh"))
    assert not script.exists()
    assert (await bench.ask(UNDO)).status == "completed"
    assert stat.S_IMODE(script.stat().st_mode) & 0o111
    assert script.read_text() == "true\n"


async def test_SES_05_what_a_command_changed_is_undone(make_bench: Any) -> None:
    if not ISOLATED:
        pytest.skip("there is no bwrap to run commands in: install bubblewrap")
    bench: Bench = await make_bench({"text": "x"}, policy=COMMANDS_ALLOWED)
    command = "sed -i s/0/7/ a.py && echo made > made.txt"
    result = await bench.ask(own("run_command", "EXECUTE", command=command))
    assert result.status == "completed", reason(result)
    assert (bench.workspace / "a.py").read_text() == SHOP.replace("= 0", "= 7")
    (bench.workspace / "ignored.txt").write_text("mine")
    result = await bench.ask(UNDO)
    assert result.status == "completed", reason(result)
    assert (bench.workspace / "a.py").read_text() == SHOP
    assert sorted(path.name for path in bench.workspace.iterdir()) == ["a.py", "ignored.txt"]


async def test_THR_undo_a_model_cannot_call_it(make_bench: Any) -> None:
    bench: Bench = await make_bench(
        *wrote(call("write_file", path="new.py", content="x\n"), call("undo_changes")), {"text": "done"}
    )
    await bench.ask("write")
    result = await bench.ask("take it back")
    assert [trace.decision for trace in result.tool_trace if trace.tool == "undo_changes"] == ["refused"]
    assert (bench.workspace / "new.py").exists()


async def test_THR_undo_does_not_write_what_policy_forbids(make_bench: Any, tmp_path: Path) -> None:
    bench: Bench = await make_bench({"text": "x"})
    await bench.ask(own("write_file", path="new.py", content="x\n"))
    await bench.runtime.close()
    later: Bench = await make_bench(
        {"text": "x"},
        policy="capabilities:\n  - { name: mine, match: { syscall: fs.write, path_glob: new.py }, action: deny }\n",
    )
    later.turns = bench.turns
    result = await later.ask(UNDO)
    assert result.status != "completed"
    assert (bench.workspace / "new.py").read_text() == "x\n"


async def test_SES_05_what_cannot_be_kept_is_not_changed(make_bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bench: Bench = await make_bench({"text": "x"})

    def full(self: Any, digest: str, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("remit_server.sessions.history.Contents.keep", full)
    result = await bench.ask(own("write_file", path="a.py", content="x\n"))
    assert "nothing was changed: what the files hold cannot be kept for undo" in reason(result)
    assert (bench.workspace / "a.py").read_text() == SHOP


async def test_SES_05_contents_are_the_owners_alone_and_go_with_the_session(make_bench: Any) -> None:
    bench: Bench = await make_bench({"text": "x"})
    await bench.ask(own("write_file", path="a.py", content="x\n"), asker=Answering())
    kept = [path for path in bench.settings.session_folder.glob("contents/*/*") if path.is_file()]
    assert len(kept) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert stat.S_IMODE((bench.settings.session_folder / "contents").stat().st_mode) == 0o700
