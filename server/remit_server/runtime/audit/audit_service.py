"""The audit log for commands and editors: opened, verified, queried, exported (AUD-05)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from remit_governance.audit.maintenance import AuditRules, Maintenance
from remit_governance.audit.proof.checkpoint import SignedCheckpoint
from remit_governance.audit.proof.checkpoint_file import Fault, Lines
from remit_governance.audit.proof.elsewhere import checkpoint_lines, send
from remit_governance.audit.proof.head import HeadFile
from remit_governance.audit.proof.keys import person_vault
from remit_governance.audit.proof.sealing import CheckpointFile, Notary, Sealer
from remit_governance.audit.reading.query import AuditFilter, query_audit, stream_audit
from remit_governance.audit.reading.report import Report, examine
from remit_governance.audit.record import AuditEvent, AuditKind, AuditRecord
from remit_governance.audit.store import AuditLog, wall_clock_ms
from remit_governance.canonical import Json, canonical
from remit_governance.errors import AuditError
from remit_server import __version__
from remit_server.contract import ErrorCode
from remit_server.errors import SetupError, os_reason
from remit_server.runtime.settings import Settings


@dataclass(frozen=True, slots=True)
class Proven:
    """How far signatures vouch for a log: those of this machine up to record `until` (0: not at all), made at `time`;
    checkpoints that were sent elsewhere up to record `elsewhere`."""

    until: int
    time: str
    elsewhere: int

    def sentence(self, *, good: bool) -> str:
        """Returns this as a sentence, for a log that is `good` or not."""
        if not self.until and not good:
            return "proven: nothing, because the log is not as it was signed"
        if not self.until:
            return "proven: nothing, because no checkpoint or signed head vouches for any record"
        away = f"; up to record {self.elsewhere} by checkpoints elsewhere too" if self.elsewhere else ""
        moment = f" ({self.time})" if self.time else ""
        return f"proven: up to record {self.until}{moment}, as signed on this machine{away}"


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying a log: whether it is whole, a sentence, all faults, and notes for a person."""

    good: bool
    message: str
    faults: tuple[str, ...]
    notes: tuple[str, ...]
    record: int | None
    checkpoints: int
    proven: Proven


def open_log(settings: Settings) -> Maintenance:
    """Open the workspace's log, settle what an earlier process left, and begin to maintain it. Raises SetupError."""
    with as_audit_errors():
        maintenance = _maintenance(settings)
    maintenance.start()
    return maintenance


def open_log_briefly(settings: Settings) -> AuditLog:
    """Open the workspace's log for the few records of one hook (HOK-04), without maintenance: a server settles the log,
    closes its segments and makes checkpoints. Raises SetupError.

    The caller records its start and end with a `ServerRecord`, as a server does, so that a writer that is killed before
    it has signed can be told from a stranger.
    """
    notary = _notary(settings, settings.audit_database)
    with suppress(AuditError):  # as in `Maintenance`: without a key nothing is signed, but records are kept
        notary.prepare()
    with as_audit_errors():
        return AuditLog(settings.audit_database, sealer=Sealer(notary, wall_clock_ms), known=notary.last_said)


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """Records the start and the orderly end of one server, or of one command that works like one, so that a missing end
    shows. `trusted` is whether the files that the folder brings counted."""

    log: AuditLog
    trusted: bool | None = None
    server: str = field(default_factory=lambda: secrets.token_hex(8))

    def start(self, policy_version: str) -> None:
        """Record the start, with the program's version and its policy's. Raises SetupError."""
        self._record(AuditKind.KERNEL_START, policy_version)

    def end(self, policy_version: str) -> None:
        """Record the end. Raises SetupError."""
        self._record(AuditKind.KERNEL_SHUTDOWN, policy_version)

    @contextmanager
    def running(self, policy_version: str) -> Generator[None]:
        """Record the start, and the end however the block is left. Raises SetupError."""
        self.start(policy_version)
        try:
            yield
        finally:
            self.end(policy_version)

    def _record(self, kind: AuditKind, policy_version: str) -> None:
        metadata = {"version": __version__, "server": self.server, "process": str(os.getpid())}
        if self.trusted is not None:
            metadata["folder"] = "trusted" if self.trusted else "not trusted"
        with as_audit_errors():
            self.log.write(AuditEvent(kind, policy_version=policy_version, metadata=metadata))


DECISIONS = ("allowed", "allowed_by_token", "review_required", "denied", "refused")
"""The values of a record's decision, which policy, a capability token, or a check before them made."""


def audit_rules(settings: Settings) -> AuditRules:
    """Returns how long and how large the workspace's log is kept."""
    return AuditRules(settings.config.audit.days, settings.config.audit.mib << 20)


def make_checkpoint(settings: Settings) -> SignedCheckpoint | None:
    """Make a checkpoint of the workspace's log; None if nothing was recorded since the last. Raises SetupError."""
    with as_audit_errors(), closing(_maintenance(settings)) as maintenance:
        return maintenance.checkpoint()


def send_checkpoint(settings: Settings, target: str) -> None:
    """Send the workspace's last checkpoint to a file, or to the system's log. Raises SetupError."""
    with as_audit_errors():
        data = _notary(settings, settings.audit_database).place.read() or b""
        _, _, last = data.rstrip(b"\n").rpartition(b"\n")
        send(last, target)


def last_vouched(settings: Settings, database: Path) -> Mapping[str, str]:
    """Returns what the signed head and the checkpoints last say of a log, unchecked: its id, its `count` and its last
    hash; an empty mapping if there are none."""
    return _notary(settings, database).last_said()


def checkpoint_file(settings: Settings, database: Path) -> Path:
    """Returns where the checkpoints of the log at `database` are: named for the workspace, outside the log's folder."""
    return settings.data_folder / "checkpoints" / f"{database.absolute().parent.name}.jsonl"


def verify_log(settings: Settings, database: Path, elsewhere: bytes | None = None) -> Verification:
    """Check the chain, the checkpoints and the signed head of a log, and the content of a file with checkpoints from
    `elsewhere`."""
    away = None if elsewhere is None else Lines.read(checkpoint_lines(elsewhere))
    report = examine(database, _notary(settings, database), away)
    faults = tuple(_describe_fault(fault) for fault in report.faults)
    message = f"{faults[0]} ({database})" if faults else _sound(report, database)
    record = report.faults[0].record_number if faults else None
    proven = Proven(report.until, moment(report.time) if report.time else "", report.elsewhere)
    return Verification(report.good, message, faults, report.notes, record, report.agreed, proven)


def verify_workspace(settings: Settings) -> tuple[bool, str]:
    """Returns whether the workspace's log is whole, and a sentence that names the first bad record or says how many
    hold."""
    verified = verify_log(settings, settings.audit_database)
    return verified.good, "; ".join((verified.message, *verified.notes))


def query(database: Path, wanted: AuditFilter) -> tuple[dict[str, Json], ...]:
    """Returns the last records that fit, oldest first. Raises SetupError if there is no log to read."""
    with as_audit_errors(ErrorCode.NOT_FOUND):
        return tuple(record_json(record) for record in query_audit(database, wanted))


def list_calls(database: Path, wanted: AuditFilter) -> tuple[dict[str, Json], ...]:
    """Returns the last calls that fit, newest first: each as the record made before the call ran, and if it has ended
    with whether it `failed` and what it `came_to`. Raises SetupError if there is no log to read."""
    calls = query(database, replace(wanted, kind=AuditKind.TOOL_INTENT))
    if not calls:
        return ()
    since = min(cast("int", call["timestamp"]) for call in calls)
    ends = AuditFilter(kind=AuditKind.TOOL_OUTCOME, session_id=wanted.session_id, since=since, limit=None)
    ended = {_call_ids(outcome): outcome for outcome in query(database, ends)}
    return tuple(call | _end_of(ended.get(_call_ids(call))) for call in reversed(calls))


def _call_ids(record: Mapping[str, Json]) -> tuple[Json, ...]:
    return tuple(record.get(name) for name in ("session_id", "turn_id", "tool_call_id"))


def _end_of(outcome: Mapping[str, Json] | None) -> dict[str, Json]:
    if outcome is None:
        return {}
    return {"failed": outcome.get("deny_reason") is not None, "came_to": outcome.get("output_summary")}


def export(database: Path, wanted: AuditFilter) -> Iterator[bytes]:
    """Yields every record that fits as a line of canonical JSON, oldest first. Raises SetupError."""
    with as_audit_errors(ErrorCode.NOT_FOUND):
        records = stream_audit(database, wanted) if wanted.limit is None else iter(query_audit(database, wanted))
        for record in records:
            yield canonical(record_json(record)) + b"\n"


def export_to(file: Path, database: Path, wanted: AuditFilter) -> int:
    """Export into a file (0600), whole or not at all; returns the number of records. Raises SetupError."""
    if os.path.lexists(file) and (file.is_symlink() or not file.is_file()):
        why = "it is a folder" if file.is_dir() else "it is not a plain file, and would be replaced by one"
        raise SetupError(f"cannot write `{file}`", why, "name a file; without `--out` it goes to standard output")
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as out:  # noqa: PTH123 a descriptor
            count = sum(1 for line in export(database, wanted) if out.write(line))
        temporary.replace(file)
        return count
    except OSError as error:
        why = os_reason(error)
        raise SetupError(f"cannot write `{file}`", why, "name a file in a folder where you may write") from error
    finally:
        temporary.unlink(missing_ok=True)


def record_json(record: AuditRecord) -> dict[str, Json]:
    """Returns a record with its time in RFC 3339."""
    return {**record.json(), "time": moment(record.timestamp)}


def _maintenance(settings: Settings) -> Maintenance:
    """Returns the opened log of the workspace, with what an earlier process left settled. Raises AuditError."""
    notary = _notary(settings, settings.audit_database)
    sealer = Sealer(notary, wall_clock_ms)
    log = AuditLog(settings.audit_database, sealer=sealer, known=notary.last_said)
    try:
        log.settle()
        return Maintenance(log, notary, audit_rules(settings))
    except AuditError:
        log.close()
        raise


def _notary(settings: Settings, database: Path) -> Notary:
    """Returns what vouches for the log at `database`: its signed head lies beside its checkpoints."""
    file = checkpoint_file(settings, database)
    vault = person_vault(settings.data_folder / "audit-key")
    return Notary(CheckpointFile(file), vault, HeadFile(file.with_suffix(".head")))


def moment(milliseconds: int) -> str:
    """Returns a record's time in RFC 3339."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # no writer of Remit's made this time; `verify` reports it
        return f"{milliseconds} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _describe_fault(fault: Fault) -> str:
    if fault.record_number is None:
        return f"the log cannot be relied on: {fault.why}"
    return f"record {fault.record_number} is broken: {fault.why}"


def _sound(report: Report, database: Path) -> str:
    several = "s agree" if report.agreed > 1 else " agrees"
    agreed = f", and {report.agreed} signed checkpoint{several}" if report.agreed else ""
    return f"{report.count} records verified in {database}{agreed}"


@contextmanager
def as_audit_errors(code: ErrorCode = ErrorCode.AUDIT_BROKEN) -> Generator[None]:
    """Turns an AuditError of the block into a SetupError for a command."""
    try:
        yield
    except AuditError as error:
        raise SetupError(error.what, error.why, error.fix, code=code) from error


@contextmanager
def brief_log(settings: Settings, policy_version: str) -> Generator[AuditLog]:
    """Yield the workspace's log for a few records, and record the writer's start and end around them (HOK-04).

    Raises SetupError.
    """
    with closing(open_log_briefly(settings)) as log, ServerRecord(log).running(policy_version):
        yield log
