"""AGT-05: if a call names a file only by its last part, the refusal says where such a file is."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import Bench, call, intent

SECRETS = """\
version: 1
capabilities:
  - {name: hidden, match: {syscall: fs.read, path_glob: ["secret/**"]}, action: deny, reason: not for the model}
  - {name: reading, match: {syscall: fs.read, path_glob: ["**"]}, action: allow, reason: reading is fine}
"""


async def fix_of(bench: Bench, *files: str) -> str:
    for name in files:
        (bench.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.workspace / name).write_text("x = 1\n")
    await bench.ask("look at cli.py")
    (error,) = [each.error for each in bench.of("tool_result") if not each.ok]
    assert error.code == "not_found"
    return str(error.fix)


CALLS = [
    (intent("READ_FILE"), call("read_file", path="cli.py")),
    (intent("CODE"), call("delete_file", path="cli.py")),
    (intent("CODE"), call("edit_file", path="cli.py", old_text="x", new_text="y")),
    (intent("CODE"), call("move_file", path="cli.py", new_path="main.py")),
]


@pytest.mark.parametrize("calls", CALLS, ids=["read", "delete", "edit", "move"])
async def test_AGT_05_a_file_in_another_folder_is_named_in_the_refusal(make_bench: Any, calls: tuple[Any, ...]) -> None:
    bench: Bench = await make_bench({"calls": list(calls)}, {"text": "?"})
    fix = await fix_of(bench, "shop/cli.py", "shop/mycli.py")
    assert "`shop/cli.py`" in fix
    assert "mycli" not in fix


async def test_AGT_05_a_file_that_may_not_be_read_is_not_named(make_bench: Any) -> None:
    bench: Bench = await make_bench({"calls": list(CALLS[0])}, {"text": "?"}, policy=SECRETS)
    assert "secret" not in await fix_of(bench, "secret/cli.py")


async def test_AGT_05_the_file_that_was_found_so_can_be_read(make_bench: Any) -> None:
    found = {"calls": [intent("READ_FILE"), call("read_file", path="shop/cli.py")]}
    bench: Bench = await make_bench({"calls": list(CALLS[0])}, found, {"text": "It sets x."})
    assert "`shop/cli.py`" in await fix_of(bench, "shop/cli.py")
    assert [each.ok for each in bench.of("tool_result")] == [False, True]
