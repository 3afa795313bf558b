"""`remit hook install`, `remove`, `status`: shows agents' settings files, and changes them after a look (HOK-06)."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from remit_governance.visible import visible
from remit_server.cli.approval import agrees
from remit_server.cli.console import diff_line, print_json, say
from remit_server.cli.main import DENIED, DONE
from remit_server.cli.usage import Subcommand
from remit_server.errors import SetupError
from remit_server.hooks.formats.agents import AGENTS
from remit_server.hooks.settings_file import SettingsFile, settings_place
from remit_server.runtime.own_files.own_file_writer import rewrite

UNTRUSTED = (
    "Codex runs no hook before you trust it, and says nothing: start `codex` in a terminal, and trust the new hooks"
    " there; `remit hook status codex` then says `installed`"
)


def _declare_change(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", choices=sorted(AGENTS), metavar="AGENT", help=", ".join(AGENTS))
    parser.add_argument("--project", action="store_true", help="the project's settings file instead of yours")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _install(arguments: argparse.Namespace) -> int:
    return change_settings(arguments, lambda file, text: file.with_hooks(text), "installed")


def _remove(arguments: argparse.Namespace) -> int:
    return change_settings(arguments, lambda file, text: file.without_hooks(text), "removed")


def chosen_file(arguments: argparse.Namespace) -> SettingsFile:
    """Returns the file that the arguments name. A project's file, which others share, names `remit` without a path."""
    agent = AGENTS[arguments.agent]
    project = arguments.workspace.absolute() if arguments.project else None
    remit = "remit" if arguments.project else str(Path(sys.executable).with_name("remit"))
    return SettingsFile(agent, settings_place(agent, Path.home(), project), remit)


def change_settings(arguments: argparse.Namespace, change: Callable[[SettingsFile, str], str], done: str) -> int:
    """Shows a change of the file, asks, and makes it; exit code 3 if nobody said yes. Raises SetupError."""
    file = chosen_file(arguments)
    before = file.read()
    after = change(file, before)
    shown = [] if arguments.json else _difference(before, after, file.place)
    for line in shown:
        say(line)
    if before == after:
        return _tell(arguments, file, done, changed=False)
    if not arguments.yes and not agrees(f"change {file.place}?", f"`{file.place}` was not changed"):
        return DENIED
    try:
        rewrite(file.place, lambda now: change(file, now), lambda _: file.read())
    except OSError as error:
        raise file.unusable((error.strerror or str(error)).lower()) from error
    return _tell(arguments, file, done, changed=True)


def _difference(before: str, after: str, place: Path) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(place), str(place), lineterm="")
    return [diff_line(visible(line)) for line in lines]


def _tell(arguments: argparse.Namespace, file: SettingsFile, done: str, *, changed: bool) -> int:
    untrusted = done == "installed" and _state(file)[0] == "untrusted"
    if arguments.json:
        done = "untrusted" if untrusted else done
        print_json({"agent": file.agent.name, "file": os.fspath(file.place), "changed": changed, "state": done})
    else:
        say(f"{done} in {file.place}" if changed else f"nothing to change: already {done} in {file.place}")
        if untrusted:
            say(UNTRUSTED)
        elif done == "removed":
            _tell_of_other(arguments)
    return DONE


def _tell_of_other(arguments: argparse.Namespace) -> None:
    """Says where Remit's entries remain, because an agent reads the person's file and the project's."""
    other = chosen_file(argparse.Namespace(**{**vars(arguments), "project": not arguments.project}))
    if _state(other)[0] in {"installed", "untrusted"}:
        option = "" if arguments.project else " --project"
        say(f"Remit is still called in {other.place}: `remit hook remove {arguments.agent}{option}`")


def _declare_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", nargs="?", choices=sorted(AGENTS), metavar="AGENT", help="this agent alone")


def _state(file: SettingsFile) -> tuple[str, str]:
    """Returns the state of a file, and why it is `unreadable`; `untrusted` if its agent skips the installed entries."""
    try:
        text = file.read()
        state = file.state(text)
    except SetupError as error:
        return "unreadable", error.why
    return ("installed" if file.is_heeded(text, Path.home()) else "untrusted") if state == "installed" else state, ""


def _status(arguments: argparse.Namespace) -> int:
    """Prints a line for each settings file that there may be."""
    remit = str(Path(sys.executable).with_name("remit"))
    for agent in [AGENTS[arguments.agent]] if arguments.agent else AGENTS.values():
        for project, name in ((None, remit), (arguments.workspace.absolute(), "remit")):
            file = SettingsFile(agent, settings_place(agent, Path.home(), project), name)
            state, why = _state(file)
            if arguments.json:
                print_json({"agent": agent.name, "file": os.fspath(file.place), "state": state})
            else:
                say(f"{agent.name:12} {state:10} {file.place}{f': {why}' if why else ''}")
    return DONE


INSTALL = Subcommand(_install, "have an agent call Remit, after showing the change of its settings", _declare_change)
STATUS = Subcommand(_status, "show which agents call Remit", _declare_status)
REMOVE = Subcommand(_remove, "take Remit out of an agent's settings", _declare_change)
