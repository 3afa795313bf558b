"""The audit log as commands and editors ask for it: kept, verified, queried, exported (003 §Audit Log Module)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from remit_governance.audit.checkpoint import SignedCheckpoint
from remit_governance.audit.keeper import Keeper
from remit_governance.audit.keys import person_vault
from remit_governance.audit.notary import CheckpointFile, Notary
from remit_governance.audit.query import AuditFilter, query_audit, stream_audit
from remit_governance.audit.record import AuditEvent, AuditKind, AuditRecord
from remit_governance.audit.report import Report, examine
from remit_governance.audit.retention import AuditRules
from remit_governance.audit.store import AuditLog
from remit_governance.audit.vouched import Fault
from remit_governance.canonical import Json, canonical
from remit_governance.errors import AuditError
from remit_server import __version__
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError
from remit_server.runtime.settings import Settings


@dataclass(frozen=True, slots=True)
class Verification:
    """What is said of a log: whether it is whole, a sentence, everything wrong, and what a person should know."""

    good: bool
    message: str
    faults: tuple[str, ...]
    notes: tuple[str, ...]
    record: int | None
    checkpoints: int


def open_log(settings: Settings) -> Keeper:
    """Open the workspace's log, settle what an earlier process left, and keep it from here on. Raises SetupError."""
    with _setup_errors(ErrorCode.AUDIT_BROKEN):
        log = AuditLog(settings.audit_database)
        try:
            log.settle()
            keeper = _keeper(log, settings)
        except AuditError:
            log.close()
            raise
    keeper.start()
    return keeper


def record_kernel(log: AuditLog, kind: AuditKind, policy_version: str) -> None:
    """Record that the runtime opens or closes, which program it is, and under which policy. Raises SetupError."""
    with _setup_errors(ErrorCode.AUDIT_BROKEN):
        log.write(AuditEvent(kind, policy_version=policy_version, metadata={"version": __version__}))


def make_checkpoint(settings: Settings) -> SignedCheckpoint | None:
    """Have the workspace's log vouched for now; None where nothing was recorded since. Raises SetupError."""
    with _setup_errors(ErrorCode.AUDIT_BROKEN), AuditLog(settings.audit_database) as log:
        return _keeper(log, settings).checkpoint()


def checkpoint_file(settings: Settings, database: Path) -> Path:
    """Where the checkpoints of the log at `database` are: named for the workspace, outside the log's folder."""
    return settings.data_folder / "checkpoints" / f"{database.absolute().parent.name}.jsonl"


def verify_log(settings: Settings, database: Path) -> Verification:
    """Check the chain and the checkpoints of a log."""
    report = examine(database, _notary(settings, database))
    faults = tuple(_said(fault) for fault in report.faults)
    message = f"{faults[0]} ({database})" if faults else _sound(report, database)
    record = report.faults[0].record_number if faults else None
    return Verification(report.good, message, faults, report.notes, record, report.agreed)


def verify_workspace(settings: Settings) -> tuple[bool, str]:
    """Whether the workspace's log is whole, and a sentence that names the first bad record or says how many hold."""
    verified = verify_log(settings, settings.audit_database)
    return verified.good, "; ".join((verified.message, *verified.notes))


def query(database: Path, wanted: AuditFilter) -> tuple[dict[str, Json], ...]:
    """The last records that fit, oldest first. Raises SetupError where there is no log to read."""
    with _setup_errors(ErrorCode.NOT_FOUND):
        return tuple(shown(record) for record in query_audit(database, wanted))


def export(database: Path, wanted: AuditFilter) -> Iterator[bytes]:
    """JSON Lines: every record that fits, one a line, oldest first, as canonical JSON. Raises SetupError."""
    with _setup_errors(ErrorCode.NOT_FOUND):
        records = stream_audit(database, wanted) if wanted.limit is None else iter(query_audit(database, wanted))
        for record in records:
            yield canonical(shown(record)) + b"\n"


def export_to(file: Path, database: Path, wanted: AuditFilter) -> int:
    """Export into a file (0600), whole or not at all; how many records. Raises SetupError."""
    if os.path.lexists(file) and (file.is_symlink() or not file.is_file()):
        why = "it is a folder" if file.is_dir() else "it is no plain file, and would be replaced by one"
        raise SetupError(f"cannot write `{file}`", why, "name a file; without `--out` it goes to standard output")
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as out:  # noqa: PTH123 a descriptor
            count = sum(1 for line in export(database, wanted) if out.write(line))
        temporary.replace(file)
        return count
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise SetupError(f"cannot write `{file}`", why, "name a file in a folder where you may write") from error
    finally:
        temporary.unlink(missing_ok=True)


def shown(record: AuditRecord) -> dict[str, Json]:
    """A record with its time in RFC 3339."""
    return {**record.json(), "time": _moment(record.timestamp)}


def _keeper(log: AuditLog, settings: Settings) -> Keeper:
    rules = AuditRules(settings.audit_retention_days, settings.audit_max_mib << 20)
    return Keeper(log, _notary(settings, settings.audit_database), rules)


def _notary(settings: Settings, database: Path) -> Notary:
    return Notary(CheckpointFile(checkpoint_file(settings, database)), person_vault(settings.data_folder / "audit-key"))


def _moment(milliseconds: int) -> str:
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # somebody wrote it; `verify` says who it was not
        return f"{milliseconds} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _said(fault: Fault) -> str:
    if fault.record_number is None:
        return f"the log cannot be relied on: {fault.why}"
    return f"record {fault.record_number} is broken: {fault.why}"


def _sound(report: Report, database: Path) -> str:
    several = "s agree" if report.agreed > 1 else " agrees"
    agreed = f", and {report.agreed} signed checkpoint{several}" if report.agreed else ""
    return f"{report.count} records verified in {database}{agreed}"


@contextmanager
def _setup_errors(code: ErrorCode) -> Generator[None]:
    try:
        yield
    except AuditError as error:
        raise SetupError(error.what, error.why, error.fix, code=code) from error
