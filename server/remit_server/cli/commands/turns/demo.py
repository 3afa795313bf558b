"""`remit demo`: Remit's main tasks, through the language server, in a copy of a sample workspace."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import shutil
import sys
import uuid
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from remit_governance.workflow.states import Mode
from remit_server.cli.approval import answer_from_terminal, can_ask
from remit_server.cli.console import print_json, say, show, style_text
from remit_server.cli.main import DENIED, DONE, FAILED
from remit_server.cli.usage import WrongUsage
from remit_server.contract import AgentEvent, ApprovalRequired, ErrorCode, ErrorPayload
from remit_server.errors import RemitError, SetupError, os_reason
from remit_server.runtime.own_files.places import state_folder
from remit_server.sandbox.choose import choose_sandbox
from remit_server.sandbox.ports import Isolation
from remit_server.transports.lsp.editor import OWN_SERVER, ClientBuffer, Editor, ResponseError

EDITED, PROTECTED = "src/cart.py", "generated/prices.py"
WHICH = "which file defines checkout?"
RENAME = "rename total to subtotal in src/cart.py"
CONSTANT = "set DIGITS to 3 in src/cart.py"
RUN = "run `ls src`"
FORBIDDEN = "rename total to subtotal in generated/prices.py"
ASKED = (WHICH, RENAME, CONSTANT, RUN, FORBIDDEN)
GATED = "read a file after declaring an edit"
_COUNTS = {5: "five", 6: "six"}
DEFINED = f"It is defined in {EDITED}, line"
OUTSIDE_INTENT = {"type": "call", "tool": "read_file", "arguments": {"path": "src/cart.py"}, "intent": "CODE"}

EVENTS: TypeAdapter[AgentEvent] = TypeAdapter(AgentEvent)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--json", action="store_true", help="print the events, one JSON object per line")
    parser.add_argument(
        "--scenario",
        choices=("tour", "tdd"),
        default="tour",
        help="`tdd`: tests first, with a model that follows a script",
    )
    parser.add_argument(
        "--mode",
        choices=[mode.value for mode in Mode],
        help="the workflow's mode for the scenario `tdd`",
    )
    parser.add_argument(
        "--keep", metavar="DIR", type=Path, help="create the sample workspace in a new folder DIR and keep it"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the demo; 0 when everything happened as expected, 3 when nothing was approved and nothing changed."""
    if arguments.mode is not None and arguments.scenario != "tdd":
        raise WrongUsage("the demo was not run", "--mode is for --scenario tdd", "give both, or neither")
    target = arguments.keep
    if target is None:
        # One fixed folder, created anew each time: all demos share one audit log, which stays for `remit audit`.
        target = state_folder(os.environ) / "demo" / "shop"
        shutil.rmtree(target, ignore_errors=True)
    if arguments.scenario == "tdd":
        workspace = sample_workspace(target, "tdd")
        return asyncio.run(_tests_first(workspace, Mode(arguments.mode or Mode.STRICT), as_json=arguments.json))
    workspace = sample_workspace(target)
    return asyncio.run(_demo(workspace, as_json=arguments.json))


async def _tests_first(workspace: Path, mode: Mode, *, as_json: bool) -> int:
    from remit_server.cli.tdd_scenario import REQUEST, make_repository, run_scenario, tell

    make_repository(workspace)
    told = Story(None, as_json=as_json)
    told.tell(f"Workspace {workspace}. In {mode} mode, a scripted model is asked: {REQUEST}\n")
    try:
        ended = await run_scenario(workspace, mode, lambda editor: Story(editor, as_json=as_json))
    except ResponseError as error:
        raise server_error(error) from error
    return DONE if tell(ended, mode, told.tell) else FAILED


def sample_workspace(target: Path, name: str = "sample") -> Path:
    """Copies a packaged sample to a folder that does not exist yet. Raises SetupError if it does."""
    existed = os.path.lexists(target)
    with as_file(files("remit_server.demo") / name) as sample:
        try:
            copy_folder(sample, target)
        except OSError as error:
            if not existed:
                shutil.rmtree(target, ignore_errors=True)
            raise SetupError(
                f"cannot make the sample workspace `{target}`",
                os_reason(error),
                "name a new folder, in a place you can write to",
                code=ErrorCode.INVALID_REQUEST,
            ) from error
    return target.resolve()


def copy_folder(source: Path, target: Path) -> None:
    """Copies files and folders without caches. Raises the first OSError itself, unlike `shutil.copytree`."""
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_dir() and path.name != "__pycache__":
            copy_folder(path, target / path.name)
        elif path.is_file():
            shutil.copyfile(path, target / path.name)


async def _demo(workspace: Path, *, as_json: bool) -> int:
    # The demo uses the packaged policy and model, whatever the person has configured.
    environment = {**os.environ, "REMIT_CONFIG_DIR": str(workspace / "no-configuration"), "REMIT_MODEL": "built-in"}
    if not as_json:
        say(style_text(f"Starting Remit in a sample workspace: {workspace}", "dim"))
    editor = await Editor.start(OWN_SERVER, workspace, environment)
    isolation = await asyncio.to_thread(choose_sandbox(workspace).isolation)
    story = Story(editor, as_json=as_json)
    try:
        code = await _tell_story(story, editor, workspace, isolation)
    except ResponseError as error:
        raise server_error(error) from error
    finally:
        ended = await editor.shutdown()
    return code if ended == 0 else FAILED


def server_error(error: ResponseError) -> RemitError:
    """Returns the server's error with its own words."""
    try:
        said = ErrorPayload.model_validate(error.data)
    except ValidationError:
        return RemitError("the demo cannot be run", f"the server answered {error}", "see its log")
    return RemitError(said.what, said.why, said.fix, code=said.code)


async def _tell_story(story: Story, editor: Editor, workspace: Path, isolation: Isolation) -> int:
    """Makes all requests, saves as a person would, and reports the result. Leaves `RUN` out if there is no sandbox."""
    asked = ASKED if isolation.available else tuple(text for text in ASKED if text != RUN)
    await editor.initialize({"approvals": "stream"})
    buffer = editor.open(EDITED)
    before = buffer.text
    story.tasks = (*asked, GATED)
    count = _COUNTS[len(asked) + 1]
    story.tell(
        f"The editor has {EDITED} open. Remit is asked {count} things. The sample's policy forbids the last but one,"
    )
    story.tell("and in the last the model calls a tool outside its declared intent.")
    if not story.answers_itself:
        story.tell("It asks you before it changes or runs anything: type a letter, such as y, and press Enter.")
    story.tell("")
    if not isolation.available:
        story.warn(f"skipped: {RUN}; there is no sandbox: {isolation.why}\n  fix: {isolation.fix}\n")
    result = await editor.run(_request(asked), story.take)
    await story.finish()
    editor.save(buffer)
    verified = await editor.request("workspace/executeCommand", {"command": "remit.audit.verify", "arguments": []})
    story.tell(f"\nWhat you saw: {story.seen}.")
    story.tell(f"audit: {verified['message']}")
    story.tell(next_steps(workspace))
    if story.refused and verified["ok"]:
        as_it_was = buffer.text == before
        unchanged = f"you approved nothing, so {EDITED} is unchanged"
        story.tell(unchanged if as_it_was else "only approved changes were made")
        return DENIED
    if result["status"] == "completed" and story.complete and has_both_edits(buffer, workspace) and verified["ok"]:
        return DONE
    story.tell("the demo did not go as it should: see the lines above")
    return FAILED


def next_steps(workspace: Path) -> str:
    """Returns what a person can type next, with Remit's path if a shell would not find its name."""
    started = Path(sys.argv[0])
    found = shutil.which("remit") or started.name != "remit"
    remit, folder = "remit" if found else shlex.quote(str(started.absolute())), shlex.quote(str(workspace))
    lines = [
        "\nTry next:",
        f"  cd {folder} && {remit}",
        "      opens a chat in the sample; in a project of yours it does the same",
        f"  {remit} model",
        "      connects a language model: the built-in one only follows fixed patterns",
        f"  {remit} audit log --workspace {folder}",
        "      shows the record of this demo",
    ]
    if not found:
        lines.append("To type only `remit`, put its folder into your PATH: see docs/install.md")
    return "\n".join(lines)


def _request(asked: Sequence[str]) -> dict[str, Any]:
    return {
        "session_id": f"demo-{uuid.uuid4().hex[:8]}",
        "turn_id": "1",
        "input": [*({"type": "text", "text": text} for text in asked), OUTSIDE_INTENT],
    }


def has_both_edits(buffer: ClientBuffer, workspace: Path) -> bool:
    """Returns whether both edits, and nothing else, reached the disk."""
    text = (workspace / EDITED).read_text()
    generated = (workspace / PROTECTED).read_text()
    edited = "subtotal += line.price" in text and "DIGITS = 3\n" in text
    return text == buffer.text and edited and "subtotal" not in generated


class Story:
    """Shows a turn as it happens, answers its questions, and records whether every expected event occurred."""

    def __init__(self, editor: Editor | None, *, as_json: bool) -> None:
        self._editor, self._json = editor, as_json
        self._answers: list[asyncio.Task[None]] = []
        self._edits = 0
        self._denied = self._gated = False
        self._commands = 0
        self._said = ""
        self._answered: list[str] = []
        self.refused = False
        self.tasks: Sequence[str] = ()
        self._told = 0

    @property
    def answers_itself(self) -> bool:
        """Whether nobody can be asked, so that the demo says yes itself."""
        return self._json or not can_ask()

    @property
    def complete(self) -> bool:
        """Whether a name was found, two edits were applied, and policy and the gate each refused a call once."""
        found = any(answer.startswith(DEFINED) for answer in self._answered)
        return found and self._edits == 2 and self._denied and self._gated

    @property
    def seen(self) -> str:
        """A summary of what happened, with counts."""
        counts = {
            "a name found": any(answer.startswith(DEFINED) for answer in self._answered),
            f"{self._edits} edits, each allowed by an answer": self._edits,
            "a command in the sandbox": self._commands,
            "a write that the policy refused": self._denied,
            "a call that the intent gate refused": self._gated,
        }
        return "; ".join(text for text, happened in counts.items() if happened) or "nothing was allowed"

    def tell(self, text: str) -> None:
        """Prints text for people, nothing for machines."""
        if not self._json:
            say(style_text(text, "dim"))

    def warn(self, text: str) -> None:
        """Prints text that readers of JSON output need too: on stderr with `--json`, else on stdout."""
        print(text, file=sys.stderr if self._json else sys.stdout, flush=True)

    def take(self, value: dict[str, Any]) -> None:
        """Handles one event of the turn."""
        event = EVENTS.validate_python(value)
        self._hear(event)
        if self._json:
            print_json(value)
        else:
            self._show(event)
        if event.kind == "approval_required":
            self._answers.append(asyncio.create_task(self._respond(event)))
        if event.kind == "approval_resolved":
            self.refused |= event.decision == "deny"
            if event.by == "deadline":
                self._answers[-1].cancel()
        if event.kind == "tool_result":
            self._edits += event.ok and event.changed_files == (EDITED,)
            self._commands += event.ok and event.tool == "run_command"
            self._denied |= event.error is not None and event.error.code == ErrorCode.DENIED and bool(event.rules)
            self._gated |= event.error is not None and event.error.code == ErrorCode.TOOL_NOT_ALLOWED_FOR_INTENT

    def _show(self, event: AgentEvent) -> None:
        """Draws an event, under a heading that names its task; the end of the demo tells how it ended."""
        if not self.tasks:
            show(event)
            return
        if event.kind == "intent_selected":
            if len(self._answered) >= self._told:
                say(style_text(f"\n── {self._told + 1} of {len(self.tasks)}: {self.tasks[self._told]}", "bold"))
                self._told += 1
            say(style_text(f"[{event.intent}]", "magenta"))
        elif event.kind != "run_completed":
            show(event)

    def _hear(self, event: AgentEvent) -> None:
        """Collects the model's answers, and shows all but the last, which `run_completed` shows."""
        if event.kind == "token_delta":
            self._said += event.text
        elif self._said and event.kind != "usage":
            self._answered.append(self._said)
            if event.kind != "run_completed":
                self.tell(self._said)
            self._said = ""

    async def finish(self) -> None:
        """Waits for answers that are still being sent."""
        for outcome in await asyncio.gather(*self._answers, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def _respond(self, question: ApprovalRequired) -> None:
        if self.answers_itself:
            # On stderr for machines, so that the approval is not taken for a person's.
            why = "--json is for machines" if self._json else "standard input or output is not a terminal"
            print(f"    {why}: the demo answers yes itself", file=sys.stderr if self._json else sys.stdout, flush=True)
            answer = {"approval_id": question.approval_id, "decision": "allow", "scope": "once"}
        else:
            answer = (await answer_from_terminal(question)).model_dump(mode="json")
        if self._editor is not None:
            await self._editor.request("remit/approval/respond", answer)
