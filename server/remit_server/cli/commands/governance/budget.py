"""`remit budget`: the coverage budget of a workspace (FLW-08)."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from remit_governance.workflow.debt import standing_of, tell_budget
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE
from remit_server.cli.usage import add_common_arguments
from remit_server.harness.workflow.budget import read_account
from remit_server.runtime.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_common_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Shows how the budget stands."""
    settings = Settings.from_environment(arguments.workspace)
    account, thresholds = read_account(settings.coverage_file), settings.workflow.thresholds
    standing = standing_of(account, thresholds)
    if arguments.json:
        known = None if account is None else {**asdict(account), "debt": account.debt}
        print_json({"standing": standing.value, "account": known, "thresholds": asdict(thresholds)})
        return DONE
    for line in tell_budget(account, thresholds):
        say(line)
    return DONE
