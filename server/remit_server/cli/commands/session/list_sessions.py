"""`remit session list`: one line a session."""

from __future__ import annotations

import argparse

from remit_governance.visible import visible_again
from remit_server.cli.commands.session.chosen import folder_of
from remit_server.cli.console import print_json, say, style_text
from remit_server.cli.main import DONE
from remit_server.cli.usage import whole_number

SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("-n", "--limit", type=whole_number, default=SHOWN, help=f"how many (default {SHOWN})")


def run(arguments: argparse.Namespace) -> int:
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
        turns = f"{each.turns} turn{'' if each.turns == 1 else 's'}"
        when = each.last_used[:16].replace("T", " ")
        say(f"{number:3}  {when}  {called}{visible_again(each.title, 'show') or '—'}")
        forked = f" · copied from {each.forked_from}" if each.forked_from else ""
        say(style_text(f"     {each.session_id} · {turns} · {visible_again(each.model, 'show')}{forked}", "dim"))
    if more := len(sessions) - len(shown):
        say(style_text(f"and {more} more: `--limit {len(sessions)}`", "dim"))
    return DONE
