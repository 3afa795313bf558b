"""`remit`: a table of commands (CLI-01; CLI-02).

Exit codes: 0 done, 1 failed, not all done or declined, 2 wrong usage, 3 denied.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from remit_governance.visible import visible_again
from remit_server import __version__
from remit_server.cli.commands.governance import (
    audit,
    budget,
    hook,
    intent,
    policy,
)
from remit_server.cli.commands.models_and_tools import (
    auth,
    model,
    plugin,
    skill,
    tools,
)
from remit_server.cli.commands.servers import (
    acp,
    bootstrap,
    gateway,
    http,
    mcp,
    serve,
    stdio,
    worker,
)
from remit_server.cli.commands.setup import (
    completion,
    config,
    doctor,
    sandbox,
)
from remit_server.cli.commands.turns import (
    ask,
    demo,
    run_tool,
    session,
    submit,
    watch,
)
from remit_server.streams import standard_streams

DONE, FAILED, USAGE, DENIED, INTERRUPTED = 0, 1, 2, 3, 130
FLAGS = frozenset({"-h", "--help", "--version", "--json", "--continue", "--dry-run", "--quiet", "--verbose"})
"""The options of a prompt that take no value. A word after any other option is its value, even a command's name."""

_END_OF_OPTIONS = "--"
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
"""One word that looks like a command's name. In other alphabets one word may be a sentence."""


class Command(Protocol):
    """The interface of a command's module: its arguments and its run."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declares the command's own arguments."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Runs the command; returns the exit code."""
        ...


@dataclass(frozen=True, slots=True)
class Row:
    """One command, which is imported only when it runs, and its line in the help."""

    command: Command
    summary: str


COMMANDS: dict[str, Row] = {
    "demo": Row(demo, "show reviewed edits and refusals in a sample workspace"),
    "ask": Row(ask, 'run one request (short form: `remit "add error handling"`); without a prompt, open a chat'),
    "model": Row(model, "connect a model; list, check and pull models"),
    "doctor": Row(doctor, "check the model, sandbox, policy, audit log and language server"),
    "session": Row(session, "list, show, continue, copy, search, export and undo this folder's sessions"),
    "policy": Row(policy, "explain, check, test, replay, change and show the policy"),
    "audit": Row(audit, "read or verify the audit log of a workspace"),
    "config": Row(config, "show every setting and where it is set; check the files; trust a folder"),
    "auth": Row(auth, "store, list and remove API keys in the operating system's keyring"),
    "sandbox": Row(sandbox, "test this machine's sandbox, or run a command in it"),
    "budget": Row(budget, "show how much test coverage commits may still lose, and how to win it back"),
    "run-tool": Row(run_tool, "make one tool call, with all its checks"),
    "tools": Row(tools, "list all tools, including your own"),
    "skill": Row(skill, "list your skills and this project's"),
    "plugin": Row(plugin, "install plugins, whose tools Remit's agent can call; list, enable and remove them"),
    "mcp": Row(mcp, "offer Remit's tools to other agents, by the Model Context Protocol; add servers of it"),
    "hook": Row(hook, "decide and record the calls of Claude Code, Codex, Gemini CLI, Copilot or Cursor"),
    "intent": Row(intent, "declare what an agent with such a hook is about to do"),
    "serve": Row(serve, "run the language server on stdin and stdout, as an editor starts it"),
    "bootstrap": Row(bootstrap, "start the language server and restart it if it fails; list the runtimes found here"),
    "acp": Row(acp, "run as an agent of Zed, JetBrains, Neovim, Emacs and others, on stdin and stdout"),
    "stdio": Row(stdio, "run turns for scripts, as JSON lines on stdin and stdout"),
    "http": Row(http, "run turns over HTTP and WebSocket on this machine, with a page for a browser"),
    "gateway": Row(gateway, "offer the model to other programs, as JSON lines on stdin and stdout"),
    "worker": Row(worker, "run the turns that come over a queue (NATS)"),
    "submit": Row(submit, "send a request to the workers of a queue"),
    "watch": Row(watch, "follow a turn of a queue, and answer its questions"),
    "completion": Row(completion, "print a shell completion script for bash, zsh or fish"),
}
"""All commands, in the order of the help: what a person types first is at the top."""

FIRST_STEPS = (
    "Begin with `remit demo`. Then `remit model` connects a model, and `remit` alone, in a folder of yours, opens a "
    "chat. `remit COMMAND --help` says what a command takes."
)

SUBCOMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("config", "model", "policy", "sandbox"),
    "export": ("audit", "session"),
    "list": ("auth", "model", "plugin", "session", "skill", "tools"),
    "log": ("audit",),
    "redo": ("session",),
    "remove": ("auth", "plugin"),
    "resume": ("session",),
    "show": ("config", "plugin", "policy", "session"),
    "stats": ("session",),
    "undo": ("session",),
    "verify": ("audit",),
}
"""Subcommands that are seldom the second word of a two-word prompt, with the commands that have each."""


def enter() -> NoReturn:
    """Runs the process's command line, and exits."""
    try:
        code = main()
    except SystemExit as ended:  # wrong usage, the help, or a signal
        code = ended.code if isinstance(ended.code, int) else FAILED if ended.code else DONE
    standard_streams.leave(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line. Returns the process's exit code."""
    # Imports make some 100,000 objects that live as long as the process; scanning them again and again would take a
    # tenth of a short command's time.
    gc.set_threshold(20_000, 20, 20)
    standard_streams.prepare()
    try:
        if "_ARGCOMPLETE" in os.environ:
            complete_words()
        try:
            arguments = parse_words(list(sys.argv[1:] if argv is None else argv))
        except BrokenPipeError:  # nobody reads the help, and argparse before Python 3.11.4 raises that
            standard_streams.forget_stdout()
            return DONE
        with end_in_order():
            return DONE if arguments is None else run_guarded(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED


@contextmanager
def end_in_order() -> Generator[None]:
    """Makes SIGHUP (a closed terminal) and SIGTERM end the process like `sys.exit` while the block runs, so that
    nothing that it started is left running.

    A signal that is ignored (`nohup`) stays ignored; a server that waits for signals replaces this.
    """
    mine = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        mine = []
    for each in mine:
        signal.signal(each, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for each in mine:
            signal.signal(each, signal.SIG_DFL)


def complete_words() -> NoReturn:
    """Answers a shell that asks for completions at the cursor, and ends the process."""
    import argcomplete

    program, _, line = os.environ.get("COMP_LINE", "").partition(" ")
    words = line.split()
    if words and words[0].startswith("-") and is_prompt(words):  # `ask` was left out
        os.environ["COMP_LINE"] = f"{program} ask {line}"
        os.environ["COMP_POINT"] = str(int(os.environ.get("COMP_POINT", "0")) + len("ask "))
        words.insert(0, "ask")
    parser = build_parser(words[0] if words else "")
    argcomplete.autocomplete(parser, always_complete_options="long")
    sys.exit(FAILED)


def build_parser(chosen: str) -> WholeWords:
    """Returns a parser of the chosen command alone, or of all without their arguments if none is chosen: making each
    parser looks for translations, which would take as long as the command itself."""
    parser = WholeWords(
        prog="remit",
        description="A coding agent that declares what it is about to do, and is held to it.",
        epilog=FIRST_STEPS,
    )
    parser.add_argument("--version", action="version", version=f"remit {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, row in COMMANDS.items():
        if chosen in COMMANDS and name != chosen:
            continue
        sub = commands.add_parser(name, help=row.summary, description=row.summary)
        if name == chosen:
            row.command.add_arguments(sub)
            sub.set_defaults(command=row.command)
    return parser


def parse_words(words: list[str]) -> argparse.Namespace | None:
    """Parses the words; `command` of the result is the chosen command's module. Returns None if help was printed."""
    if not words and sys.stdin.isatty() and sys.stdout.isatty():
        words = ["ask"]  # without a prompt: the chat
        # Importing the chat takes a second or two, so show something at once. The chat's first line overwrites it.
        sys.stdout.write(STARTING)
        sys.stdout.flush()
    if not words and standard_streams.brings_something():
        words = ["ask", "-"]
    if len(words) > 1 and words[0] == "help" and words[1] in COMMANDS:
        words = [*words[1:], "--help"]
    bare = is_prompt(words)
    if bare:
        if meant := nearest_command(words[0]):
            parser = build_parser("")
            fix = f"did you mean `remit {meant}`? To send a prompt that starts like this, use `remit ask`"
            parser.error(f"there is no command `{words[0]}`: {fix}")
        words = ["ask", *words]
    parser = build_parser(words[0] if words else "")
    if words in ([], ["help"]):
        parser.print_help()
        return None
    arguments = parser.parse_args(words)
    goes_on = bare and bool(arguments.go_on or arguments.resume)  # an answer may be one word
    if bare and not goes_on and _END_OF_OPTIONS not in words and looks_like_command(arguments.prompt):
        parser.error(unknown_command(arguments.prompt))
    return arguments


STARTING = "Remit is starting …\r"


class WholeWords(argparse.ArgumentParser):
    """A parser, also for its subparsers, that takes no abbreviated options: `--mode` is not `--model`.

    Its error messages show each hidden character of an argument.
    """

    def __init__(self, **how: Any) -> None:
        super().__init__(**how, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Prints the usage and what is wrong, and ends the process with 2."""
        super().error(visible_again(message))


def is_prompt(words: Sequence[str]) -> bool:
    """Returns whether `ask` was left out, as in `remit PROMPT`, `remit --json PROMPT` and `remit -- PROMPT`."""
    if not words or words[0] in {"-h", "--help", "--version"} or words == ["help"]:
        return False
    options = list(itertools.takewhile(lambda word: word != _END_OF_OPTIONS, words))
    behind = [word for before, word in itertools.pairwise(options) if not before.startswith("-") or before in FLAGS]
    return not any(word in COMMANDS for word in (behind if words[0].startswith("-") else words[:1]))


def looks_like_command(prompt: Sequence[str]) -> bool:
    """Returns whether a prompt is one word, or two of which the second is a subcommand, as in `remit tools list`."""
    words = all(_WORD.fullmatch(word) for word in prompt)
    return words and (len(prompt) == 1 or (len(prompt) == 2 and prompt[1] in SUBCOMMANDS))


def unknown_command(prompt: Sequence[str]) -> str:
    """Returns the error for words that are not a command, with the spelling for a prompt."""
    from difflib import get_close_matches

    near = next(iter(get_close_matches(prompt[0].lower(), COMMANDS, n=1, cutoff=0.6)), None)
    below = [word for word in prompt if word in SUBCOMMANDS]
    others = [f"`remit {name} {word}`" for word in below for name in SUBCOMMANDS[word]]
    of_that_name = len(prompt) == 1 and len(others) == 1
    found = f"`remit {near}`" if near and not of_that_name else " or ".join(others)
    meant = f"the nearest is {found}" if found else "`remit help` lists them"
    how = "one word" if len(prompt) == 1 else "these words"
    return f"there is no command `{prompt[0]}`: {meant}. For a prompt of {how} write `remit -- {shlex.join(prompt)}`"


def nearest_command(word: str) -> str | None:
    """Returns the command that was probably meant, or None. A prompt seldom begins like a command."""
    from difflib import get_close_matches

    if word.startswith("-"):
        return None
    swapped = [name for name in COMMANDS if sorted(name) == sorted(word)]  # `aks` is too short for `get_close_matches`
    return next(iter(swapped or get_close_matches(word, COMMANDS, n=1, cutoff=0.8)), None)


def run_guarded(arguments: argparse.Namespace) -> int:
    """Runs the chosen command; a `RemitError` is printed as three lines, without a traceback."""
    try:
        command: Command = arguments.command
        code = command.run(arguments)
    except Exception as error:
        code = report_error(error, as_json=getattr(arguments, "json", False))
    if standard_streams.unwritten:
        from remit_server.cli.usage import output_error

        return report_error(output_error(standard_streams.unwritten[0]), as_json=False)
    return code


def report_error(error: Exception, *, as_json: bool) -> int:
    """Prints a `RemitError`; returns the exit code. Any other error is raised again."""
    # Imported only here: both import the contract, which is slow, and `serve` has to answer before that.
    from remit_server.cli.console import complain
    from remit_server.cli.usage import WrongUsage
    from remit_server.errors import RemitError

    if not isinstance(error, RemitError):
        raise error
    complain(error.payload(), as_json=as_json)
    return USAGE if isinstance(error, WrongUsage) else FAILED


if __name__ == "__main__":
    enter()
