"""One call of the audit log, found by its id or by the number of any of its records (AUD-05)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from remit_governance.audit.reading.query import AuditFilter, CallRecords, calls_of, query_audit
from remit_governance.audit.record import AuditRecord
from remit_governance.errors import AuditError
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError


def find_call(database: Path, named: str) -> CallRecords:
    """The call. Raises SetupError (`not_found`) where there is none, or more than one of that id."""
    match _find_calls(database, named):
        case (call,):
            return call
        case ():
            why = "no record of a call has this number or id"
            fix = "`remit audit log` shows numbers and ids; name the number of a record that is about a call"
        case several:
            why = f"{len(several)} calls have this id"
            fix = f"give a record's number, such as {', '.join(str(call.announced.number) for call in several[-5:])}"
    raise SetupError(f"there is no call `{named}`", why, fix, code=ErrorCode.NOT_FOUND)


def _find_calls(database: Path, named: str) -> tuple[CallRecords, ...]:
    if named.isdecimal() and len(named) < 16 and (numbered := _by_number(database, int(named))):
        return numbered
    return calls_of(_records(database, AuditFilter(tool_call_id=named, limit=None)))


def _by_number(database: Path, number: int) -> tuple[CallRecords, ...]:
    event = next((record.event for record in _records(database, AuditFilter(number=number))), None)
    if event is None or event.tool_call_id is None:
        return ()
    own = AuditFilter(session_id=event.session_id, turn_id=event.turn_id, tool_call_id=event.tool_call_id, limit=None)
    return tuple(call for call in calls_of(_records(database, own)) if number in call.numbers)


def _records(database: Path, wanted: AuditFilter) -> Sequence[AuditRecord]:
    try:
        return query_audit(database, wanted)
    except AuditError as error:
        raise SetupError(error.what, error.why, error.fix, code=ErrorCode.NOT_FOUND) from error
