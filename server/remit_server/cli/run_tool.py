"""`remit run-tool NAME JSON --intent INTENT`: one call of the person's own through the whole dispatcher."""

from __future__ import annotations

import argparse
import asyncio
import json
import uuid
from typing import Any, cast

from pydantic import ValidationError

from remit_governance.values import Intent
from remit_server.cli.ask import add_common_arguments, asker_for
from remit_server.cli.console import print_json, show
from remit_server.cli.main import DENIED, DONE, FAILED, USAGE
from remit_server.contract import CallInput, ErrorCode, Event, RunRequest, RunResult, ToolResultEvent
from remit_server.errors import SetupError
from remit_server.harness.ports import Asker
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.settings import Settings
from remit_server.workspace.ports import NoDocuments

REFUSALS = {
    ErrorCode.DENIED,
    ErrorCode.APPROVAL_DENIED,
    ErrorCode.APPROVAL_EXPIRED,
    ErrorCode.APPROVAL_UNAVAILABLE,
    ErrorCode.INTENT_REQUIRED,
    ErrorCode.TOOL_NOT_ALLOWED_FOR_INTENT,
    ErrorCode.OUTSIDE_WORKSPACE,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("name", metavar="NAME", help="the tool, such as read_file")
    parser.add_argument("tool_arguments", metavar="JSON", help='its arguments, such as \'{"path": "README.md"}\'')
    parser.add_argument("--intent", type=str.upper, choices=[i.value for i in Intent], help="the intent to declare")
    add_common_arguments(parser)
    parser.add_argument("--approve", choices=("never", "ask", "session"), default="ask", help="as in `remit ask`")


def run(arguments: argparse.Namespace) -> int:
    """Run one call; 3 where it was refused."""
    call = CallInput(
        tool=arguments.name,
        arguments=parse(arguments.tool_arguments),
        intent=Intent(arguments.intent) if arguments.intent else None,
    )
    settings = Settings.from_environment(arguments.workspace)
    request = RunRequest(session_id=f"cli-{uuid.uuid4().hex[:8]}", turn_id="1", input=call)
    shown = Shown(as_json=arguments.json)
    result = asyncio.run(_run(settings, request, asker_for(arguments.approve), shown))
    return shown.exit_code(result)


def parse(text: str) -> dict[str, Any]:
    """The arguments as an object. Exits with 2 where they are none."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SystemExit(wrong_usage(f"`{text[:60]}` is not JSON: {error}")) from None
    if not isinstance(value, dict):
        raise SystemExit(wrong_usage(f"`{text[:60]}` is JSON, but not an object such as {{}}"))
    return cast("dict[str, Any]", value)


def wrong_usage(message: str) -> int:
    """Say what is wrong with the command line; returns the exit code for it."""
    import sys

    sys.stderr.write(f"remit run-tool: error: {message}\n")
    return USAGE


class Shown:
    """Draws the events and keeps the one result."""

    def __init__(self, *, as_json: bool) -> None:
        self._json = as_json
        self._result: ToolResultEvent | None = None

    def take(self, event: Event) -> None:
        """Draw one event."""
        if self._json:
            print_json(event.model_dump(mode="json"))
        else:
            show(event)
        if isinstance(event, ToolResultEvent):
            self._result = event
            if event.ok and not self._json:
                print(event.output)

    def exit_code(self, result: RunResult) -> int:
        """0 where the call ran, 3 where it was refused, else 1."""
        if self._result is None or result.status not in {"completed", "denied"}:
            return FAILED
        if self._result.error is None:
            return DONE
        return DENIED if self._result.error.code in REFUSALS else FAILED


async def _run(settings: Settings, request: RunRequest, asker: Asker, shown: Shown) -> RunResult:
    runtime = await open_runtime(settings, NoDocuments())
    try:
        return await runtime.run(request, shown.take, asker)
    except ValidationError as error:
        raise SetupError("cannot run the call", str(error), "mend the arguments") from error
    finally:
        await runtime.close()
