"""The whole examination of a log (effect: reads): its chain, its checkpoints and its signed head (AUD-04)."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from remit_governance.audit.log.database import archives
from remit_governance.audit.proof.checkpoint import Checkpoint, Signer, signature_holds
from remit_governance.audit.proof.checkpoint_file import Evidence, Fault, Lines, judge
from remit_governance.audit.proof.head import StoredHead
from remit_governance.audit.proof.proven import Proof, compare, prove
from remit_governance.audit.proof.sealing import Notary
from remit_governance.audit.reading.verify import Broken, verify, verify_recent
from remit_governance.errors import AuditError


@dataclass(frozen=True, slots=True)
class Report:
    """What was found: `count` good records, `agreed` checkpoints that match them, faults, and notes.

    Records up to `until` are vouched for, by a signed head or checkpoint of this machine; the last of them was made at
    `time` (milliseconds since the epoch). Those up to `elsewhere` are vouched for by checkpoints from elsewhere too.
    """

    count: int
    agreed: int = 0
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    until: int = 0
    time: int = 0
    elsewhere: int = 0

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def examine(path: Path, notary: Notary | None, elsewhere: Lines | None = None) -> Report:
    """Checks all of a log; its checkpoints and its head, if there is a notary; and checkpoints from `elsewhere`, if
    any.

    Returns faults of the log instead of raising them.
    """
    lines, unreadable = _lines(notary)
    wanted = set(lines.numbers if lines else ()) | set(elsewhere.numbers if elsewhere else ())
    pin = _Pin(notary, wanted)
    result = verify(path, wanted, pin)
    if isinstance(result, Broken):
        broken = Fault(result.why, result.record_number)
        return Report(result.record_number - 1, faults=(broken, *unreadable))
    if notary is None or unreadable:
        return Report(result.count, faults=(*unreadable, *result.changed))
    report = _judged(notary, lines, result.evidence, pin, elsewhere)
    return replace(report, faults=(*report.faults, *result.changed))


MOST_AT_START = 64 << 20
"""A log of at most this many bytes, all segments together, is checked completely at a start. 50,000 short records,
24 MiB, took a third of a second on two cores."""


def examine_start(path: Path, notary: Notary | None, most: int = MOST_AT_START) -> tuple[Fault, ...]:
    """Returns what is wrong with a log, quick enough for every start: a log of more than `most` bytes is checked only
    from its last checkpoint on."""
    lines, faults = _lines(notary)
    last = lines.signed[-1] if lines and lines.signed else None
    known: Checkpoint | None = None
    if notary is not None and lines is not None and lines.signed:
        try:
            if last is None or last.key not in notary.trusted() or not signature_holds(last):
                faults = (Fault("the last line of the checkpoint file was changed or forged, or our key is not here"),)
            else:
                known = last.checkpoint
        except AuditError as error:
            faults = (_fault(error),)
    broken = verify_recent(path, known) or _broken_before(path, most)
    return (*((Fault(broken.why, broken.record_number, broken.damaged),) if broken else ()), *faults)


def _broken_before(path: Path, most: int) -> Broken | None:
    size = sum(file.stat().st_size for _, file in archives(path)) + path.stat().st_size
    result = verify(path) if size <= most else None
    return result if isinstance(result, Broken) else None


def _lines(notary: Notary | None) -> tuple[Lines | None, tuple[Fault, ...]]:
    if notary is None:
        return None, ()
    try:
        data = notary.place.read()
    except AuditError as error:
        return None, (_fault(error),)
    return (None if data is None else Lines.read(data)), ()


def _judged(notary: Notary, lines: Lines | None, log: Evidence, pin: _Pin, elsewhere: Lines | None) -> Report:
    claim = log.claim
    # A running server may have made a checkpoint between our reading of the file and of the log.
    unknown = lines is not None and claim is not None and claim.digest not in lines.digests
    later, unreadable = _lines(notary) if unknown else (None, ())
    try:
        # Ask for the keys only if there is a signature to check.
        signed = (lines and lines.signed) or pin.stored.signed or elsewhere
        signers = notary.signers() if signed else dict[str, Signer]()
    except AuditError as error:
        return Report(log.count, faults=(*unreadable, *pin.faults, _fault(error)))
    trusted = frozenset(signers)
    judgement = judge(lines, trusted, log, later)
    known = (lines.digests if lines else frozenset[str]()) | (later.digests if later else frozenset[str]())
    local = Proof() if notary.heads is None or pin.faults else prove(pin.stored, signers, log, judgement.until, known)
    away = compare(elsewhere, trusted, log) if elsewhere else Proof()
    until = max(judgement.until, local.until)
    return Report(
        log.count,
        judgement.agreed,
        (*judgement.faults, *unreadable, *pin.faults, *local.faults, *away.faults),
        (*judgement.notes, *local.notes, *away.notes, *log.notes),
        until,
        log.times.get(until, 0),
        away.until,
    )


class _Pin:
    """Reads the signed head while no server writes, so that log and head are from the same moment."""

    def __init__(self, notary: Notary | None, wanted: set[int]) -> None:
        """When entered, adds the number of the head's record to `wanted`."""
        self._heads = notary.heads if notary else None
        self._wanted = wanted
        self._stack = ExitStack()
        self.stored = StoredHead()
        self.faults: tuple[Fault, ...] = ()

    def __enter__(self) -> None:
        if self._heads is None:
            return
        try:
            if self._heads.read() is None:
                return
            with suppress(AuditError):  # if the lock file cannot be written, no server can write either
                self._stack.enter_context(self._heads.held())
            self.stored = StoredHead.read(self._heads.read() or b"")
        except AuditError as error:
            self.faults = (_fault(error),)
        if self.stored.signed is not None:
            self._wanted.add(self.stored.signed.head.count)

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
        if self._heads is not None:
            self._heads.close()


def _fault(error: AuditError) -> Fault:
    return Fault(f"{error.what}: {error.why}")
