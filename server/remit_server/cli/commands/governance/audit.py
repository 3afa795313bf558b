"""`remit audit log|why|verify|export|checkpoint`: shows who did what, who allowed it and by which rule, and checks
whether the log is complete (AUD-04).
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import cast

from remit_governance.audit.proof.proven import LIMIT
from remit_governance.audit.reading.query import AuditFilter
from remit_governance.visible import visible_again
from remit_server.cli.console import print_json, print_result, say, style_text
from remit_server.cli.main import DONE, FAILED
from remit_server.cli.usage import HERE, Subcommand, Subcommands, add_candidate_arguments, whole_number
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError, os_reason
from remit_server.runtime.audit.audit_service import (
    DECISIONS,
    checkpoint_file,
    export,
    export_to,
    last_vouched,
    make_checkpoint,
    query,
    send_checkpoint,
    verify_log,
)
from remit_server.runtime.audit.told_call import call_json, find_call, judge_now, tell_call
from remit_server.runtime.policy.policies import candidate
from remit_server.runtime.settings import Settings

SHOWN = ("number", "time", "kind", "session_id", "tool_name", "intent", "policy_decision", "policy_rule_name")
HEADS = ("number", "time", "record", "session", "tool", "intent", "decision", "rule")
"""The column heads for `SHOWN`."""

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def add_filters(parser: argparse.ArgumentParser, *, default_limit: int | None) -> None:
    """Declares the arguments that select records."""
    shown = "default all" if default_limit is None else f"default {default_limit}"
    parser.add_argument("-n", "--limit", type=whole_number, default=default_limit, help=f"how many records ({shown})")
    parser.add_argument("--session", help="only this session")
    parser.add_argument("--tool", help="only this tool")
    parser.add_argument("--decision", choices=DECISIONS, help="only this decision")
    parser.add_argument("--rule", help="only calls that this rule decided")
    parser.add_argument(
        "--since", type=parse_time, metavar="TIME", help="from this time: 2026-11-22T09:30, or `2h` (2 hours ago)"
    )
    parser.add_argument("--until", type=parse_time, metavar="TIME", help="before this time")


def parse_time(text: str) -> int:
    """Parses an ISO 8601 time (local without a zone) or an age (`90s 15m 2h 7d`) into milliseconds since the epoch.

    Raises ArgumentTypeError, which argparse reports as wrong usage.
    """
    if ago := re.fullmatch(r"(\d{1,9})([smhd])", text):
        return int((time.time() - int(ago[1]) * UNITS[ago[2]]) * 1000)
    try:
        return int(datetime.fromisoformat(text).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(f"`{text}` is not a time; write for example 2026-11-22T09:30 or 2h") from None


def audit_filter(arguments: argparse.Namespace) -> AuditFilter:
    """Returns the filter that the arguments ask for."""
    return AuditFilter(
        session_id=arguments.session,
        tool_name=arguments.tool,
        policy_decision=arguments.decision,
        policy_rule_name=arguments.rule,
        since=arguments.since,
        until=arguments.until,
        limit=arguments.limit,
    )


def databases(settings: Settings, *, everywhere: bool) -> list[Path]:
    """Returns the workspace's own log, or, if it never had one and `everywhere` is set, the logs of all workspaces."""
    own = settings.audit_database
    if own.exists() or not everywhere or last_vouched(settings, own):
        return [own]
    return sorted(settings.state.parent.glob(f"*/{own.name}")) or [own]


def existing(settings: Settings, database: Path | None = None) -> Path:
    """Returns the log, the workspace's own if none is named. Raises SetupError if there is none."""
    log = database or settings.audit_database
    if not log.is_file():
        raise nothing_recorded(settings, log)
    return log


def nothing_recorded(settings: Settings, database: Path) -> SetupError:
    """Returns the error for a missing log: it was removed if a signature proves that it existed; otherwise it was never
    written, or it was deleted together with its signatures.
    """
    said = last_vouched(settings, database)
    if said:
        return SetupError(
            f"the audit log that had {said['count']} records is gone",
            f"{database} does not exist, but signatures in {checkpoint_file(settings, database).parent} prove it did",
            "put the file back from a copy, and find out who removed it; the next server begins a new log",
            code=ErrorCode.NOT_FOUND,
        )
    return SetupError(
        "there is no audit log yet",
        f"{database} does not exist; it may never have existed, or it was deleted together with its signed checkpoints",
        "run something in the workspace first, name another log with --workspace or --database, or look at"
        " checkpoints that were sent elsewhere",
        code=ErrorCode.NOT_FOUND,
    )


def line(record: Mapping[str, object]) -> str:
    """Returns one record as one line: its fields (`-` for one that does not apply), then what the call came to or was
    given, or else the record's metadata."""
    told = {**record, "policy_decision": "denied"} if record.get("denied_by") else record
    shown = [str(told.get(name) or "-") for name in SHOWN]
    about = record.get("output_summary") or record.get("input_summary") or _metadata(record)
    return visible_again("  ".join([*shown, str(about)]).rstrip(), "show")


def _metadata(record: Mapping[str, object]) -> str:
    told = cast("Mapping[str, str]", record.get("metadata") or {}).items()
    return ", ".join(f"{name}: {value[:24]}{'…' if value[24:] else ''}" for name, value in told)


def _log(arguments: argparse.Namespace, settings: Settings) -> int:
    records = query(existing(settings), audit_filter(arguments))
    if records and not arguments.json:
        say(style_text("  ".join([*HEADS, "about"]), "bold"))
    for record in records:
        print_json(record) if arguments.json else say(line(record))
    return DONE


def _why(arguments: argparse.Namespace, settings: Settings) -> int:
    """Says which rule decided the call, what was answered and by whom, and what policy would decide now.

    Raises SetupError if there is no such call.
    """
    call = find_call(existing(settings), arguments.call)
    now = judge_now(
        call, settings, lambda policy: candidate(settings, arguments.policy, policy, project=arguments.project)
    )
    log = verify_log(settings, settings.audit_database)
    if arguments.json:
        print_json({**call_json(call, now), "log_ok": log.good})
        return DONE
    for line in tell_call(call, now, style_text):
        say(line)
    if not log.good:
        say(f"{style_text('✗', 'red')} the log that this comes from was changed: {visible_again(log.message, 'show')}")
    return DONE


def _verify(arguments: argparse.Namespace, settings: Settings) -> int:
    own = databases(settings, everywhere=arguments.workspace is HERE)
    logs: Sequence[Path] = [arguments.database] if arguments.database else own
    code = DONE
    if not arguments.json and logs not in ([arguments.database], [settings.audit_database]):
        say("this folder has no audit log yet; these are the logs of other folders:")
    for database in logs:
        code = max(
            code,
            _verify_one(settings, existing(settings, database), _elsewhere(arguments.against), as_json=arguments.json),
        )
    return code


def _elsewhere(file: Path | None) -> bytes | None:
    try:
        return None if file is None else file.read_bytes()
    except OSError as error:
        why = os_reason(error)
        raise SetupError(f"cannot read `{file}`", why, "name a file that checkpoints were sent to") from error


def _verify_one(settings: Settings, database: Path, elsewhere: bytes | None, *, as_json: bool) -> int:
    found = verify_log(settings, database, elsewhere)
    if as_json:
        print_json(
            {
                "ok": found.good,
                "message": found.message,
                "database": str(database),
                "record": found.record,
                "checkpoints": found.checkpoints,
                "proven": asdict(found.proven),
                "not_proven": LIMIT,
                "faults": list(found.faults),
                "notes": list(found.notes),
            }
        )
    else:
        say(f"{style_text('✓', 'green') if found.good else style_text('✗', 'red')} {found.message}")
        notes = (f"note: {note}" for note in found.notes)
        for text in (*found.faults[1:], found.proven.sentence(good=found.good), *notes, LIMIT):
            say(f"  {visible_again(text, 'show')}")
    return DONE if found.good else FAILED


def _export(arguments: argparse.Namespace, settings: Settings) -> int:
    records, database = audit_filter(arguments), existing(settings)
    if arguments.out is None:
        for text in export(database, records):
            say(text.decode().rstrip("\n"))
        return DONE
    count = export_to(arguments.out, database, records)
    print_result(
        {"records": count, "file": str(arguments.out)},
        f"{count} records written to {arguments.out}",
        as_json=arguments.json,
    )
    return DONE


def _checkpoint(arguments: argparse.Namespace, settings: Settings) -> int:
    existing(settings)
    made = make_checkpoint(settings)
    if arguments.to is not None:
        send_checkpoint(settings, arguments.to)
    file = checkpoint_file(settings, settings.audit_database)
    if arguments.json:
        about = {"count": made.checkpoint.count, "digest": made.digest, "key": made.key} if made else {}
        sent = {"sent_to": arguments.to} if arguments.to is not None else {}
        print_json({"made": made is not None, "file": str(file), **about, **sent})
        return DONE
    if made is None:
        say(f"nothing was recorded since the last checkpoint in {file}")
    else:
        say(f"{made.checkpoint.count} records signed with the key {made.key[:16]} in {file}")
    if arguments.to is not None:
        say(f"the last checkpoint was sent to {arguments.to}")
    return DONE


def _declare_why(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("call", metavar="CALL-ID|NUMBER", help="a call's id, or the number of one of its records")
    add_candidate_arguments(parser)


def _declare_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--database", type=Path, help="use this database file instead of the workspace's")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="also compare with checkpoints that `--to` sent to FILE"
    )


def _declare_export(parser: argparse.ArgumentParser) -> None:
    add_filters(parser, default_limit=None)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to this file instead of standard output")


def _declare_checkpoint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to", metavar="TARGET", help="also send it to a file on another disk, `syslog:`, or `syslog:SOCKET`"
    )


def _here(command: Callable[[argparse.Namespace, Settings], int]) -> Callable[[argparse.Namespace], int]:
    """Returns a function that runs a command with the settings of the workspace that its arguments name."""
    return lambda arguments: command(arguments, Settings.from_environment(arguments.workspace))


COMMAND = Subcommands(
    {
        "log": Subcommand(_here(_log), "show the last records, oldest first", partial(add_filters, default_limit=50)),
        "why": Subcommand(
            _here(_why),
            "explain one call: which rule decided, where it is written, and what policy says now",
            _declare_why,
        ),
        "verify": Subcommand(
            _here(_verify),
            "check that nobody changed the log; exits 1 and names the first bad record",
            _declare_verify,
        ),
        "export": Subcommand(_here(_export), "write all matching records as JSON Lines", _declare_export),
        "checkpoint": Subcommand(
            _here(_checkpoint), "sign the log's current state, outside its folder", _declare_checkpoint
        ),
    }
)
add_arguments, run = COMMAND.add_arguments, COMMAND.run
