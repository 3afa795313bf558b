"""How `remit hook` with its default policy judges commands that somebody else has judged, and what one call costs.

    python bench/hooks.py judged FOLDER   Dippy's tests (github.com/ldayton/Dippy, `tests/cli`): safe or not, by program
    python bench/hooks.py time [N]        one call as an agent starts it, compared with Python's own start

For the judged commands it prints how many of the safe ones are allowed, and each unsafe one that is allowed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from remit_governance.intents import NO_INTENT
from remit_governance.policy.language.load import load_policy
from remit_governance.rulebook import Rulebook
from remit_server.hooks.formats.agents import AGENTS
from remit_server.hooks.formats.events import ToolCalled, parse_event
from remit_server.hooks.judging.actions import Place
from remit_server.hooks.judging.deciding import Governed, decide
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.trees.known_folders import KnownFolders

CLAUDE = AGENTS["claude-code"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    judged = commands.add_parser("judged")
    judged.add_argument("folder", type=Path)
    commands.add_parser("time").add_argument("calls", nargs="?", type=int, default=50)
    arguments = parser.parse_args()
    if arguments.what == "time":
        print_times(arguments.calls)
    else:
        print_judged(arguments.folder)


def judged_commands(folder: Path) -> Iterator[tuple[str, str, bool]]:
    """Yields each command with the program whose file it is in, and whether it is judged safe; these are pairs in the
    tests."""
    for file in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Tuple) and len(node.elts) == 2:
                try:
                    command, safe = ast.literal_eval(node)
                except (ValueError, TypeError):
                    continue
                if isinstance(command, str) and isinstance(safe, bool):
                    yield file.stem.removeprefix("test_"), command, safe


def word_for(command: str, place: Place, governed: Governed) -> str:
    event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
    called = parse_event(CLAUDE, json.dumps(event).encode())
    assert isinstance(called, ToolCalled)
    return decide(called, CLAUDE.tools, place, governed).word


def print_judged(folder: Path) -> None:
    counted: Counter[tuple[str, bool, str]] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as made, Workspace(Path(made)) as workspace:
        place = Place(workspace, str(workspace.root), NO_INTENT)
        rules = Rulebook(load_policy(hooks=True))
        governed = Governed(rules, KnownFolders(), False, lambda intents: intents, "")
        for program, command, safe in judged_commands(folder):
            word = word_for(command, place, governed)
            counted[program, safe, word] += 1
            if not safe and word == "allow":
                wrong.append(f"{program}: {command}")
    for program in sorted({program for program, _, _ in counted}):
        print(f"{program:16} safe {_share(counted, program, True)}   unsafe {_share(counted, program, False)}")
    for safe, name in ((True, "safe"), (False, "unsafe")):
        total = sum(count for (_, is_safe, _), count in counted.items() if is_safe is safe)
        words = {
            w: sum(c for (_, s, v), c in counted.items() if s is safe and v == w) for w in ("allow", "ask", "deny")
        }
        print(f"{name}: {total}, of them {words}")
    print(*wrong, sep="\n")


def _share(counted: Counter[tuple[str, bool, str]], program: str, safe: bool) -> str:
    of = sum(counted[program, safe, word] for word in ("allow", "ask", "deny"))
    return f"{counted[program, safe, 'allow']:4} of {of:4} allowed"


def print_times(calls: int) -> None:
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        (root / "shop").mkdir()
        environment = {**os.environ, "REMIT_STATE_DIR": f"{made}/state", "REMIT_CONFIG_DIR": f"{made}/config"}
        remit = str(Path(sys.executable).with_name("remit"))
        for name, command in (("reads", "ls -la"), ("asks", "make build")):
            event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
            data = json.dumps({**event, "cwd": str(root / "shop"), "session_id": "s"}).encode()
            hook = [remit, "hook", "claude-code"]
            print(f"{name}, plain:   {_median(hook, data, {**environment, 'REMIT_HOOK_RESIDENT': 'off'}, 5)}")
            _median(hook, data, environment, 1)
            time.sleep(3)
            print(f"{name}, resident: {_median(hook, data, environment, calls)}")
        print(f"python -c pass:   {_median([sys.executable, '-c', 'pass'], b'', environment, calls)}")


def _median(command: list[str], data: bytes, environment: dict[str, str], calls: int) -> str:
    took: list[float] = []
    for _ in range(calls):
        begun = time.perf_counter()
        subprocess.run(command, input=data, env=environment, capture_output=True, check=True)
        took.append((time.perf_counter() - begun) * 1000)
    return f"{statistics.median(took):.1f} ms at the median, {max(took):.1f} ms at most, of {calls}"


if __name__ == "__main__":
    main()
