"""Files that policy hides from commands, in folders whose names together are longer than a path may be (INT-01)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import Bench
from threat_bench import LAX, result

LEVELS, NAME = 30, "n" * 200


def deep(folder: Path, name: str) -> None:
    """Makes the file below many nested folders."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir(NAME, dir_fd=here)
        above, here = here, os.open(NAME, os.O_RDONLY, dir_fd=here)
        os.close(above)
    file = os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.write(file, b"hidden-value\n")
    os.close(file)
    os.close(here)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")
async def test_thr_paths_error_too_deep_to_look_hides_all(make_bench: Any) -> None:
    """THR-paths-error-too-deep: a file that cannot be examined does not count as visible."""
    bench: Bench = await make_bench(policy=LAX)
    deep(bench.workspace, ".env")
    go = f"import os\nfor _ in range({LEVELS}): os.chdir({NAME!r})\nprint(open('.env').read())\n"
    (bench.workspace / "go.py").write_text(go)
    answer = await result(bench, "run_command", command="python3 go.py")
    assert "hidden-value" not in answer.output
    assert answer.error is not None
    assert answer.error.code == "limit_reached"
    shutil.rmtree(bench.workspace / NAME)
