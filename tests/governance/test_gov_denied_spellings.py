"""Spellings of denied commands, really run with programs that only note their words: a line that did a denied thing
must have been denied, by policy and by the person's permissions (CMD-03).
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from command_spellings import DENIALS, Denial, call, jumble, line_of
from denied_calls import PROGRAMS, deeds

from remit_governance.permissions.permissions import PermissionConfig, PermissionRule, Standing, decide
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.policy.matching.command_match import Match, matches_command
from remit_governance.policy.rules import Policy
from remit_governance.policy.shell.parse import read_script

# Each program appends its name and words, in one write, to the file `log` beside it.
NOTES = '#!/bin/sh\nprintf \'%s\\0\' "${0##*/}" "$@" \'\n\' >> "${0%/*}/log"\n'
RUN = """\
mkdir -p "$1/work/x" && cd "$1/work" && : > zz || exit
for line in "$1"/lines/*; do
    PATH="$1/bin:$PATH" sh "$line" </dev/null >/dev/null 2>&1
    printf '@%s\\0\\n\\0' "${line##*/}" >> "$1/bin/log"
done
"""
ALLOWED = "version: 1\ncapabilities:\n  - { name: all, match: { syscall: [process.exec, fs.write, fs.read] }, action: allow }\n"
DENIED = "  - { name: no, match: { syscall: process.exec, command: [%s] }, action: deny }\n"
RULES = tuple(denial.rule for denial in DENIALS)
LAX = compile_policy([Source("policy.yaml", ALLOWED)])
STRICT = compile_policy([Source("policy.yaml", ALLOWED + DENIED % ", ".join(f'"{rule}"' for rule in RULES))])
PERSON = PermissionConfig(final_deny=(PermissionRule(command=RULES),))

Spelling = tuple[Denial, bool, str]


def spellings(count: int, seed: int, folder: Path) -> Iterator[Spelling]:
    """Yields lines of which four in five do a denied thing, and the others nearly do."""
    random = Random(seed)
    for _ in range(count):
        denial, does = random.choice(DENIALS), random.random() < 0.8
        yield denial, does, line_of(random, call(random, denial, does=does), str(folder / "bin"))


def recorded(lines: list[str], folder: Path) -> list[list[list[str]]]:
    """Runs the lines, and returns the programs that each has really started."""
    for name in ("bin", "lines"):
        (folder / name).mkdir(exist_ok=True)
    for name in PROGRAMS:
        (folder / "bin" / name).write_text(NOTES)
        (folder / "bin" / name).chmod(0o755)
    for n, line in enumerate(lines):
        (folder / "lines" / f"{n:06}").write_text(line)
    inside = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--bind", str(folder), str(folder), "--unshare-net"]
    contained = (
        shutil.which("bwrap") and not subprocess.run([*inside, "true"], capture_output=True, check=False).returncode
    )
    subprocess.run([*(inside if contained else []), "sh", "-c", RUN, "run", str(folder)], check=True, timeout=600)
    calls: list[list[list[str]]] = [[]]
    for note in (folder / "bin" / "log").read_bytes().split(b"\n\0")[:-1]:
        words = [word.decode() for word in note.split(b"\0")[:-1]]
        if words[0].startswith("@"):
            calls.append([])
        else:
            calls[-1].append(words)
    return calls[:-1]


def said(policy: Policy, line: str) -> str:
    return evaluate(policy, parse_action({"syscall": "process.exec", "command": line})).verdict.word


def answered(line: str) -> str:
    action = parse_action({"syscall": "process.exec", "command": line, "tool": "run_command"})
    return decide(PERSON, Standing(), action, evaluate(LAX, action)).word


def judge(count: int, seed: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Returns how the lines were judged, and the wrongly judged ones with the reason."""
    made = list(spellings(count, seed, folder))
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for (denial, does, line), calls in zip(made, recorded([line for *_, line in made], folder), strict=True):
        done = {deed for words in calls for deed in deeds(words)}
        verdict, answer = said(STRICT, line), answered(line)
        kind = "denied thing" if done else "not run" if not calls else "nearly" if not does else "other"
        counts[f"{kind}: {verdict}"] += 1
        counts[f"{kind}: permissions {answer}"] += 1
        if does and calls and not done:
            wrong.append(f"the second matcher disagrees that it is {denial.rule}: {calls} {line!r}")
        if done and (verdict == "allow" or answer == "allow"):
            wrong.append(f"ALLOWED {done}: {verdict}, {answer} {calls} {line!r}")
        if done and not read_script(line).doubts and (verdict, answer) != ("deny", "final_deny"):
            wrong.append(f"certain, and only asked {done}: {verdict}, {answer} {calls} {line!r}")
        if calls and not done and (verdict == "deny" or answer == "final_deny"):
            counts["falsely denied"] += 1
            wrong.append(f"falsely denied: {calls} {line!r}")
    return counts, wrong


@pytest.mark.slow
def test_THR_shell_every_spelling_of_what_is_denied_is_denied(tmp_path: Path) -> None:
    """Each of 1,500 lines is run; if it did a denied thing, it was denied or asked about before."""
    counts, wrong = judge(1_500, 12, tmp_path)
    assert counts["denied thing: deny"] > 700
    assert [each for each in wrong if not each.startswith("falsely")] == []
    assert counts["falsely denied"] < 0.02 * sum(n for kind, n in counts.items() if kind.startswith("nearly"))


def jumbled(count: int, seed: int) -> tuple[Counter[bool], list[str], list[str]]:
    """Matches words in random order; returns how many calls do a denied thing, those that the matcher misses, and those
    that it wrongly takes for one."""
    random = Random(seed)
    counts: Counter[bool] = Counter()
    missed: list[str] = []
    made_up: list[str] = []
    for _ in range(count):
        denial = random.choice(DENIALS)
        words = jumble(random, denial)
        done = set(deeds(words))
        near = {rule for rule in RULES if rule.split()[0] == denial.rule.split()[0]} | done
        meant = {rule for rule in near if matches_command(tuple(rule.split()), tuple(words)) is Match.YES}
        counts[bool(done)] += 1
        missed += [f"{done - meant} {words}"] if done - meant else []
        made_up += [f"{meant - done} {words}"] if meant - done else []
    return counts, missed, made_up


@pytest.mark.slow
def test_THR_shell_no_order_of_words_hides_what_is_denied() -> None:
    """Compares the matcher with a second one, without a shell: each call that does a denied thing is certain to
    match."""
    counts, missed, _ = jumbled(6_000, 12)
    assert counts[True] > 1_500
    assert missed == []
