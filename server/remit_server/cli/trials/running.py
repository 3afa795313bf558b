"""Runs a trial: each request in a folder of its own, through the whole of Remit (MOD-25)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from remit_server.cli.commands.ask import YesForThisSession
from remit_server.cli.new_ids import new_session, new_turn
from remit_server.cli.trials.judging import Files, differing, missed
from remit_server.cli.trials.requests import Request, RequestSet
from remit_server.contract import RunRequest, TextInput
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.runtime.shared import Shared
from remit_server.workspace.ports import NoDocuments


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one request: what of it is not right, and how many files changed that it did not lead to.

    `status` is how the turn ended, `answer` its last words, and `seconds` how long it took.
    """

    ask: str
    missed: tuple[str, ...]
    damage: int
    status: str
    answer: str
    seconds: float

    @property
    def right(self) -> bool:
        """Whether everything holds."""
        return not self.missed


async def run_trial(chosen: RequestSet, settings: Settings) -> AsyncGenerator[Outcome]:
    """Yields what came of each request, in order. All that is asked about is allowed: the folders are scratch copies.

    Only the model and how it is asked are the person's; rules, sessions and audit are of the trial alone. Raises
    SetupError where a runtime cannot be opened.
    """
    shared = Shared()
    async with AsyncExitStack() as opened:
        place = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="remit-trial-")))
        before: Runtime | None = None
        for number, request in enumerate(chosen.requests):
            workspace = place / str(number) / "workspace"
            write_files(chosen.files, workspace)
            own = replace(
                settings,
                workspace=workspace,
                state=place / str(number) / "state",
                person_policy=place / "policy.yaml",
                data=place / str(number) / "data",
            ).with_config(model={"record": None})
            runtime = await open_runtime(own, NoDocuments(), shared=shared)
            opened.push_async_callback(runtime.close)
            if before is not None:  # only now, so that a model that was loaded stays
                await before.close()
            before = runtime
            yield await _outcome(runtime, request, chosen.files, workspace)


async def _outcome(runtime: Runtime, request: Request, before: Files, workspace: Path) -> Outcome:
    began = time.monotonic()
    message = RunRequest(session_id=new_session(), turn_id=new_turn(), input=(TextInput(text=request.ask),))
    result = await runtime.run(message, lambda _: None, YesForThisSession())
    after, answer = read_files(workspace), result.final_output or ""
    led_to = set(request.right.changed or ())
    return Outcome(
        request.ask,
        missed(request.right, before, after, answer),
        len(differing(before, after) - led_to),
        result.status,
        answer,
        time.monotonic() - began,
    )


def write_files(files: Files, folder: Path) -> None:
    """Writes the files of a set into a folder that is made for them."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def read_files(folder: Path) -> Files:
    """Returns what is in a folder; what programs leave behind for themselves does not count."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8", errors="replace") for path in found}
