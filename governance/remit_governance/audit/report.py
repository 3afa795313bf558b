"""The whole examination of a log (effect: reads): its chain, and its checkpoints (governance.md §7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from remit_governance.audit.checkpoint import Checkpoint, signature_holds
from remit_governance.audit.notary import Notary
from remit_governance.audit.verify import Broken, verify, verify_recent
from remit_governance.audit.vouched import Evidence, Fault, Judgement, Lines, judge
from remit_governance.errors import AuditError


@dataclass(frozen=True, slots=True)
class Report:
    """What was found: `count` good records, `agreed` checkpoints that bear them out, faults, and notes."""

    count: int
    agreed: int = 0
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def examine(path: Path, notary: Notary | None) -> Report:
    """Check all of a log, and its checkpoints where a notary knows them; never raises for what is wrong with it."""
    lines, unreadable = _lines(notary)
    result = verify(path, lines.numbers if lines else frozenset())
    if isinstance(result, Broken):
        broken = Fault(result.why, result.record_number)
        return Report(result.record_number - 1, faults=(broken, *unreadable))
    if notary is None or unreadable:
        return Report(result.count, faults=unreadable)
    judgement = _judged(notary, lines, result.evidence)
    return Report(result.count, judgement.agreed, judgement.faults, judgement.notes)


def examine_start(path: Path, notary: Notary | None) -> tuple[Fault, ...]:
    """What is wrong with the end of a log, from its last checkpoint on: quick enough for every start."""
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
    broken = verify_recent(path, known)
    return (*((Fault(broken.why, broken.record_number),) if broken else ()), *faults)


def _lines(notary: Notary | None) -> tuple[Lines | None, tuple[Fault, ...]]:
    if notary is None:
        return None, ()
    try:
        data = notary.place.read()
    except AuditError as error:
        return None, (_fault(error),)
    return (None if data is None else Lines.read(data)), ()


def _judged(notary: Notary, lines: Lines | None, evidence: Evidence) -> Judgement:
    claim = evidence.claim
    # A running server may have made a checkpoint after the file was read, and before the log was.
    unknown = lines is not None and claim is not None and claim.digest not in lines.digests
    later, unreadable = _lines(notary) if unknown else (None, ())
    try:
        # Without lines there is nothing to check with a key, and none is asked for.
        trusted = notary.trusted() if lines and lines.signed else frozenset[str]()
    except AuditError as error:
        return Judgement(faults=(*unreadable, _fault(error)))
    judgement = judge(lines, trusted, evidence, later)
    return replace(judgement, faults=(*judgement.faults, *unreadable))


def _fault(error: AuditError) -> Fault:
    return Fault(f"{error.what}: {error.why}")
