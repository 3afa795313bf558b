"""The audit log as commands and editors ask for it: verify, and query (003 §Audit Log Module)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import assert_never

from remit_governance.audit.query import AuditFilter, query_audit
from remit_governance.audit.record import AuditRecord
from remit_governance.audit.verify import Broken, Verified, verify
from remit_governance.canonical import Json
from remit_governance.errors import AuditError
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError


def verify_database(database: Path) -> tuple[bool, str]:
    """Whether the chain holds, and a sentence that says how many records do or names the first bad one."""
    result = verify(database)
    match result:
        case Verified(count=count):
            return True, f"{count} records verified in {database}"
        case Broken(record_number=number, why=why):
            return False, f"record {number} is broken: {why} ({database})"
        case _:
            assert_never(result)


def query(database: Path, wanted: AuditFilter) -> tuple[dict[str, Json], ...]:
    """The last records that fit, oldest first. Raises SetupError where there is no log to read."""
    try:
        return tuple(shown(record) for record in query_audit(database, wanted))
    except AuditError as error:
        raise SetupError(error.what, error.why, error.fix, code=ErrorCode.NOT_FOUND) from error


def shown(record: AuditRecord) -> dict[str, Json]:
    """A record with its time in RFC 3339."""
    moment = datetime.fromtimestamp(record.timestamp / 1000, UTC)
    return {**record.json(), "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
