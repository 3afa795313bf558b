"""`remit session …`: the sessions of a workspace (SES-04). The table is `COMMANDS`."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from remit_governance.visible import visible, visible_again
from remit_server.chat.figures import describe_statistics, report
from remit_server.cli.commands.turns import session_turns
from remit_server.cli.console import print_json, print_result, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.new_ids import new_session
from remit_server.cli.usage import Subcommand, Subcommands, WrongUsage, whole_number
from remit_server.contract import SessionRecord, SessionSummary
from remit_server.counted import counted
from remit_server.errors import SetupError, os_reason
from remit_server.machine.wall_clock import timestamp, utc_now
from remit_server.runtime.settings import Settings
from remit_server.sessions.export import Part, parts, to_html, to_markdown
from remit_server.sessions.folder import LAST, SessionFolder
from remit_server.sessions.messages import search
from remit_server.sessions.session_file import SessionError, to_lines
from remit_server.sessions.statistics import count

SHOWN = 20
COLOURS = {"you": "cyan", "model": "green", "call": "dim", "failed": "red", "title": "bold"}
MAX_LINES = 12
"""Lines of a call's output that are shown; the session's file, and an export, have all lines."""
MOST = 5
"""Search hits that are shown for one session."""


def add_session(parser: argparse.ArgumentParser, *, optional: bool = True) -> None:
    """Declares the argument that names a session."""
    named = "a name, an id, a number from the list, or `last`"
    if optional:
        named += " (default: the last)"
        argument = parser.add_argument("session", nargs="?", default=LAST, metavar="SESSION", help=named)
    else:
        argument = parser.add_argument("session", metavar="SESSION", help=f"{named}, or `{LAST}`")
    complete_sessions(argument)


def complete_sessions(argument: argparse.Action) -> None:
    """Makes shells complete the argument with the sessions of the folder."""

    def names(parsed_args: argparse.Namespace, **_: object) -> list[str]:
        folder = Settings.from_environment(getattr(parsed_args, "workspace", None) or Path()).session_folder
        return [each.name or each.session_id for each in SessionFolder(folder).list()]

    argument.completer = names  # type: ignore[attr-defined]  # argcomplete looks for it


def folder_of(arguments: argparse.Namespace) -> SessionFolder:
    """Returns the sessions of the workspace that the command line names. Raises SetupError."""
    return SessionFolder(Settings.from_environment(arguments.workspace).session_folder)


def chosen(arguments: argparse.Namespace) -> tuple[SessionFolder, SessionSummary]:
    """Returns the session that the command line names, and its folder. Raises SessionError, SetupError."""
    folder = folder_of(arguments)
    return folder, folder.find(arguments.session)


def _write_new(file: Path, text: str, what: str) -> int:
    """Writes a new file. Raises SetupError, in which `what` says what was not done, if that fails."""
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise SetupError(what, f"{file}: {os_reason(error)}", "name a new file") from error
    return DONE


def _declare_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--limit", type=whole_number, default=SHOWN, help=f"how many (default {SHOWN})")


def _list(arguments: argparse.Namespace) -> int:
    """Lists the sessions."""
    sessions = folder_of(arguments).list()
    shown = sessions[: arguments.limit]
    if arguments.json:
        for each in shown:
            print_json(each.model_dump(mode="json"))
        return DONE
    if not sessions:
        say('this folder has no sessions yet: `remit "…"` begins one')
    for number, each in enumerate(shown, 1):
        called = style_text(visible_again(each.name, "show"), "bold") + " · " if each.name else ""
        turns = counted(each.turns, "turn")
        when = each.last_used[:16].replace("T", " ")
        say(f"{number:3}  {when}  {called}{visible_again(each.title, 'show') or '(calls of tools, nothing said)'}")
        forked = f" · copied from {each.forked_from}" if each.forked_from else ""
        say(style_text(f"     {each.session_id} · {turns} · {visible_again(each.model, 'show')}{forked}", "dim"))
    if more := len(sessions) - len(shown):
        say(style_text(f"and {more} more: `--limit {len(sessions)}`", "dim"))
    return DONE


def _declare_show(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument("--all", action="store_true", help=f"show all output of calls, not {MAX_LINES} lines of each")


def _show(arguments: argparse.Namespace) -> int:
    """Prints the session, or with `--json` its records."""
    folder, session = chosen(arguments)
    records = folder.read(session)
    if arguments.json:
        for each in records:
            print_json(each.model_dump(mode="json"))
        return DONE
    for part in parts(records):
        for line in draw_part(part, whole=arguments.all):
            say(line)
    return DONE


def draw_part(part: Part, *, whole: bool) -> list[str]:
    """Returns one part of a session as lines."""
    if part.note:
        return [style_text(visible_again(part.text, "show"), "dim")]
    lines = visible_again(part.text).split("\n") if part.text else []
    if part.code and not whole and len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"… {len(lines) - MAX_LINES} more lines: `remit session show --all` shows them"]
    shown = [style_text(f"  {line}", "dim") if part.code else f"  {line}" for line in lines]
    return [style_text(visible_again(part.heading, "show"), COLOURS[part.kind]), *shown]


def _declare_rename(parser: argparse.ArgumentParser) -> None:
    add_session(parser, optional=False)
    parser.add_argument("name", metavar="NAME", help="the new name")


def _rename(arguments: argparse.Namespace) -> int:
    """Names the session."""
    folder, session = chosen(arguments)
    folder.rename(session, arguments.name, timestamp(utc_now()))
    named = folder.find(session.session_id)
    print_result(
        {"session_id": named.session_id, "name": named.name},
        f"{named.session_id} is now called {visible(named.name or '', 'show')}",
        as_json=arguments.json,
    )
    return DONE


def _declare_fork(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    shown = "copy up to this message, by its number in `remit session show` (default: all)"
    parser.add_argument("--at", type=whole_number, metavar="N", help=shown)
    parser.add_argument("--name", help="a name for the copy")


def _fork(arguments: argparse.Namespace) -> int:
    """Copies the session; prints the id of the new one."""
    folder, session = chosen(arguments)
    new = new_session()
    folder.fork(session, new, timestamp(utc_now()), arguments.at, arguments.name)
    print_result(
        {"session_id": new, "forked_from": session.session_id},
        f"{new} is a copy of {session.session_id}: `remit --resume {new} PROMPT` continues it",
        as_json=arguments.json,
    )
    return DONE


def _declare_search(parser: argparse.ArgumentParser) -> None:
    shown = "the words to look for, wherever they stand in one message; upper and lower case are the same"
    parser.add_argument("words", metavar="WORD", nargs="+", help=shown)


def _search(arguments: argparse.Namespace) -> int:
    """Prints the messages that have all the words; exit code 1 if there are none."""
    words = " ".join(arguments.words)
    if not words.strip():
        raise WrongUsage("nothing can be looked for", "no words were given", "try `remit session search retry`")
    folder, found = folder_of(arguments), 0
    for number, session in enumerate(folder.list(), 1):
        hits = []
        with contextlib.suppress(SessionError):  # it was deleted meanwhile
            hits = list(search(folder.read(session), words))
        found += len(hits)
        if arguments.json:
            for hit in hits:
                print_json({"session_id": session.session_id, **asdict(hit)})
        elif hits:
            title = visible_again(session.name or session.title, "show")
            say(f"{number:3}  {style_text(title, 'bold')}  {style_text(session.session_id, 'dim')}")
            for hit in hits[:MOST]:
                say(f"     {hit.message} · {hit.who}: {visible_again(hit.text, 'show')}")
            if len(hits) > MOST:
                say(style_text(f"     and {len(hits) - MOST} more", "dim"))
    if not found and not arguments.json:
        say("no message of any session has all these words" if len(words.split()) > 1 else "no session has this word")
    return DONE if found else FAILED


FORMATS: Mapping[str, Callable[[Sequence[SessionRecord]], str]] = {
    "md": to_markdown,
    "html": to_html,
    "json": lambda records: to_lines(records).decode(),
}


def _declare_export(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    shown = "Markdown (default), HTML, or JSON Lines as in the session's own file"
    parser.add_argument("--format", choices=tuple(FORMATS), help=shown)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to this new file instead of standard output")


def _export(arguments: argparse.Namespace) -> int:
    """Writes the session, without the secrets that were in it."""
    folder, session = chosen(arguments)
    kind = arguments.format or ("json" if arguments.json else _format_of(arguments.out))
    text = FORMATS[kind](folder.read(session))
    if arguments.out is None:
        say(text.rstrip("\n"))
        return DONE
    return _write_new(arguments.out, text, "the session was not exported")


def _format_of(file: Path | None) -> str:
    """Returns the format for the ending of a file's name, or Markdown for another ending."""
    ending = file.suffix.removeprefix(".").lower() if file else ""
    return {"htm": "html", "jsonl": "json"}.get(ending, ending if ending in FORMATS else "md")


def _declare_delete(parser: argparse.ArgumentParser) -> None:
    add_session(parser, optional=False)


def _delete(arguments: argparse.Namespace) -> int:
    """Deletes the session."""
    folder, session = chosen(arguments)
    folder.delete(session)
    print_result(
        {"session_id": session.session_id},
        f"{session.session_id} is deleted; the audit log keeps what it did",
        as_json=arguments.json,
    )
    return DONE


def _declare_stats(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write an HTML page with plots to this new file")
    parser.add_argument("--all", action="store_true", help="all sessions of this folder together")


def _stats(arguments: argparse.Namespace) -> int:
    """Prints the figures."""
    if arguments.all:
        figures = count(list(chain.from_iterable(_all_records(arguments))))
    else:
        folder, session = chosen(arguments)
        figures = count(folder.read(session))
    if arguments.html is not None:
        page = report(figures, "All sessions" if arguments.all else "A session")
        return _write_new(arguments.html, page, "the report was not written")
    if arguments.json:
        print_json(figures.model_dump(mode="json"))
        return DONE
    for heading, lines in describe_statistics(figures):
        say(style_text(heading, "bold"))
        for line in lines:
            say(f"  {visible_again(line, 'show')}")
    return DONE


def _all_records(arguments: argparse.Namespace) -> Iterator[list[SessionRecord]]:
    folder = folder_of(arguments)
    for session in sorted(folder.list(), key=lambda each: each.started):
        with contextlib.suppress(SessionError):  # it was deleted meanwhile
            yield list(folder.read(session))


def _declare_undo(parser: argparse.ArgumentParser) -> None:
    named = "a name, an id, a number from the list, or `last` (default: the last with something to undo or redo)"
    complete_sessions(parser.add_argument("session", nargs="?", metavar="SESSION", help=named))
    parser.add_argument("--turn", metavar="ID", help="the turn's id (default: the last turn)")
    parser.add_argument("--file", action="append", metavar="FILE", help="only this file; can be repeated")
    parser.add_argument("--approve", choices=("never", "ask", "session"), default="ask", help="as in `remit ask`")


COMMANDS: Mapping[str, Subcommand] = {
    "list": Subcommand(_list, "list this folder's sessions, last used first", _declare_list),
    "show": Subcommand(_show, "show what was said and done in a session", _declare_show),
    "resume": Subcommand(session_turns.resume, "open a chat that continues a session", add_session),
    "rename": Subcommand(_rename, "give a session a name", _declare_rename),
    "fork": Subcommand(_fork, "copy a session, up to a message, into a new one", _declare_fork),
    "search": Subcommand(_search, "search all sessions for words", _declare_search),
    "export": Subcommand(_export, "write a session as Markdown, HTML or JSON Lines", _declare_export),
    "delete": Subcommand(_delete, "delete a session and the file contents kept for its undo", _declare_delete),
    "undo": Subcommand(
        session_turns.undo, "undo what a turn changed, except what somebody changed since", _declare_undo
    ),
    "redo": Subcommand(session_turns.redo, "redo what was undone", _declare_undo),
    "stats": Subcommand(_stats, "show tokens, cost, tools and time of a session, or of all", _declare_stats),
}


COMMAND = Subcommands(COMMANDS, "`remit --continue PROMPT` and `remit --resume SESSION PROMPT` continue a session.")
add_arguments, run = COMMAND.add_arguments, COMMAND.run
