"""Programs that were written for the seed's server, and the example of the guide, work with `remit gateway`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import PATIENCE_S, REMIT
from gateway_process import GatewayProcess
from random_model import kept_model

pytestmark = [pytest.mark.e2e, pytest.mark.model, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "tests" / "support" / "seed_client.py"
GUIDE = ROOT / "docs" / "gateway.md"


def test_a_client_written_from_the_seed_alone_works_unchanged() -> None:
    done = subprocess.run(
        [sys.executable, "-I", str(CLIENT), str(REMIT), "gateway", "--model", kept_model(), "--max-tokens", "16"],
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    got = json.loads(done.stdout)
    assert isinstance(got["tags"], list)
    assert all(isinstance(tag, str) for tag in got["tags"])
    assert isinstance(got["summary"], str)
    assert got["summary"]
    assert (got["closed"], got["after"], got["ended"]) == (True, "session_not_found", True)


def test_the_guide_shows_what_the_gateway_answers() -> None:
    """Lines with `>` are sent, and lines with `<` are the answers; the model's text may differ from the guide's."""
    (transcript,) = re.findall(r"^```text\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = transcript.splitlines()
    assert len(lines) > 12
    session = ""
    with GatewayProcess("--model", kept_model(), "--max-tokens", "24") as gateway:
        for line in lines:
            arrow, _, body = line.partition(" ")
            if arrow == ">":
                gateway.send_bytes(body.replace("SESSION", session).encode() + b"\n")
            else:
                answer, shown = gateway.answer(), json.loads(body)
                while "delta" in answer and "delta" not in shown:
                    answer = gateway.answer()
                session = answer.get("session_id", session)
                assert kinds(answer) == kinds(shown), line
        assert gateway.wait() == 0


def kinds(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer with only the types of the values that the model or chance decides."""
    told = {name: type(answer[name]).__name__ for name in ("result", "session_id", "delta") if name in answer}
    return answer | told
