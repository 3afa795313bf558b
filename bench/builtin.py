"""The built-in model on requests that were written by somebody who had not seen its rules.

`python bench/builtin.py` makes each request of `requests/builtin.yaml` in a fresh repository of the set's files. The
result is right, declined although it could be done, or wrong. A request without a needed part is right if exactly that
part is asked for; a request that the model is not for is right if it is declined. A false claim says that something is
done that is not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml
from judge import git, wrong

HERE = Path(__file__).parent
REMIT = Path(sys.executable).with_name("remit")
PARTS: Mapping[str, str] = {
    "file": r"file|path",
    "new_name": r"new name|to what|what .*call",
    "old_name": r"which name|old name|rename what|what .*rename",
    "text": r"text|what .*(?:search|replace|add|write)",
    "line": r"line|where",
    "command": r"command",
    "value": r"value",
}
"""Patterns of the hint that asks for each part."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", nargs="?", type=Path, default=HERE / "requests" / "builtin.yaml")
    parser.add_argument("--remit", type=Path, default=REMIT)
    parser.add_argument("--log", type=Path, help="a file that gets every outcome, a JSON object a line")
    parser.add_argument("--at-once", type=int, default=2)
    told = parser.parse_args()
    chosen = yaml.safe_load(told.set.read_text())
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(told.at_once) as pool:
        base = Path(folder) / "base"
        prepare(base, chosen["files"])
        found = list(pool.map(lambda each: judged(each, base, Path(folder), told.remit), chosen["requests"]))
    if told.log:
        told.log.write_text("".join(json.dumps(each) + "\n" for each in found))
    print(json.dumps(figures(found), indent=1))


def prepare(base: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_text(text)
    git(base, "init", "-q")
    git(base, "add", "-A")
    git(base, "commit", "-qm", "base")


def judged(request: Mapping[str, Any], base: Path, folder: Path, program: Path) -> dict[str, Any]:
    workspace = folder / request["id"]
    shutil.copytree(base, workspace)
    own = {"REMIT_STATE_DIR": str(folder / "state"), "REMIT_CONFIG_DIR": str(folder / "config")}
    command = [str(program), "ask", "--json", "--approve", "session", "--model", "built-in", request["ask"]]
    done = subprocess.run(
        command,
        check=False,
        cwd=workspace,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
    )
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    result = next((event["result"] for event in events if event["kind"] == "run_completed"), {})
    calls = [event for event in events if event["kind"] == "tool_call"]
    answer, right = result.get("final_output") or "", request["right"]
    missed = wrong(right, workspace, answer)
    if "tool" in right and right["tool"] not in [call["tool"] for call in calls]:
        missed.append("tool")
    ran = [str((call.get("arguments") or {}).get("command", "")) for call in calls]
    if "ran" in right and not any(re.search(right["ran"], each, re.IGNORECASE) for each in ran):
        missed.append("ran")
    declined = result.get("status") == "declined"
    if "asks_for" in right and not (declined and re.search(PARTS[right["asks_for"]], answer, re.IGNORECASE)):
        missed.append("asks_for")
    if right.get("declined") and not declined:
        missed.append("declined")
    shutil.rmtree(workspace, ignore_errors=True)
    return {
        **{name: request[name] for name in ("id", "lang", "kind", "ask")},
        "outcome": "right" if not missed else "declined" if declined else "wrong",
        "claims": bool(missed) and result.get("status") == "completed",
        "missed": missed,
        "status": result.get("status") or done.stderr[-200:],
        "answer": answer[-300:],
    }


def figures(found: list[dict[str, Any]]) -> dict[str, Any]:
    by: dict[str, dict[str, Counter[str]]] = {"kind": defaultdict(Counter), "lang": defaultdict(Counter)}
    for each in found:
        for name, counts in by.items():
            counts[each[name]][each["outcome"]] += 1
    own = Counter(each["outcome"] for each in found if each["kind"] != "foreign")
    foreign = Counter(each["outcome"] for each in found if each["kind"] == "foreign")
    return {
        "for it": dict(own),
        "not for it": dict(foreign),
        "false claims": sum(each["claims"] for each in found),
        **{name: {key: dict(value) for key, value in sorted(counts.items())} for name, counts in by.items()},
    }


if __name__ == "__main__":
    main()
