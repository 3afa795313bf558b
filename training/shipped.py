"""Runs evaluation cases as people meet the model: its process and grammar, the dispatcher, policy, and real files."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from remit_server.contract import ApprovalAnswer, ApprovalRequired, Event, RunRequest, TextInput
from remit_server.harness.ports import AskingStyle
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import PROJECT_POLICY, Settings
from remit_server.workspace.ports import NoDocuments
from training.cases import PROTECTED, Case, Files, write

POLICY = f"""\
version: 1
capabilities:
  - name: {PROTECTED}-is-not-edited
    match: {{ syscall: fs.write, path_glob: ["{PROTECTED}/**"] }}
    action: deny
    reason: this folder is written by a program
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case came to; `right` when the answer, every byte of every file and the command are as they must be."""

    case: Case
    right: bool
    answer: str
    calls: list[str]


@dataclass
class Answering:
    """Says yes, or no, to every question."""

    yes: bool
    style: AskingStyle = "callback"

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer:
        """Answer for once."""
        return ApprovalAnswer(approval_id=question.approval_id, decision="allow" if self.yes else "deny", scope="once")


@dataclass
class Place:
    """One runtime on the embedded model, whose workspace holds one case after the other."""

    runtime: Runtime
    workspace: Path
    done: int = field(default=0)

    async def attempt(self, case: Case) -> Outcome:
        """Set the workspace up, ask, and compare what is there afterwards."""
        for entry in self.workspace.iterdir():
            if entry.name != ".remit":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        write(self.workspace, case.files)
        events: list[Event] = []
        self.done += 1
        request = RunRequest(session_id=f"case-{self.done}", turn_id="1", input=TextInput(text=case.request))
        result = await self.runtime.run(request, events.append, Answering(case.approved))
        calls = [f"{event.tool} {event.arguments}" for event in events if event.kind == "tool_call"]
        commands = [
            event.arguments["command"] for event in events if event.kind == "tool_call" and event.tool == "run_command"
        ]
        answer = result.final_output or ""
        # What a command printed stands before the sentence, why nothing was changed behind it.
        right = case.answer in answer and found(self.workspace) == case.files | case.after
        wanted = [] if case.command is None else [case.command]
        return Outcome(case, right and commands == wanted, answer, calls)


@asynccontextmanager
async def place(folder: Path) -> AsyncIterator[Place]:
    """Open a runtime with its workspace, policy and state below `folder`."""
    workspace, policy = folder / "workspace", folder / "config" / "policy.yaml"
    workspace.mkdir()
    project = workspace / PROJECT_POLICY
    project.parent.mkdir()
    project.write_text(POLICY)
    runtime = await open_runtime(Settings(workspace, folder / "state", policy), NoDocuments())
    try:
        yield Place(runtime, workspace)
    finally:
        await runtime.close()


async def attempts(folder: Path, cases: Iterable[Case]) -> AsyncIterator[Outcome]:
    """Run the cases one after the other below `folder`."""
    async with place(folder) as here:
        for case in cases:
            yield await here.attempt(case)


def found(workspace: Path) -> Files:
    """Every file of the workspace, decoded; Remit's own folder is left out."""
    files = (file for file in workspace.rglob("*") if file.is_file())
    inside = {file.relative_to(workspace).as_posix(): file.read_bytes().decode() for file in files}
    return {path: text for path, text in inside.items() if not path.startswith(".remit/")}
