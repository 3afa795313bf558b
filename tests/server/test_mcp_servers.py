"""MCP servers of the person's own: raw servers and attacks, in the real sandbox, called by a scripted model
(TOOL-18)."""

from __future__ import annotations

import base64
import http.server
import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from doors import opened, request
from hypothesis import given
from hypothesis import strategies as st
from rule_programs import need_sandbox

from remit_server.tools.mcp import inside_mcp
from remit_server.tools.mcp.rows import MAX_CHARS, parameters_of

SERVER = Path(__file__).parents[1] / "support" / "mcp_server.py"


def remit(folder: Path, *words: str, code: int | None = 0) -> Any:
    """Runs `remit mcp` with these words, and returns its JSON, or `Done` if another exit code is expected."""
    (folder / "shop").mkdir(exist_ok=True)
    own = {"HOME": str(folder), "REMIT_DATA_DIR": str(folder / "data")}
    done = CommandLine.alone(folder / "shop", folder)("mcp", *words, **own)
    assert code is None or done.code == code, done
    return json.loads(done.out or "null") if code == 0 else done


def add(folder: Path, kind: str, *options: str, code: int | None = 0) -> Any:
    named = ("add", "--json", "--yes", "--read", str(SERVER.parent), "--timeout", "4", *options, "own")
    return remit(folder, *named, "--", "/usr/bin/python3", str(SERVER), kind, code=code)


def call(name: str, intent: str = "EXECUTE", **arguments: Any) -> Any:
    select = {"name": "select_active_intent", "arguments": {"intent": intent}}
    return {"calls": [select, {"name": name, "arguments": arguments}]}


def result(folder: Path, *steps: Any) -> Any:
    """Runs a turn with these steps and every question allowed; returns the result of its last call."""
    with opened("stdio", folder, *steps, {"text": "done"}, options=("--approve", "session")) as door:
        name = door.run(request("t"))
        assert door.result(name)["final_output"] == "done"
        return [event for event in door.events(name) if event["kind"] == "tool_result"][-1]


pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["legacy", "modern", "noisy"])
def test_TOOL_18_a_server_of_either_era_is_added_and_called(kind: str, tmp_path: Path) -> None:
    need_sandbox()
    added = add(tmp_path, kind)
    assert added["tools"] == ["own_echo"]
    assert Path(added["file"]).stat().st_mode & 0o077 == 0
    said = result(tmp_path, call("own_echo", text="ä 'b' $(c)\n"))
    assert (said["ok"], said["output"]) == (True, "ä 'b' $(c)\n".rstrip("\n"))


def test_TOOL_18_a_link_into_a_virtual_environment_is_followed(tmp_path: Path) -> None:
    need_sandbox()
    venv, bin_ = tmp_path / "tools" / "venv", tmp_path / "bin"
    bin_.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    program = venv / "bin" / "own-server"
    program.write_text(f"#!/usr/bin/python3\n{SERVER.read_text()}")
    program.chmod(0o755)
    (bin_ / "own-server").symlink_to(program)
    done = CommandLine.alone(tmp_path, tmp_path)(
        *("mcp", "add", "--json", "--yes", "own", "--", "own-server", "legacy"),
        PATH=f"{bin_}:{os.environ['PATH']}",
    )
    assert done.json["tools"] == ["own_echo"], done


def test_TOOL_18_nothing_is_added_without_a_yes(tmp_path: Path) -> None:
    need_sandbox()
    done = remit(tmp_path, "add", "own", "--", "/usr/bin/python3", str(SERVER), "legacy", code=None)
    assert done.code != 0
    assert not (tmp_path / "config" / "mcp").exists()


def test_THR_mcp_what_a_person_looked_at_is_what_is_called(tmp_path: Path) -> None:
    need_sandbox()
    add(tmp_path, "rug")
    (tmp_path / "shop" / "changed").touch()
    said = result(tmp_path, call("own_echo", text="x"))
    assert said["error"]["code"] == "stale"
    assert "keys" not in json.dumps(said)
    done = remit(tmp_path, "test", "own", code=1)
    assert "reads your keys" in done.out
    remit(tmp_path, "test", "--json", "--accept", "own")
    assert result(tmp_path, call("own_echo", text="x"))["output"] == "x"


def test_THR_mcp_a_server_that_is_started_in_another_way_is_looked_at_first(tmp_path: Path) -> None:
    need_sandbox()
    file = Path(add(tmp_path, "legacy")["file"])
    told = json.loads(file.read_text())
    file.write_text(json.dumps({**told, "command": [*told["command"][:-1], "tries"]}))
    assert result(tmp_path, call("own_echo", text="x"))["error"]["code"] == "tool_not_allowed_for_intent"
    asked = remit(tmp_path, "test", "own", code=1)
    assert "tries" in asked.out, "how it would be started is shown"
    assert "answers" not in asked.out, "and it is not started before a yes"
    assert remit(tmp_path, "list", code=None).code == 1
    file.write_text("{")
    assert result(tmp_path, call("own_echo", text="x"))["error"]["code"] == "tool_not_allowed_for_intent"


def test_THR_mcp_a_poisoned_description_is_cleaned_and_bounded(tmp_path: Path) -> None:
    need_sandbox()
    add(tmp_path, "poison")
    shown = remit(tmp_path, "list", code=None).out
    assert "\u200b" not in shown
    assert "\u202e" not in shown
    assert len(shown) < 1_500


def test_THR_mcp_names_of_a_server_shadow_no_tool(tmp_path: Path) -> None:
    need_sandbox()
    assert set(add(tmp_path, "shadow")["tools"]) == {"own_read_file", "own_echo", "own_select_active_intent", "own_x"}


@pytest.mark.parametrize(("alias", "tool"), [("read", "skill"), ("find", "tools"), ("run", "shell")])
def test_THR_mcp_names_of_a_server_shadow_no_tool_that_may_come(alias: str, tool: str, tmp_path: Path) -> None:
    need_sandbox()
    file = Path(add(tmp_path, "legacy")["file"])
    told = json.loads(file.read_text())
    file.with_stem(alias).write_text(json.dumps({**told, "tools": [{**told["tools"][0], "name": tool}]}))
    file.unlink()
    with opened("stdio", tmp_path, {"text": "done"}) as door:
        name = door.run(request("t"))
        door.result(name)
        warnings = [event for event in door.events(name) if event["kind"] == "warning"]
    assert any(f"{alias}_{tool}" in json.dumps(event) for event in warnings)


def test_THR_mcp_schemas_that_explode_are_left_out_and_the_others_count(tmp_path: Path) -> None:
    need_sandbox()
    assert set(add(tmp_path, "bomb")["tools"]) == {"own_deep", "own_odd", "own_echo"}


@pytest.mark.parametrize("kind", ["pages"])
def test_THR_mcp_a_list_without_end_is_refused(kind: str, tmp_path: Path) -> None:
    need_sandbox()
    assert add(tmp_path, kind, code=None).code != 0


@pytest.mark.parametrize(
    ("kind", "ok", "code", "text"),
    [
        ("asks", True, None, "refused"),
        ("endless", False, "command_failed", ""),
        ("slow", False, "command_failed", ""),
        ("dies", False, "command_failed", "out of luck"),
        ("links", True, None, "[a link, not followed: http://169.254.169.254/latest]"),
        ("fails", False, "command_failed", "there is no such town"),
        ("asks-more", False, "command_failed", ""),
    ],
)
def test_THR_mcp_what_a_server_does_in_a_call_is_its_own_result(
    kind: str, ok: bool, code: str | None, text: str, tmp_path: Path
) -> None:
    need_sandbox()
    add(tmp_path, kind)
    said = result(tmp_path, call("own_echo", text="x"))
    assert (said["ok"], (said["error"] or {}).get("code")) == (ok, code)
    assert text in said["output"]


def test_THR_mcp_a_server_reaches_nothing_reads_nothing_and_writes_what_is_reviewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sandbox()
    secret = tmp_path / "secret.txt"
    secret.write_text("words")
    monkeypatch.setenv("MY_TOKEN", "tok-123456")
    monkeypatch.setenv("OTHER_TOKEN", "tok-654321")
    add(tmp_path, "tries", "--env", f"SECRET_FILE={secret}", "--env", "TOKEN=${MY_TOKEN}")
    said = result(tmp_path, call("own_echo", text="x"))
    told = json.loads(said["output"].splitlines()[0])
    assert told["found"] == []
    assert "TOKEN" in told["variables"]
    assert not {"MY_TOKEN", "OTHER_TOKEN", "REMIT_CONFIG_DIR", "REMIT_MODEL"} & set(told["variables"])
    assert said["changed_files"] == ["made.txt"]
    kept = (tmp_path / "config" / "mcp" / "own.json").read_text()
    assert "tok-123456" not in kept


SERVED = json.dumps({"command": "/usr/bin/python3", "args": [str(SERVER), "legacy"], "env": {"A": "b"}})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".mcp.json", f'{{"mcpServers": {{"own": {SERVED}}}}}'),
        ("mcp.json", f'{{"servers": {{"own": {SERVED}}}, "inputs": []}}'),
        ("settings.json", f'// of the editor\n{{"theme": "One", "context_servers": {{"own": {SERVED}}}}}'),
        ("settings.json", f'{{/* all */ "mcp": {{"servers": {{"own": {SERVED}}}}}}}'),
        (
            "config.toml",
            f'[mcp_servers.own]\ncommand = "/usr/bin/python3"\nargs = ["{SERVER}", "legacy"]\n[mcp_servers.own.env]\nA = "b"',
        ),
    ],
)
def test_TOOL_18_servers_of_an_editors_file_are_taken_by_name(name: str, text: str, tmp_path: Path) -> None:
    need_sandbox()
    (tmp_path / "shop").mkdir()
    file = tmp_path / "shop" / name
    file.write_text(text)
    named = ("add", "--json", "--yes", "--read", str(SERVER.parent))
    assert remit(tmp_path, *named, "--from", str(file), "own")["tools"] == ["own_echo"]
    assert remit(tmp_path, *named, "--from", str(file), "other", code=None).code == 2
    assert remit(tmp_path, "remove", "--json", "own") == {"removed": "own"}
    assert remit(tmp_path, "remove", "--json", "own", code=None).code == 2


class Answers(http.server.BaseHTTPRequestHandler):
    """A server of raw HTTP; `kind` says how it answers."""

    kind = "json"
    seen: list[Any] = []  # noqa: RUF012 a stand-in's own

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((asked, dict(self.headers)))
        if self.kind == "redirect":
            self.send_response(307)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()
            return
        if "id" not in asked:
            self.send_response(202)
            self.end_headers()
            return
        echo = {"name": "echo", "inputSchema": {"type": "object"}}
        results = {"initialize": {"protocolVersion": "2025-11-25"}, "tools/list": {"tools": [echo]}}
        text = asked["params"].get("arguments", {}).get("text")
        found = results.get(asked["method"], {"content": [{"type": "text", "text": text}]})
        data = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": found}).encode()
        kind = "application/json"
        if self.kind == "events":
            data, kind = b": hello\nevent: message\nid: 1\ndata: " + data + b"\n\n", "text/event-stream"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Mcp-Session-Id", "s1")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(kind: str) -> Iterator[str]:
    handler = type("Kind", (Answers,), {"kind": kind, "seen": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()


def asked_inside(url: str) -> Any:
    """Returns what the client in the sandbox prints. It runs without one here, because there it could not reach this
    machine."""
    echo = {"name": "echo", "inputSchema": {"type": "object"}}
    called = {"name": "echo", "digest": inside_mcp.digest_of(echo), "arguments": {"text": "hello"}}
    question = {"url": url, "command": [], "call": called, "seconds": 5, "most": 100_000}
    packed = base64.b64encode(zlib.compress(json.dumps(question).encode())).decode()
    done = subprocess.run(
        [sys.executable, "-I", "-c", Path(inside_mcp.__file__).read_text(encoding="utf-8"), packed],
        env={**os.environ, inside_mcp.HEADERS: json.dumps({"Authorization": "Bearer t"}), "no_proxy": "*"},
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["json", "events"])
def test_TOOL_18_a_server_is_reached_by_http(kind: str) -> None:
    with serving(kind) as url:
        assert asked_inside(url) == {"result": {"content": [{"type": "text", "text": "hello"}]}}


def test_TOOL_18_a_server_on_a_port_of_this_machine_is_added_and_called(tmp_path: Path) -> None:
    need_sandbox()
    with serving("json") as url:
        here = url.replace("127.0.0.1", "localhost")
        assert remit(tmp_path, "add", "--json", "--yes", "--url", here, "web")["tools"] == ["web_echo"]
        assert result(tmp_path, call("web_echo", text="hello"))["output"].startswith("hello")
        assert remit(tmp_path, "add", "--json", "--yes", "--url", url, "plain", code=None).code == 2


def test_THR_mcp_no_redirect_of_a_server_is_followed() -> None:
    with serving("redirect") as url:
        assert "HTTP 307" in asked_inside(url)["failed"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["object", "string", "array"]),
    lambda each: (
        st.lists(each, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "$ref", "anyOf", "enum", "required", "$defs", "a"]),
            each,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_TOOL_18_any_schema_becomes_parameters_or_is_refused(schema: Any) -> None:
    from jsonschema import Draft202012Validator

    try:
        made = parameters_of(schema)
    except ValueError:
        return
    assert made["type"] == "object"
    assert len(json.dumps(made)) <= MAX_CHARS
    Draft202012Validator.check_schema(dict(made))
