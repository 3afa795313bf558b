"""`remit policy replay`: judges the last audited calls again and shows the changed verdicts."""

from __future__ import annotations

import argparse
from contextlib import closing

from remit_governance.policy.review.replay import LAST, replay
from remit_server.cli.candidate_policy import add_candidate_arguments, candidate
from remit_server.cli.commands.policy.changes import change_lines
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE
from remit_server.cli.usage import whole_number
from remit_server.runtime.policy.policies import load_in_force
from remit_server.runtime.policy.policy_files import read_past_calls
from remit_server.runtime.policy.replayed import replay_payload
from remit_server.runtime.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_candidate_arguments(parser)
    parser.add_argument("-n", "--last", type=whole_number, default=LAST, help=f"how many calls (default {LAST})")


def run(arguments: argparse.Namespace) -> int:
    """Judges the calls again."""
    settings = Settings.from_environment(arguments.workspace)
    with closing(load_in_force(settings)) as in_force:
        policy = candidate(settings, arguments, in_force.policy)
        done = replay(policy, read_past_calls(settings.audit_database, arguments.last))
    if arguments.json:
        print_json(replay_payload(done))
    else:
        for line in change_lines(done):
            say(line)
    return DONE
