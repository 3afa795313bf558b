"""The policy engine, compared with Cedar's (cedarpy) with the same rules and the same actions, alternately in one run;
then `remit policy explain --jsonl` on many actions in one process, and the cost of loading a policy compared with its
YAML.

Neither engine keeps anything between two decisions except the rules; still, Remit gets new paths in each round.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import cedarpy
import yaml

from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.rules import Policy
from remit_governance.values import Action

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import cedar

PEER_GOAL, GROWTH_GOAL = 50, 4
SIZES = (10, 100, 1_000)
BIN = Path(sys.executable).parent
FILES = ("src/main.py", "src/deep/er/x.py", "src/generated/y.py", "README.md")

Json = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=2_000, help="decided by each in a round; cedarpy from text: 50")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, default=100_000, help="given to `remit policy explain --jsonl`")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    report = {
        "cedarpy": version("cedarpy"),
        **{
            name: {size: compared(rules(size), asked(size, actions), size, arguments.rounds) for size in SIZES}
            for name, rules, asked, actions in (
                ("folders", of_folders, about_folders, arguments.actions),
                ("endings", of_endings, about_endings, arguments.actions),
                ("many", of_all, about_folders, arguments.actions // 10),
            )
        },
        "explain": explained(arguments.lines, SIZES[-1]),
        "load": {size: loaded(size) for size in (1_000, 10_000)},
    }
    print(json.dumps(report) if arguments.json else table(report))


def of_folders(size: int) -> list[Json]:
    """Returns rules for the packages of a large repository: those of one package concern an action, the others cannot
    match."""
    kinds: Sequence[Callable[[int], Json]] = (
        lambda n: {"match": {"syscall": ["fs.write"], "path_glob": [f"packages/p{n}/src/**"]}, "action": "allow"},
        lambda n: {"match": {"syscall": ["fs.read"], "path_glob": [f"packages/p{n}/**"]}, "action": "allow"},
        lambda n: {
            "match": {"syscall": ["fs.write"], "path_glob": [f"packages/p{n}/src/generated/**"]},
            "action": "deny",
        },
        lambda n: {"match": {"tool": [f"tool-{n}"], "caller_tag": ["third_party"]}, "action": "deny"},
        lambda n: {
            "match": {"syscall": ["fs.write"], "path_glob": [f"packages/p{n}/README.md"], "intent": ["WRITE_FILE"]},
            "action": "allow",
        },
    )
    return [{"name": f"r{n}", **kinds[n % len(kinds)](n // len(kinds))} for n in range(size)]


def of_endings(size: int) -> list[Json]:
    """Returns rules for files by the ends of their names, in any folder: those of one ending concern an action."""
    kinds: Sequence[Callable[[int], Json]] = (
        lambda n: {"match": {"syscall": ["fs.write"], "path_glob": [f"**/*.e{n}"]}, "action": "allow"},
        lambda n: {"match": {"syscall": ["fs.read"], "path_glob": [f"**/*.e{n}"]}, "action": "allow"},
        lambda n: {"match": {"syscall": ["fs.write"], "path_glob": [f"**/*.gen.e{n}"]}, "action": "deny"},
    )
    return [{"name": f"r{n}", **kinds[n % len(kinds)](n // len(kinds))} for n in range(size)]


def of_all(size: int) -> list[Json]:
    """Returns rules of which every second one matches every action, and must be named in the decision."""
    return [
        {
            "name": f"r{n}",
            "match": {"caller_tag": ["model" if n % 2 else "human"], "path_glob": ["packages/**"]},
            "action": "allow",
        }
        for n in range(size)
    ]


def about_folders(size: int, count: int) -> list[Json]:
    """Returns actions on files in all packages that the rules concern, each path once; one in ten is in another
    package."""
    seeded = random.Random(size)
    packages = max(size // 5, 1)
    return [
        {
            "syscall": seeded.choice(("fs.read", "fs.write")),
            "path": f"packages/p{seeded.randrange(packages * 10 // 9 + 1)}/{seeded.choice(FILES)}".replace(
                ".", f"-{n}."
            ),
            "tool": "edit_file",
            "intent": seeded.choice(("CODE", "READ_FILE")),
            "caller_tags": ["model"],
        }
        for n in range(count)
    ]


def about_endings(size: int, count: int) -> list[Json]:
    """Returns actions on files with all endings that the rules concern, each path once; one in ten has another
    ending."""
    seeded = random.Random(size)
    endings = max(size // 3, 1)
    return [
        {
            "syscall": seeded.choice(("fs.read", "fs.write")),
            "path": f"src/deep/er/x-{n}{seeded.choice(('', '.gen'))}.e{seeded.randrange(endings * 10 // 9 + 1)}",
            "tool": "edit_file",
            "intent": "CODE",
            "caller_tags": ["model"],
        }
        for n in range(count)
    ]


def policy_of(rules: Sequence[Json]) -> Policy:
    return compile_policy([Source("bench", json.dumps({"version": 1, "capabilities": rules}))])


def compared(rules: Sequence[Json], forms: Sequence[Json], size: int, rounds: int) -> dict[str, float]:
    """Returns the processor time of a decision in µs, the best of several rounds: both engines have the same rules,
    actions and work.

    Prepared beforehand are the policy, and for each action what the engine takes: an `Action`, or a request with its
    context as text. cedarpy gets fewer of the actions if there are many rules, because its time grows with them.
    """
    text = cedar.policies(rules)
    policy, theirs, nobody = policy_of(rules), cedarpy.PolicySet.from_str(text), cedarpy.Entities.from_json_str("[]")
    lines = [json.dumps(form) for form in forms]
    actions, requests = [parse_action(form) for form in forms], [cedar.request(form) for form in forms]
    agree(policy, actions, cedarpy.is_authorized_batch(requests, theirs, nobody))
    some = max(20_000 // size, 50)
    ways: dict[str, Callable[[], int]] = {
        "remit_from_json": lambda: decided(policy, (parse_action(json.loads(line)) for line in lines)),
        "cedarpy_batch": lambda: len(cedarpy.is_authorized_batch(requests[:some], theirs, nobody)),
        "cedarpy_each": lambda: len([cedarpy.is_authorized(each, theirs, nobody) for each in requests[:some]]),
        "cedarpy_from_json": lambda: len(
            [cedarpy.is_authorized(cedar.request(json.loads(line)), theirs, nobody) for line in lines[:some]]
        ),
        "cedarpy_text": lambda: len([cedarpy.is_authorized(each, text, "[]") for each in requests[: some // 10]]),
    }
    times: dict[str, list[float]] = {"remit": []}
    for number in range(rounds):
        unseen = [replace(action, path=f"{number}/".join((action.path or "").rsplit("/", 1))) for action in actions]
        times["remit"].append(timed(lambda unseen=unseen: decided(policy, unseen)))
        for name, way in ways.items():
            times.setdefault(name, []).append(timed(way))
    best = {name: min(each) for name, each in times.items()}
    fastest = min(best["cedarpy_batch"], best["cedarpy_each"])
    return {
        **{f"{name}_us": round(value, 2) for name, value in best.items()},
        **{f"{name}_median_us": round(median(each), 2) for name, each in times.items()},
        "ratio_text": round(best["cedarpy_text"] / best["remit"], 1),
        "ratio_fastest": round(fastest / best["remit"], 1),
        "ratio_from_json": round(best["cedarpy_from_json"] / best["remit_from_json"], 1),
    }


def timed(way: Callable[[], int]) -> float:
    gc.collect()
    begun = time.process_time()
    done = way()
    return (time.process_time() - begun) / done * 1e6


def decided(policy: Policy, actions: Iterable[Action]) -> int:
    return len([evaluate(policy, action) for action in actions])


def agree(policy: Policy, actions: Sequence[Action], answers: Sequence[cedarpy.AuthzResult]) -> None:
    for action, answer in zip(actions, answers, strict=True):
        assert not answer.diagnostics.errors
        assert evaluate(policy, action).allowed is answer.allowed, action


def explained(lines: int, size: int) -> dict[str, float]:
    """Runs one process of the real command: actions on standard input, decisions on standard output."""
    with tempfile.TemporaryDirectory() as folder:
        policy, given, answers = (Path(folder) / name for name in ("policy.yaml", "actions.jsonl", "decisions.jsonl"))
        policy.write_text(json.dumps({"version": 1, "capabilities": of_folders(size)}))
        given.write_text("".join(json.dumps(form) + "\n" for form in about_folders(size, lines)))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        begun = time.perf_counter()
        with given.open() as source, answers.open("w") as sink:
            command = [str(BIN / "remit"), "policy", "explain", "--policy", str(policy), "--jsonl"]
            subprocess.run(command, stdin=source, stdout=sink, check=True)
        seconds = time.perf_counter() - begun
        user = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        verdicts = [json.loads(line)["verdict"] for line in answers.read_text().splitlines()]
    assert len(verdicts) == lines
    return {
        "lines": lines,
        "rules": size,
        "wall_s": round(seconds, 2),
        "user_s": round(user, 2),
        "us_each": round(user / lines * 1e6, 1),
        "allowed": verdicts.count("allow"),
    }


def loaded(size: int) -> dict[str, float]:
    """Returns the processor time from YAML text to a policy, and to plain values with PyYAML's fastest safe loader."""
    text = yaml.dump({"version": 1, "capabilities": of_folders(size)}, Dumper=yaml.CSafeDumper, sort_keys=False)
    ours, theirs = [], []
    for _ in range(3):
        ours.append(timed(lambda: bool(compile_policy([Source("bench", text)]))))
        theirs.append(timed(lambda: bool(yaml.load(text, Loader=yaml.CSafeLoader))))
    return {"seconds": round(min(ours) / 1e6, 3), "yaml_seconds": round(min(theirs) / 1e6, 3)}


def table(report: Mapping[str, Any]) -> str:
    parts = [report[name] for name in ("folders", "endings", "many")]
    rows = {
        "remit": "remit_us",
        "remit, from a line of JSON": "remit_from_json_us",
        "cedarpy, parsed, one batch": "cedarpy_batch_us",
        "cedarpy, parsed, one by one": "cedarpy_each_us",
        "cedarpy, parsed, from JSON": "cedarpy_from_json_us",
        "cedarpy, policies as text": "cedarpy_text_us",
        "fastest cedarpy / remit": "ratio_fastest",
        "both from JSON": "ratio_from_json",
        "cedarpy from text / remit": "ratio_text",
    }
    ratio = report["folders"][100]["ratio_fastest"]
    met = {True: "met", False: "missed"}
    return "\n".join(
        [
            f"processor time of a decision in µs, best of the rounds; cedarpy {report['cedarpy']}",
            f"{'':30}{'by folder':^30}{'by ending':^30}{'every second rule matches':^30}",
            f"{'rules':30}" + "".join(f"{size:10}" for size in SIZES * 3),
            *(
                f"{title:30}" + "".join(f"{part[size][key]:10.1f}" for part in parts for size in SIZES)
                for title, key in rows.items()
            ),
            f"goal at 100 rules by folder, {PEER_GOAL} times cedarpy's fastest: {ratio}, {met[ratio >= PEER_GOAL]}",
            *(growth(report[name], name) for name in ("folders", "endings")),
            "",
            "remit policy explain --jsonl, {lines} actions over {rules} rules in one process: "
            "{wall_s} s, {user_s} s of them its own, {us_each} µs each".format(**report["explain"]),
            *(
                f"loading {size} rules: {each['seconds']} s; their YAML alone, CSafeLoader: {each['yaml_seconds']} s"
                for size, each in report["load"].items()
            ),
        ]
    )


def growth(part: Mapping[int, Mapping[str, float]], name: str) -> str:
    grown = round(part[SIZES[-1]]["remit_us"] / part[SIZES[0]]["remit_us"], 2)
    verdict = "met" if grown <= GROWTH_GOAL else "missed"
    return f"remit from {SIZES[0]} to {SIZES[-1]} rules, {name}: {grown}; goal at most {GROWTH_GOAL}: {verdict}"


if __name__ == "__main__":
    main()
