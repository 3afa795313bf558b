"""`remit audit log|verify`: who did what, who allowed it, and whether the record is whole."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from remit_governance.audit.query import AuditFilter
from remit_server.cli.ask import add_common_arguments
from remit_server.cli.console import print_json, styled
from remit_server.cli.main import DONE, FAILED
from remit_server.runtime.auditing import query, verify_database
from remit_server.runtime.settings import Settings

SHOWN = ("number", "time", "kind", "session_id", "tool_name", "intent", "policy_decision", "policy_rule_name")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(dest="audit_command", metavar="log|verify", required=True)
    log = commands.add_parser("log", help="the last records, oldest first")
    add_common_arguments(log)
    log.add_argument("-n", "--limit", type=int, default=50, help="how many records (default 50)")
    log.add_argument("--session", help="only of this session")
    log.add_argument("--tool", help="only of this tool")
    log.add_argument("--decision", help="only with this decision: allowed, review_required, denied")
    log.add_argument("--rule", help="only where this rule decided")
    verify = commands.add_parser("verify", help="check the hash chain; exits 1 naming the first bad record")
    add_common_arguments(verify)
    verify.add_argument("--database", type=Path, help="another database file than the workspace's")


def run(arguments: argparse.Namespace) -> int:
    """Show or verify."""
    settings = Settings.from_environment(arguments.workspace)
    if arguments.audit_command == "verify":
        return _verify([arguments.database] if arguments.database else databases(settings), as_json=arguments.json)
    wanted = AuditFilter(
        session_id=arguments.session,
        tool_name=arguments.tool,
        policy_decision=arguments.decision,
        policy_rule_name=arguments.rule,
        limit=arguments.limit,
    )
    for record in query(settings.audit_database, wanted):
        print_json(record) if arguments.json else print(line(record))
    return DONE


def databases(settings: Settings) -> list[Path]:
    """The workspace's own log; where it has none, the logs of all workspaces."""
    if settings.audit_database.exists():
        return [settings.audit_database]
    every = sorted(settings.state.parent.glob(f"*/{settings.audit_database.name}"))
    return every or [settings.audit_database]


def _verify(logs: Sequence[Path], *, as_json: bool) -> int:
    code = DONE
    for database in logs:
        good, message = verify_database(database)
        if not good:
            code = FAILED
        if as_json:
            print_json({"ok": good, "message": message, "database": str(database)})
        else:
            print(f"{styled('✓', 'green') if good else styled('✗', 'red')} {message}")
    return code


def line(record: Mapping[str, object]) -> str:
    """One record on one line; `-` where a field does not apply."""
    shown = [str(record.get(name) or "-") for name in SHOWN]
    return "  ".join([*shown, str(record.get("output_summary") or "")]).rstrip()
