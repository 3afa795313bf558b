"""The policy by which past calls are judged again: the one in force, or a file that the person names (POL-13)."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from remit_governance.policy.language.load import read_source
from remit_governance.policy.rules import Policy
from remit_server.runtime.policy.policy_files import as_setup_error, compile_texts, sources
from remit_server.runtime.settings import Settings


def add_candidate_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments that choose the policy to judge by."""
    parser.add_argument("--policy", type=Path, metavar="FILE", help="use this file as your policy file")
    parser.add_argument("--project", action="store_true", help="use the file as the project's policy instead")


def candidate(settings: Settings, arguments: argparse.Namespace, in_force: Policy) -> Policy:
    """Returns the policy in force, or that policy with the named file. Raises SetupError."""
    if arguments.policy is None:
        return in_force
    with as_setup_error():
        source = replace(read_source(arguments.policy), project=arguments.project)
        return compile_texts(settings, sources(settings, source), in_force)
