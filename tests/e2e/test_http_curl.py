"""TRN-06: curl runs a turn over HTTP, follows its events, and answers its question."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from doors import HttpDoor, opened, request

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def curl(door: HttpDoor, path: str, *options: str, body: Any = None) -> str:
    """Runs curl and returns what it prints."""
    program = shutil.which("curl")
    if program is None:
        pytest.skip("there is no curl: apt-get install curl")
    given = () if body is None else ("--json", json.dumps(body))
    header = f"Authorization: Bearer {door.token}"
    command = [program, "-sS", "--no-buffer", "--max-time", "20", "-H", header, *given, *options]
    return subprocess.run([*command, f"http://{door.host}{path}"], capture_output=True, text=True, check=True).stdout


def events_of(streamed: str) -> list[Any]:
    """Returns the data of server-sent events."""
    return [json.loads(line.removeprefix("data: ")) for line in streamed.splitlines() if line.startswith("data: ")]


def test_TRN_06_curl_runs_a_turn_follows_it_and_answers_its_question(tmp_path: Path) -> None:
    select = {"name": "select_active_intent", "arguments": {"intent": "CODE"}}
    write = {"name": "write_file", "arguments": {"path": "b.py", "content": "x = 1\n"}}
    with opened("http", tmp_path, {"calls": [select, write]}, {"text": "done"}) as door:
        name = door.run(request("t"))
        question = door.question(name)
        answer = {"decision": "allow", "digest": question["digest"]}
        said = json.loads(curl(door, f"/v1/approvals/{question['approval_id']}", body=answer))
        assert said["accepted"] is True
        result = door.result(name)
        followed = events_of(curl(door, "/v1/runs/s/t/events?after=0"))
        assert followed[-1] == result
        assert [event["seq"] for event in followed[:-1]] == list(range(1, len(followed)))
        again = events_of(curl(door, "/v1/runs", body=request("t")))
        assert again[-1] == result
        assert (
            curl(
                door, "/v1/runs", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Origin: http://evil.example", body={}
            )
            == "403"
        )
    assert (tmp_path / "shop" / "b.py").read_text() == "x = 1\n"
