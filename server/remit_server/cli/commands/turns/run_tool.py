"""`remit run-tool NAME JSON --intent INTENT`: runs one call of the person's own through the whole dispatcher."""

from __future__ import annotations

import argparse
import asyncio

from pydantic import ValidationError

from remit_governance.intents import INTENT_TOOLS
from remit_governance.values import Intent
from remit_governance.visible import visible_again
from remit_server.cli.commands.turns.ask import EXIT_CODES, choose_asker, run_request
from remit_server.cli.console import say, sink
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.new_ids import new_session, new_turn
from remit_server.cli.usage import WrongUsage, add_common_arguments, first_problem, json_object
from remit_server.contract import CallInput, Event, RunRequest, RunResult, ToolOutput, ToolResultEvent
from remit_server.runtime.settings import Settings
from remit_server.tools.table import TOOLS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.epilog = "tools by intent: " + "; ".join(f"{i} {', '.join(tools_of(i)) or 'none'}" for i in Intent)
    parser.add_argument("name", metavar="NAME", help="the tool, such as read_file")
    parser.add_argument("tool_arguments", metavar="JSON", help='its arguments, such as \'{"path": "README.md"}\'')
    parser.add_argument("--intent", type=str.upper, choices=[i.value for i in Intent], help="the intent to declare")
    add_common_arguments(parser)
    parser.add_argument("--approve", choices=("never", "ask", "session"), default="ask", help="as in `remit ask`")


def tools_of(intent: Intent) -> list[str]:
    """Returns the existing tools of an intent."""
    return [name for name in INTENT_TOOLS[intent].tools if name in TOOLS]


def run(arguments: argparse.Namespace) -> int:
    """Runs one call; exit code 3 if it was refused."""
    call = parse_call(arguments.name, arguments.tool_arguments, arguments.intent)
    settings = Settings.from_environment(arguments.workspace)
    request = RunRequest(session_id=new_session(), turn_id=new_turn(), input=call)
    shown = Shown(as_json=arguments.json)
    asker = choose_asker(arguments.approve, as_json=arguments.json)
    return shown.exit_code(asyncio.run(run_request(settings, request, asker, shown.take)))


def parse_call(tool: str, text: str, intent: str | None) -> CallInput:
    """Parses the call as the person typed it. Raises WrongUsage."""
    what, example = "the call cannot be made", '`{"path": "README.md"}`'
    arguments = json_object(text, what, example)
    try:
        return CallInput(tool=tool, arguments=arguments, intent=Intent(intent) if intent else None)
    except ValidationError as error:
        raise WrongUsage(what, first_problem(error), f"give the tool's arguments, such as {example}") from error


def with_option(event: ToolResultEvent) -> ToolResultEvent:
    """Returns the result with a fix for a person if the gate refused the call: the option for the intent, or the list
    of tools. The gate itself speaks to models (INT-01).
    """
    intents = event.data.get("intents")
    if event.error is None or not isinstance(intents, list) or (not intents and event.tool in TOOLS):
        return event
    meant = f"name the intent that you mean: {' or '.join(f'`--intent {each}`' for each in intents)}"
    fix = meant if intents else "name one of the tools that `remit tools list` shows"
    return event.model_copy(update={"error": event.error.model_copy(update={"fix": fix})})


class Shown:
    """Draws the events and stores the one result."""

    def __init__(self, *, as_json: bool) -> None:
        self._json = as_json
        self._draw = sink(as_json=as_json)
        self._result: ToolResultEvent | None = None
        self._printed = False

    def take(self, event: Event) -> None:
        """Draws one event, and after a result the tool's output, unless that was drawn while it was printed."""
        event = with_option(event) if isinstance(event, ToolResultEvent) else event
        self._draw(event)
        self._printed = self._printed or isinstance(event, ToolOutput)
        if isinstance(event, ToolResultEvent):
            self._result = event
            if (event.ok or event.ran_program) and not self._json and not self._printed:
                say(visible_again(event.output))

    def exit_code(self, result: RunResult) -> int:
        """Returns 0 if the call ran and did not fail, 3 if it was refused, else 1."""
        if result.status != "completed":
            return EXIT_CODES[result.status]
        return DONE if self._result is not None and self._result.went_well else FAILED
