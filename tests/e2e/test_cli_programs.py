"""`programs.yaml` of the person and of a project, and `remit policy programs`, through the real program (CMD-10)."""

from __future__ import annotations

import json

import pytest
from command_line import CommandLine

DONE, FAILED, DENIED = 0, 1, 3

pytestmark = [pytest.mark.e2e]

MINE = "- programs: [deploytool]\n  reads: [status]\n  sends: [push]\n"


def risk(remit: CommandLine, line: str) -> str:
    action = json.dumps({"syscall": "process.exec", "command": line})
    return str(remit("policy", "explain", "--action", action, "--json").json["risk"])


def own(remit: CommandLine, text: str) -> None:
    remit.config.mkdir(exist_ok=True)
    (remit.config / "programs.yaml").write_text(text)


def projects(remit: CommandLine, text: str) -> None:
    (remit.workspace / ".remit").mkdir(exist_ok=True)
    (remit.workspace / ".remit" / "programs.yaml").write_text(text)


def test_CMD_10_a_program_is_added_by_one_row_and_a_project_only_tightens(remit: CommandLine) -> None:
    assert risk(remit, "deploytool status") == "high"
    own(remit, MINE)
    assert (risk(remit, "deploytool status"), risk(remit, "deploytool push")) == ("low", "high")
    projects(remit, "- programs: [deploytool, ls]\n  reads: [push]\n  otherwise: loses\n")
    assert (risk(remit, "deploytool status"), risk(remit, "deploytool push"), risk(remit, "ls")) == (
        "high",
        "high",
        "high",
    )
    shown = remit("policy", "programs", "deploytool", "--json").json
    assert [row["from"] for row in shown["rows"]] == ["person", "project"]
    assert shown["rows"][0]["does"]["reads"] == {"risk": "low", "words": ["status"]}
    assert "deploytool" in remit("policy", "programs", "--json").json["programs"]
    assert "status" in remit("policy", "programs", "deploytool").out


def test_CMD_10_a_wrong_file_is_told_and_nothing_is_judged_without_it(remit: CommandLine) -> None:
    for write, name in ((own, "programs.yaml"), (projects, ".remit/programs.yaml")):
        write(remit, "- programs: [deploytool]\n  reeds: [status]\n")
        (problem,) = remit("policy", "check", "--json").json["problems"]
        assert f"{name}:2:3" in problem
        action = json.dumps({"syscall": "process.exec", "command": "ls"})
        for words in (("explain", "--action", action), ("programs",), ("show",)):
            refused = remit("policy", *words)
            assert refused.code == FAILED
            assert f"{name}:2:3" in refused.err
        write(remit, "")
        assert remit("policy", "check").code == DONE


def test_CMD_08_what_is_known_of_a_program_is_shown(remit: CommandLine) -> None:
    (row,) = remit("policy", "programs", "find", "--json").json["rows"]
    assert row["from"] == "remit"
    assert "-delete" in row["does"]["changes"]["words"]
    assert row["does"]["changes"]["risk"] == "medium"
    unknown = remit("policy", "programs", "fnid")
    assert unknown.code == FAILED
    assert "find" in unknown.err
