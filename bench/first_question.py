"""What a first question to the built-in model costs, part by part.

The program runs `remit "which file defines f?"` in a small repository, each time as a new process, after a run that is
not measured: the page cache is warm, byte code, audit log and key exist. It is compared with a Python that does nothing
and, if one is named, with the `remit` of another checkout, alternately in the same run. Processor time is that of all
processes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

QUESTION = "which file defines f?"
IMPORTS = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \| +(\S+)$", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--beside", type=Path, help="another checkout's .venv/bin/remit, by turns in the same run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    ours = Path(sys.executable).with_name("remit")
    sides = {"this": ours, **({"beside": arguments.beside} if arguments.beside else {})}
    with tempfile.TemporaryDirectory() as folder:
        places = {name: place(Path(folder) / name) for name in sides}
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in (*sides, "python")}
        for name, program in sides.items():
            timed([str(program), QUESTION], *places[name])  # the first run writes policy, keys and byte code
        for _ in range(arguments.rounds):
            for name, program in sides.items():
                taken[name].append(timed([str(program), QUESTION], *places[name]))
            taken["python"].append(timed([sys.executable, "-c", ""], *places["this"]))
        parts = imports([str(ours), QUESTION], *places["this"])
    report = {
        "rounds": arguments.rounds,
        **{name: figures(times) for name, times in taken.items()},
        "largest_imports_ms": parts,
    }
    if arguments.beside:
        pairs = zip(taken["this"], taken["beside"], strict=True)
        report["cpu_to_beside"] = round(median(mine[1] / other[1] for mine, other in pairs), 3)
    print(json.dumps(report) if arguments.json else table(report))


def place(folder: Path) -> tuple[Path, dict[str, str]]:
    """Makes a repository with one function, and returns it with an environment whose home is empty."""
    workspace = folder / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "a.py").write_text("def f():\n    return 1\n")
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    home = {"HOME": "home", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache"}
    return workspace, {"PATH": os.environ["PATH"], **{name: str(folder / where) for name, where in home.items()}}


def timed(command: Sequence[str], workspace: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """Returns the seconds by the clock, and the processor time of the process and its children."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=workspace, env=dict(environment), check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def imports(command: Sequence[str], workspace: Path, environment: Mapping[str, str]) -> dict[str, float]:
    """Returns the milliseconds of the largest top-level packages that the process itself imports."""
    profiled = {**environment, "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(command, cwd=workspace, env=profiled, check=True, capture_output=True, text=True)
    sums: dict[str, int] = {}
    for own, name in IMPORTS.findall(done.stderr):
        top = name.partition(".")[0]
        sums[top] = sums.get(top, 0) + int(own)
    return {name: round(own / 1000, 1) for name, own in sorted(sums.items(), key=lambda item: -item[1])[:8]}


def figures(times: Sequence[tuple[float, float]]) -> dict[str, float]:
    return {"wall_s": round(median(wall for wall, _ in times), 3), "cpu_s": round(median(cpu for _, cpu in times), 3)}


def table(report: Mapping[str, object]) -> str:
    return "\n".join(f"{name:20} {value}" for name, value in report.items())


if __name__ == "__main__":
    main()
