"""`remit bootstrap --container` with real containers: a turn in one, a server that dies, and nothing left
afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import call, intent
from command_line import REMIT, CommandLine
from messages import SAYS
from remit_image import remit_image

from remit_server.bootstrap.container import Workspace, contained, create_argv, remove_orphans
from remit_server.bootstrap.keep_up import MOST_RESTARTS
from remit_server.transports.lsp.editor import Editor, Json

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(sys.platform != "linux", reason="the socket of the pings does not reach into a virtual machine"),
]
PATIENCE_S = 300
QUICK = """
import sys
from pathlib import Path
from remit_server.bootstrap.keep_up import Pace, Workspace, bootstrap
sys.exit(bootstrap(["remit", "serve"], Workspace(sys.argv[1], sys.argv[2], Path.cwd()), Pace(60, 0.2, 3)))
"""
WRITES = [
    {"calls": [intent("CODE"), call("write_file", path="made.txt", content="by the server\n")]},
    {"text": "Done."},
]


@pytest.fixture(scope="module", params=["podman", "docker"])
def program(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name}")
    if subprocess.run([name, "info"], capture_output=True, check=False).returncode:
        pytest.skip(f"{name} does not work on this machine")
    return name


@pytest.fixture(scope="module")
def image(program: str) -> Iterator[str]:
    with remit_image(program) as name:
        yield name


@dataclass(frozen=True)
class Container:
    """What a test needs to run `remit bootstrap` with one container program."""

    program: str
    image: str
    remit: CommandLine
    temporary: Path

    @property
    def words(self) -> list[str]:
        return [str(REMIT), "bootstrap", "--container", self.program, "--image", self.image]

    def names(self) -> list[str]:
        """Returns the names of all containers of bootstraps, running or not."""
        argv = [self.program, "ps", "--all", "--filter", "label=remit.bootstrap", "--format", "{{.Names}}"]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()

    def act(self, *words: str) -> None:
        subprocess.run([self.program, *words], capture_output=True, check=True)

    def remove_all(self) -> None:
        for name in self.names():
            self.act("rm", "--force", name)

    def left(self) -> list[str]:
        """Returns everything that a bootstrap has left behind after it ended."""
        volumes = [self.program, "volume", "ls", "--quiet"]
        listed = subprocess.run(volumes, capture_output=True, text=True, check=True).stdout.split()
        return [*self.names(), *listed, *(path.name for path in self.temporary.iterdir())]


@pytest.fixture
def container(program: str, image: str, tmp_path: Path) -> Iterator[Container]:
    (tmp_path / "shop").mkdir()
    temporary = Path(tempfile.mkdtemp(prefix="b"))  # short enough for a socket's path
    remit = CommandLine.alone(tmp_path / "shop", tmp_path)
    remit.config.mkdir()
    everything = "version: 1\ncapabilities:\n  - { name: all, match: {}, action: allow }\n"
    (remit.config / "policy.yaml").write_text(everything)
    script = remit.config / "script.json"
    script.write_text(json.dumps(WRITES))
    remit.environment.update(REMIT_MODEL=f"script:{script}", TMPDIR=str(temporary))
    made = Container(program, image, remit, temporary)
    try:
        yield made
    finally:
        made.remove_all()
        shutil.rmtree(temporary)


@dataclass
class Kept:
    """A running bootstrap: the editor on its streams, and the file with its standard error."""

    editor: Editor
    said: Path

    @property
    def process(self) -> asyncio.subprocess.Process:
        return self.editor.process

    async def shut_down(self) -> int:
        """Shuts the server down as an editor does that gives it time; returns the exit code."""
        await self.editor.request("shutdown", None)
        self.editor.notify("exit", None)
        return await asyncio.wait_for(self.ended(), PATIENCE_S)

    async def ended(self) -> int:
        """Waits for the exit code, because processes that it started may keep its streams open."""
        while self.process.returncode is None:
            await asyncio.sleep(0.1)
        return self.process.returncode

    async def until(self, text: str) -> None:
        while text not in self.said.read_text():
            assert self.process.returncode is None, self.said.read_text()
            await asyncio.sleep(0.1)


Starts = Callable[..., Awaitable[Kept]]


@pytest.fixture
async def start(container: Container, tmp_path: Path) -> AsyncIterator[Starts]:
    """Returns a function that starts `remit bootstrap`, or the words it is given, with an editor on its streams."""
    kept: list[Kept] = []

    async def starting(*words: str) -> Kept:
        said = tmp_path / f"said-{len(kept)}"
        argv, remit = words or container.words, container.remit
        with said.open("wb") as file:
            kept.append(Kept(await Editor.start(argv, remit.workspace, remit.environment, file), said))
        return kept[-1]

    yield starting
    for each in kept:
        if each.process.returncode is None:
            each.process.kill()
    container.remove_all()  # its processes keep its streams open
    for each in kept:
        await asyncio.wait_for(each.process.wait(), PATIENCE_S)


async def allowed_turn(editor: Editor) -> Json:
    """Runs one turn in which a person allows everything."""
    answers: list[asyncio.Task[Any]] = []

    def hear(event: Json) -> None:
        if event["kind"] == "approval_required":
            answer = {"approval_id": event["approval_id"], "decision": "allow", "scope": "once"}
            answers.append(asyncio.create_task(editor.request("remit/approval/respond", answer)))

    request = {"session_id": "s", "turn_id": "t", "input": {"type": "text", "text": "write it"}}
    result: Json = await editor.run(request, hear)
    await asyncio.gather(*answers)
    return result


async def test_CLI_12_a_turn_in_a_container_and_nothing_is_left(container: Container, start: Starts) -> None:
    """The written file belongs to the person, and the audit log lies outside, under the person's own policy."""
    kept = await start()
    await asyncio.wait_for(kept.editor.initialize(), PATIENCE_S)
    (name,) = container.names()
    assert name.startswith("remit-workspace-")
    result = await asyncio.wait_for(allowed_turn(kept.editor), PATIENCE_S)
    assert result["status"] == "completed", result
    made = container.remit.workspace / "made.txt"
    assert made.read_text() == "by the server\n"
    assert (made.stat().st_uid, made.stat().st_gid) == (os.getuid(), os.getgid())
    assert await kept.shut_down() == 0
    assert container.left() == []
    assert "made.txt" in container.remit("audit", "log").out
    assert container.remit("audit", "verify").code == 0


async def test_CLI_15_an_editor_that_goes_ends_the_container(container: Container, start: Starts) -> None:
    kept = await start()
    await asyncio.wait_for(kept.editor.initialize(), PATIENCE_S)
    kept.process.stdin.close()
    assert await asyncio.wait_for(kept.process.wait(), PATIENCE_S) == 1
    assert "again" not in kept.said.read_text()
    assert container.left() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_CLI_15_a_signal_ends_the_container_in_order(
    container: Container, start: Starts, number: signal.Signals
) -> None:
    kept = await start()
    await asyncio.wait_for(kept.editor.initialize(), PATIENCE_S)
    kept.process.send_signal(number)
    assert await asyncio.wait_for(kept.process.wait(), PATIENCE_S) == 128 + number
    assert "again" not in kept.said.read_text()
    assert container.left() == []


async def test_CLI_13_a_container_that_is_killed_again_and_again_is_given_up_with_the_reason(
    container: Container, start: Starts
) -> None:
    kept = await start()
    for number in range(MOST_RESTARTS + 1):
        await asyncio.wait_for(kept.editor.initialize(), PATIENCE_S)
        (name,) = container.names()
        container.act("kill", "--signal", "KILL", name)
        if number < MOST_RESTARTS:
            which = f"{SAYS.the_server_was_restarted}{number + 1} of {MOST_RESTARTS} times"
            await asyncio.wait_for(kept.until(f"{which}: {SAYS.it_ended_unexpectedly}137"), PATIENCE_S)
    assert await asyncio.wait_for(kept.process.wait(), PATIENCE_S) == 1
    assert f"why: {SAYS.it_ended_unexpectedly}137, after 3 restarts in 5 minutes" in kept.said.read_text()
    assert container.left() == []


async def test_CLI_12_a_container_that_hangs_is_removed_and_another_one_started(
    container: Container, start: Starts
) -> None:
    kept = await start(sys.executable, "-P", "-c", QUICK, container.program, container.image)
    await asyncio.wait_for(kept.editor.initialize(), PATIENCE_S)
    (name,) = container.names()
    container.act("pause", name)
    await asyncio.wait_for(kept.until("it did not answer a ping within 3 s"), PATIENCE_S)
    await asyncio.wait_for(kept.editor.initialize(), PATIENCE_S)
    (other,) = container.names()
    assert other != name
    kept.process.terminate()
    await asyncio.wait_for(kept.process.wait(), PATIENCE_S)
    assert container.left() == []


async def test_CLI_15_what_a_killed_bootstrap_left_is_removed_by_the_next_one(
    container: Container, start: Starts
) -> None:
    kept = await start()
    await asyncio.wait_for(kept.editor.initialize(), PATIENCE_S)
    (name,) = container.names()
    kept.process.kill()
    await asyncio.wait_for(kept.ended(), PATIENCE_S)
    assert container.names() == [name]
    other = await start()
    await asyncio.wait_for(other.editor.initialize(), PATIENCE_S)
    assert name not in container.names()
    assert await other.shut_down() == 0
    assert container.left() == []


def test_CLI_15_the_container_of_a_living_bootstrap_is_no_orphan(container: Container) -> None:
    workspace = Workspace(container.program, container.image, container.remit.workspace)
    with contained(workspace, container.temporary, ["remit", "serve"]):
        assert len(container.names()) == 1
        assert remove_orphans(container.program) == []
        assert len(container.names()) == 1
    assert container.names() == []


def test_CLI_12_an_image_that_is_not_there_is_said_at_once(container: Container) -> None:
    words = ("bootstrap", "--container", container.program, "--image", "localhost/remit-none:1")
    done = container.remit(*words)
    assert done.code == 1
    assert "error: the server cannot run in a container\nwhy: " in done.err
    assert "again" not in done.err
    assert f"`{container.program} pull`" in done.err
    assert container.left() == []


def test_CLI_16_commands_have_a_sandbox_in_the_container_of_an_ordinary_user(container: Container) -> None:
    workspace = Workspace(container.program, container.image, container.remit.workspace, user=1000, group=1000)
    container.remit.workspace.chmod(0o755)
    words = ["remit", "sandbox", "check"]
    name = "remit-tests-inside"
    argv = create_argv(workspace, name, container.temporary, words)
    subprocess.run(argv, capture_output=True, check=True)
    checked = subprocess.run(
        [container.program, "start", "--attach", name], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    with contextlib.suppress(subprocess.CalledProcessError):  # it is removed already
        container.act("rm", "--force", name)
