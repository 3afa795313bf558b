"""`remit intent INTENT`: declares what an agent, whose calls go through `remit hook`, is about to do (HOK-05)."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.values import Intent
from remit_server.cli.console import print_json, say
from remit_server.cli.main import DONE
from remit_server.cli.usage import add_common_arguments
from remit_server.hooks.records.kept_sessions import KeptSessions
from remit_server.runtime.audit.audit_service import as_audit_errors, brief_log
from remit_server.runtime.settings import Settings

NONE = "NONE"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    choices = [*(intent.value for intent in Intent), NONE]
    parser.add_argument("intent", type=str.upper, choices=choices, help="what comes next; NONE takes it back")
    parser.add_argument("--session", metavar="ID", help="for this session alone, such as claude-code:ID")
    add_common_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Keeps the intent. Raises SetupError if it cannot be kept."""
    sessions = KeptSessions.of(os.environ)
    intent = None if arguments.intent == NONE else Intent(arguments.intent)
    kept = sessions.get(arguments.session) if arguments.session else None
    settings = Settings.of_places(Path(kept.root) if kept is not None and kept.root else arguments.workspace)
    root = str(settings.workspace)
    where = arguments.session or root
    _record(settings, intent, arguments.session)
    if arguments.session:
        sessions.declare(arguments.session, intent)
    else:
        sessions.declare_in(root, intent)
    if arguments.json:
        print_json({"intent": intent, "for": where})
    else:
        say(f"intent {arguments.intent} is declared for {where}")
    return DONE


def _record(settings: Settings, intent: Intent | None, session: str | None) -> None:
    """Audits the declaration, which a person or the agent's shell may have made. Raises SetupError."""
    metadata = {"by": "remit intent", "declared": intent or NONE}
    event = AuditEvent(AuditKind.INTENT_SELECTED, session_id=session, intent=intent, metadata=metadata)
    with as_audit_errors(), brief_log(settings, "") as log:  # no policy is asked
        log.write(event)
