"""`remit "prompt"`: one turn in the current folder, drawn in the terminal.

Text that another program pipes in is the prompt, or is added to the prompt that it belongs to (CLI-17).
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from remit_governance.visible import visible
from remit_governance.workflow.states import Mode
from remit_server.chat.session_commands import mode_call
from remit_server.cli.approval import TerminalAsker, can_ask, settle_trust
from remit_server.cli.console import show, sink
from remit_server.cli.main import DENIED, DONE, FAILED, INTERRUPTED
from remit_server.cli.new_ids import new_session, new_turn
from remit_server.cli.usage import WrongUsage, add_common_arguments, first_problem
from remit_server.contract import (
    ApprovalAnswer,
    ApprovalRequired,
    ExecutionPolicy,
    FileAttachment,
    RunRequest,
    RunResult,
    RunStatus,
    TextInput,
)
from remit_server.harness.ports import NEVER_ASK, Asker, AskingStyle, Emit, NobodyToAsk, Unasked
from remit_server.models.remote.engines import PROVIDERS
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.settings import Settings, existing_folder
from remit_server.sessions.folder import SessionFolder
from remit_server.streams.standard_streams import piped_in
from remit_server.workspace.ports import NoDocuments

MOST_PIPED = 150_000
"""Bytes that can be piped in. More belongs in a file, which a prompt can name."""
PATIENCE_S = 1.0
"""Seconds that a given prompt waits for piped input, because a program that starts `remit` may leave a pipe open."""


def piped_text(patience_s: float | None = None) -> str | None:
    """Returns all of standard input if it is a pipe, a file or a socket; None otherwise, or if it is empty.

    With `patience_s`, returns None if nothing comes within so many seconds. Raises WrongUsage for more than
    `MOST_PIPED` bytes.
    """
    descriptor = piped_in()
    if descriptor is None or not select.select([descriptor], [], [], patience_s)[0]:
        return None
    data = b""
    while len(data) <= MOST_PIPED and (more := os.read(descriptor, MOST_PIPED + 1 - len(data))):
        data += more
    if len(data) > MOST_PIPED:
        why = f"it has more than {MOST_PIPED:,} bytes"
        raise WrongUsage("standard input cannot be sent", why, "put it into a file, and name that in the prompt")
    return data.decode("utf-8", errors="replace").strip("\n") or None


EXIT_CODES: Mapping[RunStatus, int] = {
    "completed": DONE,
    "declined": FAILED,
    "failed": FAILED,
    "cancelled": INTERRUPTED,
    "denied": DENIED,
    "timed_out": FAILED,
}


def exit_code_of(result: RunResult) -> int:
    """Returns the exit code of a turn; 1 also for a completed turn that did not do all that was asked for."""
    return FAILED if result.status == "completed" and result.reason else EXIT_CODES[result.status]


class YesForThisSession:
    """`--approve session`: the person allowed everything beforehand, for this one session."""

    style: AskingStyle = "beforehand"

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Returns an approval of exactly this question."""
        return ApprovalAnswer(approval_id=question.approval_id, decision="allow", digest=question.digest)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "prompt",
        nargs="*",
        metavar="PROMPT",
        help="the request; `-` reads it from standard input (default: open a chat)",
    )
    add_common_arguments(parser)
    parser.add_argument(
        "--model", help="`built-in`, a model folder, `org/name` of a pulled model, or `PROVIDER:MODEL[@URL]`"
    )
    parser.add_argument(
        "--provider", choices=tuple(PROVIDERS), help="the server's protocol; name the model with `--model`"
    )
    parser.add_argument("--endpoint", metavar="URL", help="the server's address (default: the provider's own service)")
    parser.add_argument(
        "--attach",
        action="append",
        default=[],
        metavar="FILE",
        help="attach a file to the prompt; can be repeated",
    )
    parser.add_argument(
        "--mode",
        choices=[mode.value for mode in Mode],
        help="`strict`: a failing test has to come before code (docs/workflow.md)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only read, and show what would be done")
    loud = parser.add_mutually_exclusive_group()
    loud.add_argument("--quiet", action="store_true", help="print only the answer")
    loud.add_argument("--verbose", action="store_true", help="also print the log on standard error")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--continue", action="store_true", dest="go_on", help="continue this folder's last conversation")
    which.add_argument(
        "--resume", metavar="SESSION", help="continue this session: a name, an id, or a number from `session list`"
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="record the model's traffic into this file; `--model replay:FILE` plays it back",
    )
    parser.add_argument(
        "--approve",
        choices=("never", "ask", "session"),
        default="ask",
        help="`ask`: in the terminal (default), `never`: deny without asking, `session`: say yes to every question",
    )


def model_reference(arguments: argparse.Namespace) -> str | None:
    """Returns the model that the command line names, or None if it names none. Raises WrongUsage."""
    model: str | None = arguments.model
    provider, endpoint = arguments.provider, arguments.endpoint
    if provider is None and endpoint is None:
        return model
    if provider is None or (model is None and endpoint is None):
        missing = "--model" if provider else "--provider"
        raise WrongUsage("the model is only partly named", f"{missing} is missing", "give --provider and --model")
    return f"{provider}:{model or ''}" + (f"@{endpoint}" if endpoint else "")


def run(arguments: argparse.Namespace) -> int:
    """Runs one turn; without a prompt, a chat."""
    text = _asked(arguments.prompt)
    if arguments.approve == "ask" and not arguments.json and can_ask():
        settle_trust(existing_folder(arguments.workspace))
    settings = _read_settings(arguments)
    session = session_for(settings, arguments.resume, go_on=arguments.go_on)
    if arguments.verbose:
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    if text is None:
        return _chat(arguments, settings, session)
    attachments = _attached(settings, arguments.attach)
    message = TextInput(text=text.text, attachments=attachments)
    limits = ExecutionPolicy(dry_run=True) if arguments.dry_run else None
    parts = (mode_call(Mode(arguments.mode)), message) if arguments.mode else message
    request = RunRequest(session_id=session or new_session(), turn_id=new_turn(), input=parts, policy=limits)
    asker = choose_asker(arguments.approve, as_json=arguments.json, shows=arguments.quiet)
    take = sink(as_json=arguments.json, quiet=arguments.quiet)
    return exit_code_of(asyncio.run(run_request(settings, request, asker, take)))


def _asked(words: Sequence[str]) -> TextInput | None:
    """Returns the request: the words and what was piped in, or for `-` or no words what was piped in alone. None if
    there is neither.

    Raises WrongUsage.
    """
    if list(words) == ["-"]:
        if (piped := piped_text()) is None:
            raise WrongUsage(
                "there is no prompt",
                "nothing was piped in",
                'pipe it in, as in `git diff | remit -`, or write it: `remit "…"`',
            )
        return prompt(piped)
    piped = piped_text(PATIENCE_S if words else None)  # without words, only piped text can be sent
    if not words:
        return None if piped is None else prompt(piped)
    asked = " ".join(words)
    return prompt(asked if piped is None else f"{asked}\n\nStandard input:\n{piped}")


def _attached(settings: Settings, paths: Sequence[str]) -> tuple[FileAttachment, ...]:
    """Returns the files that go with the prompt. Raises WrongUsage if one does not exist."""
    for path in paths:
        if not (settings.workspace / path).is_file():
            why = f"`{path}` is not a file in {settings.workspace}"
            raise WrongUsage("nothing was asked", why, "give a path relative to that folder")
    return tuple(FileAttachment(path=path) for path in paths)


def _read_settings(arguments: argparse.Namespace) -> Settings:
    settings = Settings.from_environment(arguments.workspace, model=model_reference(arguments))
    record: Path | None = arguments.record
    return settings if record is None else settings.with_config(model={"record": record})


def _chat(arguments: argparse.Namespace, settings: Settings, session: str | None) -> int:
    single = ("json", "attach", "dry_run", "quiet", "mode")
    if given := [f"`--{each.replace('_', '-')}`" for each in single if getattr(arguments, each)]:
        what, fix = "there is no prompt", 'say what to do, such as `remit "add a test for fetch"`'
        raise WrongUsage(what, f"{' and '.join(given)} can only be used with a prompt", fix)
    return chat_here(lambda: _read_settings(arguments), session, arguments.approve)


def chat_here(read: Callable[[], Settings], session: str | None, approve: str = "ask") -> int:
    """Runs a chat in this terminal, in this session or for None in a new one; `read` reads the current settings.

    Raises WrongUsage if there is no terminal.
    """
    if not can_ask():
        what, fix = "there is no prompt", 'say what to do, such as `remit "add a test for fetch"`'
        raise WrongUsage(what, "a chat needs a terminal", fix)
    from remit_server.cli.chat.app import open_chat  # imports prompt_toolkit and rich, which one turn does not need

    # The chat asks the questions itself, unless `--approve` has answered them beforehand.
    asker = None if approve == "ask" else choose_asker(approve, as_json=False)
    asyncio.run(open_chat(read, session, asker))
    return DONE


def prompt(text: str) -> TextInput:
    """Returns the person's request. Raises WrongUsage if it is empty or not text."""
    what = "the prompt cannot be used"
    if not text.isprintable() and any("\ud800" <= sign <= "\udfff" for sign in text):
        why = f"it contains bytes that are not valid in {sys.getfilesystemencoding()}, your locale's encoding"
        raise WrongUsage(what, why, "use a UTF-8 locale, such as `LC_ALL=C.UTF-8`, and type it as UTF-8")
    fix = 'say what to do, such as `remit "rename total to subtotal in src/cart.py"`'
    if not text.strip():
        raise WrongUsage(what, "it is empty", fix)
    try:
        return TextInput(text=text.strip())
    except ValidationError as error:
        raise WrongUsage(what, first_problem(error), fix) from error


def session_for(settings: Settings, wanted: str | None, *, go_on: bool) -> str | None:
    """Returns the id of the session that is `wanted`, or of the last conversation if `go_on`; None for a new session.

    Raises SessionError.
    """
    folder = SessionFolder(settings.session_folder)
    if go_on:
        return folder.last_conversation().session_id
    return None if wanted is None else folder.find(wanted).session_id


_WITH_JSON = Unasked("`--json` asks nobody", "leave out `--json`, add `--approve session`, or allow it in the policy")
_NO_TERMINAL = Unasked(
    "this is no terminal, so nobody can be asked",
    "run it in a terminal or an editor, add `--approve session`, or allow it in the policy",
)


def choose_asker(approve: str, *, as_json: bool, shows: bool = False) -> Asker:
    """Returns the asker: the terminal, nobody, or the approval given beforehand. With JSON output nobody is asked.

    `shows`: the terminal's asker draws the question itself.
    """
    if approve == "session":
        return YesForThisSession()
    if approve == "never":
        return NobodyToAsk(NEVER_ASK)
    if as_json or not can_ask():
        return NobodyToAsk(_WITH_JSON if as_json else _NO_TERMINAL)
    return TerminalAsker(show) if shows else TerminalAsker()


async def run_request(settings: Settings, request: RunRequest, asker: Asker, take: Emit) -> RunResult:
    """Runs one request in a new runtime; `take` receives its events, and Ctrl-C cancels it."""
    runtime = await open_runtime(settings, NoDocuments())
    try:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, runtime.cancel)
        result = await runtime.run(request, take, asker)
        for each in runtime.status(request.session_id).processes:
            if each.running:
                why = "the command that started it has ended; a chat (`remit`) keeps it running"
                sys.stderr.write(f"remit: `{visible(each.command, 'show')}` ({each.process}) was stopped: {why}\n")
        return result
    finally:
        await runtime.close()
