"""`remit policy replay`: judges the last audited calls again and shows the changed verdicts."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace as changed
from pathlib import Path

from remit_governance.policy.language.load import read_source
from remit_governance.policy.review.replay import LAST, replay
from remit_governance.policy.rules import Policy
from remit_server.cli.commands.policy.changes import change_lines
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE
from remit_server.cli.usage import whole_number
from remit_server.runtime.policy.policies import load_in_force
from remit_server.runtime.policy.policy_files import as_setup_error, compile_texts, read_past_calls, sources
from remit_server.runtime.policy.replayed import replay_payload
from remit_server.runtime.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    add_candidate_arguments(parser)
    parser.add_argument("-n", "--last", type=whole_number, default=LAST, help=f"how many calls (default {LAST})")


def add_candidate_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments that choose the policy to judge by."""
    parser.add_argument("--policy", type=Path, metavar="FILE", help="use this file as your policy file")
    parser.add_argument("--project", action="store_true", help="use the file as the project's policy instead")


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


def candidate(settings: Settings, arguments: argparse.Namespace, in_force: Policy) -> Policy:
    """Returns the policy in force, or that policy with the named file. Raises SetupError."""
    if arguments.policy is None:
        return in_force
    with as_setup_error():
        source = changed(read_source(arguments.policy), project=arguments.project)
        return compile_texts(settings, sources(settings, source), in_force)
