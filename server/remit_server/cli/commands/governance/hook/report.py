"""`remit hook report`: what agents were stopped for most, and the rules that would allow it (HOK-04)."""

from __future__ import annotations

import argparse

from remit_governance.permissions.remembered import NoPlace, with_rule
from remit_governance.policy.language.load import read_source
from remit_governance.visible import visible
from remit_server.cli.approval import agrees
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DENIED, DONE
from remit_server.cli.usage import Subcommand, WrongUsage, whole_number
from remit_server.errors import SetupError, os_reason
from remit_server.hooks.records.report import CALLS, Asked, most_asked
from remit_server.runtime.own_files.own_file_writer import rewrite
from remit_server.runtime.settings import Settings

MOST_SHOWN = 20


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--last", type=whole_number, default=CALLS, metavar="N", help="look at the last N calls")
    parser.add_argument("--allow", type=whole_number, metavar="NUMBER", help="write this rule into permissions.yaml")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _report(arguments: argparse.Namespace) -> int:
    """Lists what was asked about, or allows one entry of that; exit code 3 if nobody said yes."""
    settings = Settings.of_places(arguments.workspace)
    asked = most_asked(settings.audit_database, settings.workspace, arguments.last)[:MOST_SHOWN]
    if arguments.allow is not None:
        return _allow(arguments, settings, asked)
    for number, each in enumerate(asked, 1):
        if arguments.json:
            print_json({"number": number, "what": each.what, "times": each.times, "rule": each.line or None})
        else:
            say(f"{number:3}  {each.times:4} times  {visible(each.what, 'show')}")
            say(f"     {f'allow: {each.line}' if each.line else 'no rule can match exactly this'}")
    if not asked and not arguments.json:
        say("no call was asked about")
    return DONE


def _allow(arguments: argparse.Namespace, settings: Settings, asked: tuple[Asked, ...]) -> int:
    number: int = arguments.allow
    chosen = asked[number - 1] if number <= len(asked) else None
    if chosen is None or chosen.rule is None:
        raise WrongUsage("nothing was allowed", f"number {number} has no rule", "see `remit hook report`")
    file, rule = settings.person_permissions, chosen.rule
    question = f"allow: {chosen.line}\nwrite this into {file}?"
    if not arguments.yes and not agrees(question, "nothing was allowed"):
        return DENIED
    try:
        rewrite(file, lambda text: with_rule(str(file), text, "allow", rule), lambda place: read_source(place).text)
    except NoPlace as error:
        raise SetupError(f"`{file}` was not changed", str(error), f"add it yourself: allow: {chosen.line}") from error
    except OSError as error:
        raise SetupError(f"`{file}` was not changed", os_reason(error), "make it writable") from error
    print_json({"allowed": chosen.line}) if arguments.json else say(f"allowed in {file}: {chosen.line}")
    return DONE


REPORT = Subcommand(_report, "show what was asked about most, with rules that would allow it", _declare)
