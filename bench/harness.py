"""One model on one server, used by Remit, plain loops and two agents: how many simple requests come out right.

`python bench/harness.py --url http://127.0.0.1:8080/v1 --model NAME SET.yaml…` makes each request of each set in a
fresh copy of its package, at temperature 0, with each side in turn. It judges by the files and the answer (`judge.py`):
right, ended (with an answer), damage (changed files that the request did not call for), how many rules did alone,
tokens of the first prompt, tokens written per step, seconds. Intervals are Wilson's, at 95 %.

The sets in `requests/`: `tuned.yaml` was used while Remit was improved; `first.yaml` and `second.yaml` were written by
somebody who had not seen Remit, and nobody who changes Remit has looked at them.
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
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, median
from typing import Any

import yaml
from judge import damage, unpack, wrong

from remit_server.models.steps.telling import EXAMPLE_TEXTS

HERE = Path(__file__).parent
REMIT = Path(sys.executable).with_name("remit")
UV = str(Path(sys.executable).with_name("uv"))
LOOPS = ("native", "held", "examples")
AIDER = "aider-chat==0.86.2"
AIDER_OPTIONS = (
    "--yes-always",
    *(f"--no-{name}" for name in ("auto-commits", "dirty-commits", "analytics", "check-update", "gitignore")),
    *(f"--no-{name}" for name in ("show-release-notes", "show-model-warnings", "pretty", "stream", "fancy-input")),
    "--no-detect-urls",
)
_AIDER_TOKENS = re.compile(r"Tokens: ([\d.]+k?) sent, ([\d.]+k?) received")
TIMEOUT_S = 600
ANSWER, CUT = "answer", "cut"
KINDS = {"search": "search_files", "replace_text": "edit_file", "replace_lines": "edit_file"}
"""What the other sides, or another tool, call the same step."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one request to one side."""

    set: str
    id: str
    kind: str
    side: str
    right: bool
    ended: bool
    reported: str
    damage: int
    first_prompt: int
    steps: int
    written: int
    seconds: float
    answer: str
    wrong: tuple[str, ...]
    values: int
    copied: tuple[str, ...]
    tokens_of: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Turn:
    """What a side reports of one turn: `usage` has the tokens read and written in each step, `kinds` the kind of each
    step, `values` the texts in the arguments of its calls."""

    answer: str
    ended: bool
    reported: str
    usage: Sequence[tuple[int, int]]
    values: Sequence[str] = ()
    kinds: Sequence[str] = ()


Side = Callable[[Path, str], Turn]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", type=Path, default=[HERE / "requests" / "tuned.yaml"])
    parser.add_argument("--url", required=True, help="the server, with /v1")
    parser.add_argument("--model", required=True)
    parser.add_argument("--sides", default=",".join(("remit", *LOOPS)))
    parser.add_argument("--remit", type=Path, default=REMIT, help="the `remit` of another checkout")
    parser.add_argument("--only", default="", help="ids, with commas")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--log", type=Path, help="a file that gets every outcome, a JSON object a line")
    parser.add_argument("--json", action="store_true")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        sides = make_sides(told, Path(place))
        found = [
            outcome
            for file in told.sets
            for outcome in run_set(file, sides, Path(place), told.rounds, frozenset(filter(None, told.only.split(","))))
            if log(outcome, told.log)
        ]
    report = {side: figures([each for each in found if each.side == side]) for side in sides}
    print(json.dumps(report) if told.json else table(report))


def make_sides(told: argparse.Namespace, place: Path) -> dict[str, Side]:
    def remit(workspace: Path, request: str) -> Turn:
        return ask_remit(told.remit, f"openai:{told.model}@{told.url}", workspace, request, place / "state")

    def loop(form: str) -> Side:
        return lambda workspace, request: ask_loop(form, told.url, told.model, workspace, request)

    def aider(workspace: Path, request: str) -> Turn:
        return ask_aider(told.url, told.model, workspace, request, place / "aider")

    def smolagents(workspace: Path, request: str) -> Turn:
        return ask_smolagents(told.url, told.model, workspace, request)

    known: dict[str, Side] = {"remit": remit, "aider": aider, "smolagents": smolagents}
    return {name: known.get(name) or loop(name) for name in told.sides.split(",")}


def run_set(file: Path, sides: Mapping[str, Side], place: Path, rounds: int, only: frozenset[str]) -> Any:
    chosen = yaml.safe_load(file.read_text())
    base = place / file.stem
    unpack(chosen["package"], base, Path(tempfile.gettempdir()) / "remit-bench-packages")
    for number in range(rounds):
        for request in chosen["requests"]:
            if only and request["id"] not in only:
                continue
            for name, side in sides.items():
                workspace = place / f"{file.stem}-{number}-{request['id']}-{name}"
                shutil.copytree(base, workspace)
                yield judged(file.stem, request, name, side, workspace)
                shutil.rmtree(workspace, ignore_errors=True)


def judged(of: str, request: Mapping[str, Any], name: str, side: Side, workspace: Path) -> Outcome:
    begun = time.perf_counter()
    turn = side(workspace, request["ask"])
    took = time.perf_counter() - begun
    not_right = wrong(request["right"], workspace, turn.answer)
    return Outcome(
        of,
        request["id"],
        request["kind"],
        name,
        not not_right,
        turn.ended,
        turn.reported,
        damage(request["right"], workspace),
        turn.usage[0][0] if turn.usage else 0,
        len(turn.usage),
        sum(written for _, written in turn.usage),
        round(took, 1),
        turn.answer[-400:],
        tuple(not_right),
        len(turn.values),
        tuple(each for each in turn.values if is_copied(each, request["ask"], workspace)),
        tokens_of(turn),
    )


def tokens_of(turn: Turn) -> Mapping[str, Sequence[int]]:
    """Returns the tokens that each step of a kind wrote."""
    steps = [(KINDS.get(kind, kind), written) for kind, (_, written) in zip(turn.kinds, turn.usage, strict=False)]
    return {kind: [written for of, written in steps if of == kind] for kind, _ in steps}


def is_copied(value: str, request: str, workspace: Path) -> bool:
    """Returns whether an argument is a text of the prompt's examples that occurs neither in the request nor in the
    workspace."""
    if value not in EXAMPLE_TEXTS or value in request:
        return False
    return not any(value in text for path in workspace.rglob("*") if (text := _text_of(path, workspace)))


def _text_of(path: Path, workspace: Path) -> str:
    if ".git" in path.parts or not path.is_file():
        return ""
    return f"{path.relative_to(workspace)}\n{path.read_text(errors='replace')}"


def ask_remit(program: Path, model: str, workspace: Path, request: str, state: Path) -> Turn:
    own = {"REMIT_STATE_DIR": str(state), "REMIT_CONFIG_DIR": str(state / "config"), "REMIT_TEMPERATURE": "0"}
    command = [str(program), "ask", "--json", "--approve", "session", "--model", model, request]
    try:
        done = subprocess.run(
            command,
            check=False,
            cwd=workspace,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return Turn("", False, "took too long", ())
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    ends = [event["result"] for event in events if event["kind"] == "run_completed"]
    answer = (ends[-1].get("final_output") or "") if ends else ""
    usage = [event["usage"] for event in events if event["kind"] == "usage"]
    status = ends[-1]["status"] if ends else f"exit {done.returncode}"
    counts = [(each["prompt_tokens"], each["completion_tokens"]) for each in usage]
    calls = [event["arguments"] or {} for event in events if event["kind"] == "tool_call"]
    values = [value for arguments in calls for value in arguments.values() if isinstance(value, str)]
    called = {event["step"]: event["tool"] for event in events if event["kind"] == "tool_call"}
    asked = [event["step"] for event in events if event["kind"] == "usage"]
    kinds = [called.get(step, ANSWER if step == asked[-1] else CUT) for step in asked]
    return Turn(answer, status == "completed" and bool(answer.strip()), status, counts, values, kinds)


def ask_loop(form: str, url: str, model: str, workspace: Path, request: str) -> Turn:
    return told_as_json([sys.executable, str(HERE / "plain_loop.py"), form, url, model, str(workspace), request])


def ask_smolagents(url: str, model: str, workspace: Path, request: str) -> Turn:
    script = [UV, "run", "--quiet", "--script", str(HERE / "code_agent.py")]
    return told_as_json([*script, url, model, str(workspace), request])


def told_as_json(command: Sequence[str]) -> Turn:
    """Runs a loop that prints its result as one JSON object."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return Turn("", False, "took too long", ())
    if done.returncode:
        return Turn("", False, done.stderr.strip().splitlines()[-1][-200:] if done.stderr else "ended", ())
    said = json.loads(done.stdout.splitlines()[-1])
    ended = said["ended"] == "answered" and bool(said["answer"].strip())
    return Turn(said["answer"], ended, said["ended"], said["usage"], kinds=said.get("kinds", ()))


def ask_aider(url: str, model: str, workspace: Path, request: str, own: Path) -> Turn:
    """Runs aider as its manual says for scripts; its own files in the workspace do not count as damage."""
    own.mkdir(exist_ok=True)
    (workspace / ".git" / "info" / "exclude").write_text(".aider*\n")
    command = [UV, "tool", "run", "--quiet", "--from", AIDER, "aider", "--model", f"openai/{model}"]
    kept = [f"--{name}={own / name}" for name in ("chat-history-file", "input-history-file")]
    try:
        done = subprocess.run(
            [*command, *AIDER_OPTIONS, *kept, "--message", request],
            check=False,
            cwd=workspace,
            env={**os.environ, "OPENAI_API_BASE": url, "OPENAI_API_KEY": "none"},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return Turn("", False, "took too long", ())
    usage = [(_tokens(sent), _tokens(received)) for sent, received in _AIDER_TOKENS.findall(done.stdout)]
    return Turn(done.stdout.strip(), done.returncode == 0 and bool(usage), f"exit {done.returncode}", usage)


def _tokens(said: str) -> int:
    return round(float(said.removesuffix("k")) * 1_000) if said.endswith("k") else int(said)


def log(outcome: Outcome, file: Path | None) -> bool:
    if file is not None:
        with file.open("a") as stream:
            stream.write(json.dumps(asdict(outcome)) + "\n")
    return True


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    count = len(outcomes)
    right = sum(each.right for each in outcomes)
    steps = sum(each.steps for each in outcomes)
    return {
        "requests": count,
        "right": right,
        "right_interval": interval(right, count),
        "ended": sum(each.ended for each in outcomes),
        "right_but_not_reported_so": sum(each.right and not each.ended for each in outcomes),
        "damage": sum(each.damage for each in outcomes),
        "without_model": sum(not each.steps for each in outcomes),
        "first_prompt": median([each.first_prompt for each in outcomes if each.steps] or [0]),
        "values": sum(each.values for each in outcomes),
        "copied": [text for each in outcomes for text in each.copied],
        "written_a_step": round(sum(each.written for each in outcomes) / max(steps, 1), 1),
        "steps": round(mean([each.steps for each in outcomes]), 1) if outcomes else 0,
        "seconds": round(sum(each.seconds for each in outcomes), 1),
    }


def interval(right: int, count: int, z: float = 1.96) -> tuple[int, int]:
    """Returns Wilson's interval, in numbers of requests."""
    if not count:
        return 0, 0
    share = right / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return round((middle - half) * count), round((middle + half) * count)


def table(report: Mapping[str, Mapping[str, Any]]) -> str:
    names = list(next(iter(report.values())))
    rows = [[side, *(str(row[name]) for name in names)] for side, row in report.items()]
    return "\n".join(" | ".join(row) for row in [["side", *names], *rows])


if __name__ == "__main__":
    main()
