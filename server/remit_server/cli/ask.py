"""`remit "prompt"`: one turn in the current folder, drawn in the terminal."""

from __future__ import annotations

import argparse
import asyncio
import signal
import uuid
from pathlib import Path

from remit_server.cli.approval import TerminalAsker, can_ask
from remit_server.cli.console import print_json, show
from remit_server.cli.main import DENIED, DONE, FAILED
from remit_server.contract import ApprovalAnswer, ApprovalRequired, Event, RunRequest, RunResult, TextInput
from remit_server.harness.ports import Asker, AskingStyle, NobodyToAsk
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.ports import NoDocuments

EXIT_CODES = {"completed": DONE, "failed": FAILED, "cancelled": 130, "denied": DENIED, "timed_out": FAILED}


class YesForThisSession:
    """`--approve session`: the person said yes beforehand, for this one session."""

    style: AskingStyle = "callback"

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Yes, to exactly this."""
        return ApprovalAnswer(approval_id=question.approval_id, decision="allow", digest=question.digest)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("prompt", nargs="+", metavar="PROMPT", help="what to do")
    add_common_arguments(parser)
    parser.add_argument("--model", help="`embedded`, or a model folder")
    parser.add_argument(
        "--approve",
        choices=("never", "ask", "session"),
        default="ask",
        help="ask in the terminal (default), never ask and so deny, or say yes beforehand for this session",
    )


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of every command that works in a workspace."""
    parser.add_argument("--json", action="store_true", help="one JSON object a line, for machines")
    parser.add_argument("--workspace", type=Path, default=Path(), help="the folder to work in (default: this one)")


def run(arguments: argparse.Namespace) -> int:
    """Run one turn."""
    settings = Settings.from_environment(arguments.workspace, model=arguments.model)
    request = RunRequest(
        session_id=f"cli-{uuid.uuid4().hex[:8]}", turn_id="1", input=TextInput(text=" ".join(arguments.prompt))
    )
    result = asyncio.run(run_request(settings, request, asker_for(arguments.approve), as_json=arguments.json))
    return EXIT_CODES[result.status]


def asker_for(approve: str) -> Asker:
    """Who answers questions: the terminal, nobody, or a yes beforehand."""
    if approve == "session":
        return YesForThisSession()
    return TerminalAsker() if approve == "ask" and can_ask() else NobodyToAsk()


async def run_request(settings: Settings, request: RunRequest, asker: Asker, *, as_json: bool) -> RunResult:
    """Run one request in a runtime of its own, drawing its events; Ctrl-C cancels the turn."""

    def draw(event: Event) -> None:
        if as_json:
            print_json(event.model_dump(mode="json"))
        else:
            show(event)

    runtime = await open_runtime(settings, NoDocuments())
    try:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, runtime.cancel)
        return await runtime.run(request, draw, asker)
    finally:
        await runtime.close()
