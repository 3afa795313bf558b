"""`remit model pull|list`: the hub's own client against a fake hub on this machine, with kills, cuts, refusals and
lies."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from command_line import REMIT, CommandLine
from gateway_process import GatewayProcess
from hub_server import Hub, serving
from messages import SAYS
from small_model import small_model

from remit_server.errors import ModelUnavailable
from remit_server.models.choose import choose_provider
from remit_server.models.ports import Finished, GenerateRequest, UserMessage

pytestmark = [
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
    pytest.mark.model,
    pytest.mark.slow,
]

NAME = "org/small"
HARM = {
    "modeling_evil.py": b"raise SystemExit('run')",
    "pytorch_model.bin": b"pickle",
    "original/model.safetensors": b"x",
    "README.md": b"read me",
}
HARMLESS = {
    "config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
    "model.safetensors.index.json", "tokenizer.json", "tokenizer_config.json",
}  # fmt: skip
LARGE = "model-00002-of-00002.safetensors"
INNER = 3000
FAILED, USAGE = 1, 2


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return small_model(INNER)


@pytest.fixture
def hub(files: dict[str, bytes]) -> Iterator[Hub]:
    with serving(Hub(NAME, files | HARM)) as hub:
        yield hub


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "hf"


@pytest.fixture
def remit(tmp_path: Path, home: Path, hub: Hub) -> CommandLine:
    alone = CommandLine.alone(tmp_path, tmp_path)
    own = {k: v for k, v in alone.environment.items() if not k.startswith(("HF_", "HUGGING"))}
    return CommandLine(tmp_path, own | {"HF_HOME": str(home), "HF_ENDPOINT": hub.endpoint})


def repo(home: Path) -> Path:
    return home / "hub" / "models--org--small"


def reported(remit: CommandLine, reference: str = NAME) -> dict[str, Any] | None:
    """Returns what `remit model list` says about a model, or None."""
    found = [line for line in remit("model", "list", "--json").lines if line["reference"] == reference]
    return found[0] if found else None


def wait_for_bytes(repo: Path, enough: int) -> int:
    """Waits until `enough` bytes of an unfinished file have arrived, and returns their number."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for partly in repo.glob("blobs/*.incomplete"):
            if (here := partly.stat().st_size) >= enough:
                time.sleep(0.2)
                return max(here, partly.stat().st_size)
        time.sleep(0.02)
    raise AssertionError("the bytes never came")


def problem(remit: CommandLine, *words: str, **environment: str) -> dict[str, Any]:
    done = remit("model", "pull", *(words or (NAME,)), "--json", **environment)
    assert done.code == FAILED, done
    error = done.lines[-1]["error"]
    assert all(error[part] for part in ("what", "why", "fix"))
    return error


def test_a_pulled_model_is_listed_and_answers(
    remit: CommandLine, hub: Hub, home: Path, files: dict[str, bytes]
) -> None:
    done = remit("model", "pull", NAME, "--json")
    assert done.code == 0, done
    plan, *progress, last = done.lines
    size = sum(map(len, files.values()))
    assert (plan["kind"], plan["bytes"], plan["bytes_to_load"], plan["fits"]) == ("plan", size, size, True)
    assert {file["name"] for file in plan["files"]} == HARMLESS
    counts = [line["done"] for line in progress if line["kind"] == "progress"]
    assert counts == sorted(counts)
    assert counts[-1] == size
    assert (last["kind"], last["reference"]) == ("pulled", NAME)
    snapshot = repo(home) / "snapshots" / hub.commit
    assert {path.name for path in snapshot.iterdir()} == HARMLESS
    assert all((snapshot / name).read_bytes() == files[name] for name in HARMLESS)
    assert not any(word in path for path in hub.requests for word in (".py", ".bin", "original", "README"))
    assert all(NAME in path for path in hub.requests), "nothing is asked but what the pull is about"

    listed = reported(remit)
    assert listed is not None
    assert (listed["usable"], listed["sent_to"]) == (True, None)
    assert {"f32", "8,192 tokens"} <= set(listed["about"].split(" · "))
    before = len(hub.requests)
    checked = remit("model", "check", NAME, "--json")
    assert checked.code == FAILED, "its weights are random: it loads and generates, and calls no tool"
    assert checked.json["name"] == NAME
    assert (
        checked.json["problem"]["what"] == f"the model `{NAME}` loads, but did not declare an intent and call its tool"
    )
    assert checked.json["tokens"] > 0
    with GatewayProcess("--model", NAME, HF_HOME=str(home), HF_ENDPOINT=hub.endpoint) as gateway:
        gateway.send({"command": "check-availability"})
        assert gateway.answer() == {"ok": True, "available": True}
    assert len(hub.requests) == before, "a model that is there is used without the network"


async def test_the_provider_finds_what_was_pulled_later(
    remit: CommandLine, hub: Hub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    provider = choose_provider(NAME)
    request = GenerateRequest("s", (UserMessage("hello"),), {}, max_tokens=8)
    try:
        with pytest.raises(ModelUnavailable) as absent:
            [event async for event in provider.generate(request)]
        assert f"remit model pull {NAME}" in absent.value.fix
        assert hub.requests == [], "asking for a model fetches nothing"
        assert remit("model", "pull", NAME).code == 0
        events = [event async for event in provider.generate(request)]
        assert isinstance(events[-1], Finished)
    finally:
        await provider.close()


def test_a_killed_pull_is_no_model_and_goes_on_where_it_stopped(
    remit: CommandLine, hub: Hub, home: Path, files: dict[str, bytes]
) -> None:
    hub.stall_at = 3 << 20
    process = subprocess.Popen([str(REMIT), "model", "pull", NAME], env=dict(remit.environment), cwd=remit.workspace)
    kept = wait_for_bytes(repo(home), 2 << 20)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert kept < len(files[LARGE])
    assert reported(remit) is None
    assert f"remit model pull {NAME}" in remit("model", "check", NAME, "--json").json["problem"]["fix"]

    hub.stall_at = None
    hub.go_on.set()
    hub.sent.clear()
    done = remit("model", "pull", NAME, "--json")
    assert done.code == 0, done
    assert done.lines[0]["bytes_to_load"] == sum(map(len, files.values())) - kept
    assert hub.sent[LARGE] == len(files[LARGE]) - kept, "no byte that was here is sent again"
    assert (repo(home) / "snapshots" / hub.commit / LARGE).read_bytes() == files[LARGE]
    assert not list((repo(home) / "blobs").glob("*.incomplete"))

    hub.sent.clear()
    assert remit("model", "pull", NAME).code == 0
    assert not hub.sent, "what is here is not fetched again"


def test_a_lost_connection_is_taken_up_again(remit: CommandLine, hub: Hub, files: dict[str, bytes]) -> None:
    hub.drop_at = 2 << 20
    done = remit("model", "pull", NAME, "--json")
    assert done.code == 0, done
    assert hub.sent[LARGE] < len(files[LARGE]) + (1 << 20) + (1 << 17)


def test_damaged_bytes_become_no_model(remit: CommandLine, hub: Hub, home: Path) -> None:
    hub.corrupt = LARGE
    assert "damaged" in problem(remit)["why"]
    assert reported(remit) is None
    assert not list((repo(home) / "blobs").glob("*.incomplete")), "a later pull would only go on with them"
    hub.corrupt = "tokenizer.json"
    assert "tokenizer.json arrived damaged" in problem(remit)["why"]
    assert reported(remit) is None
    hub.corrupt = None
    assert remit("model", "pull", NAME).code == 0
    assert (reported(remit) or {})["usable"]


def test_redirects_are_followed_and_carry_no_token(remit: CommandLine, hub: Hub) -> None:
    hub.elsewhere = True
    assert remit("model", "pull", NAME, HF_TOKEN="hf_secret").code == 0
    seen = dict(zip(hub.requests, hub.tokens, strict=True))
    assert seen[f"/{NAME}/resolve/{hub.commit}/config.json"] == "Bearer hf_secret"
    assert seen["/cdn/config.json"] is None


def test_refusals_say_what_to_do(remit: CommandLine, hub: Hub) -> None:
    hub.gated = True
    gated = problem(remit)
    assert "gated" in gated["why"]
    assert "HF_TOKEN" in gated["fix"]
    assert SAYS.no_such_repository in problem(remit, "org/none")["why"]
    assert "no revision `v9`" in problem(remit, f"{NAME}@v9")["why"]
    assert "HF_HUB_OFFLINE" in problem(remit, HF_HUB_OFFLINE="1")["fix"]
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}"
        assert SAYS.cannot_be_reached in problem(remit, HF_ENDPOINT=closed)["why"]
    for name in ("small", "../small", "org/../x", "/etc/passwd", "org/small@../../x", ""):
        assert remit("model", "pull", name).code == USAGE, name


def test_a_repository_that_is_no_model_is_not_fetched(remit: CommandLine, hub: Hub) -> None:
    hub.files = {"config.json": b"{}", "pytorch_model.bin": b"pickle", "tokenizer.json": b"{}"}
    error = problem(remit)
    assert "lacks model*.safetensors" in error["why"]
    assert "other formats" in error["why"]
    assert not hub.sent


def test_a_write_that_fails_leaves_no_model_and_is_taken_up_again(remit: CommandLine, hub: Hub, home: Path) -> None:
    done = subprocess.run(
        [str(REMIT), "model", "pull", NAME, "--json"],
        env=dict(remit.environment),
        cwd=remit.workspace,
        capture_output=True,
        check=False,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20)),
    )
    assert done.returncode == FAILED, done
    error = json.loads(done.stdout.splitlines()[-1])["error"]
    assert "file too large" in error["why"]
    assert "resumes" in error["fix"]
    assert reported(remit) is None
    hub.sent.clear()
    assert remit("model", "pull", NAME).code == 0
    assert hub.sent[LARGE] == len(hub.files[LARGE]) - (2 << 20)


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bwrap")
def test_a_disk_that_is_too_small_is_noticed_before_anything_is_loaded(
    remit: CommandLine, hub: Hub, home: Path, tmp_path: Path
) -> None:
    home.mkdir()
    done = remit("model", "pull", NAME, "--json", before=on_small_disk(home, 40))
    assert done.code == FAILED, done
    assert SAYS.bytes_of_disk_are_needed in done.lines[-1]["error"]["why"]
    assert not hub.sent


def on_small_disk(home: Path, mib: int) -> tuple[str, ...]:
    return ("bwrap", "--dev-bind", "/", "/", "--size", str(mib << 20), "--tmpfs", str(home))


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bwrap")
def test_a_disk_that_fills_up_leaves_no_model_and_the_pull_goes_on_once_there_is_room(
    remit: CommandLine, hub: Hub, home: Path, tmp_path: Path
) -> None:
    home.mkdir()
    hub.stall_at = 2 << 20
    pull = f"{REMIT} model pull {NAME} --json"
    script = f"""
        {pull} > first & pid=$!
        until [ "$(du -c {home}/hub/models*/blobs/*.incomplete 2>/dev/null | tail -n1 | cut -f1)" -gt 1000 ] 2>/dev/null
        do sleep 0.05; done
        cat /dev/zero > {home}/fill 2>/dev/null
        touch full; wait $pid; echo $? > code
        {REMIT} model list --json > listed
        rm {home}/fill; touch room; {pull} > second
    """
    process = subprocess.Popen(
        [*on_small_disk(home, 90), "sh", "-c", script], env=dict(remit.environment), cwd=tmp_path
    )
    wait_for(tmp_path / "full")
    hub.go_on.set()
    wait_for(tmp_path / "room")
    before = hub.sent[LARGE]
    assert process.wait(100) == 0
    assert (tmp_path / "code").read_text() == f"{FAILED}\n"
    assert "no space left" in json.loads((tmp_path / "first").read_text().splitlines()[-1])["error"]["why"]
    assert NAME not in (tmp_path / "listed").read_text()
    last = json.loads((tmp_path / "second").read_text().splitlines()[-1])
    assert (last["kind"], last["problem"]) == ("pulled", None)
    assert hub.sent[LARGE] - before <= len(hub.files[LARGE]) - (1 << 20)


def wait_for(path: Path) -> None:
    until = time.monotonic() + 100
    while not path.exists():
        assert time.monotonic() < until, f"{path.name} never came"
        time.sleep(0.05)


def test_two_pulls_do_not_meet(remit: CommandLine, hub: Hub, home: Path) -> None:
    hub.stall_at = 1 << 20
    first = subprocess.Popen(
        [str(REMIT), "model", "pull", NAME, "--json"],
        env=dict(remit.environment),
        cwd=remit.workspace,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert first.stdout is not None
    next(line for line in first.stdout if json.loads(line)["kind"] == "progress")
    assert "another pull" in problem(remit)["why"]
    hub.go_on.set()
    first.stdout.read()
    first.stdout.close()
    assert first.wait() == 0
    assert (reported(remit) or {})["usable"]


def test_a_terminal_shows_progress(remit: CommandLine) -> None:
    with remit.in_terminal("model", "pull", NAME) as terminal:
        terminal.wait_for("pulled `org/small`")
        assert terminal.wait() == 0
        assert " MiB to pull" in terminal.screen
        assert " of " in terminal.screen


def test_nothing_but_pull_imports_the_client() -> None:
    code = (
        "import sys\nimport remit_server.runtime.opening, remit_server.cli.commands.models_and_tools.model, remit_server.transports.lsp.server\n"
        "from remit_server.models.choose import choose_provider\nchoose_provider('org/small')\n"
        "print([m for m in sys.modules if m.startswith(('huggingface_hub', 'httpx'))])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == "[]"
