"""Judges how much of a log is proven by its signed head, and by checkpoints that were sent elsewhere (AUD-04). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from remit_governance.audit.proof.checkpoint import Signer
from remit_governance.audit.proof.checkpoint_file import NOT_OURS, Evidence, Fault, Lines, line_fault, mismatch, span
from remit_governance.audit.proof.head import Head, StoredHead

LIMIT = (
    "not proven: whoever can write as you on this machine could have rewritten log, checkpoints, signed head and key"
    " together; only checkpoints sent elsewhere show that (`remit audit checkpoint --to`, `remit audit verify"
    " --against`)"
)


@dataclass(frozen=True, slots=True)
class Proof:
    """Until which record a log is vouched for (0: not at all), what is wrong, and what a person should know."""

    until: int = 0
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()


def prove(
    stored: StoredHead, ours: Mapping[str, Signer], log: Evidence, checkpointed: int, known: Collection[str]
) -> Proof:
    """Compares a log with its signed head as both were at one moment.

    `ours` are our keys by their public halves, `checkpointed` is the number of the last record that a checkpoint
    vouches for, `known` are the digests of the checkpoints.
    """
    found = _fault(stored, ours, log, checkpointed)
    head = stored.signed.head if stored.signed and not found else None
    until = max(checkpointed, head.count if head else 0)
    faults = [found] if found else []
    notes: list[str] = []
    if head is None and found is None:
        notes.append("no signed head is kept: if the end was cut off after the last checkpoint, nothing shows it")
    older = stored.older
    changed = older is not None and (older.key not in ours or not older.holds(ours[older.key]))
    if head is not None and (stored.damaged or changed):
        notes.append("one of the two copies of the signed head is damaged, as after a power cut, or was changed")
    if head is not None and until < log.count and not _is_own_record(log, until, known):
        rest = span(until + 1, log.count)
        if log.open_servers or any(start <= until < end for start, end in log.ended_servers):
            notes.append(
                f"{rest}: not vouched for yet: written by a server that is still running, or was killed before"
                " it could sign; or by somebody else"
            )
        else:
            why = f"not vouched for: every server had ended in order, and somebody else wrote {rest}"
            faults.append(Fault(why, until + 1))
    return Proof(until, (*faults, *log.forged), tuple(notes))


def compare(elsewhere: Lines, trusted: Collection[str], log: Evidence) -> Proof:
    """Compares a log with checkpoints that were sent elsewhere, some of which may be of other logs."""
    faults: list[Fault] = []
    notes: list[str] = []
    until = 0
    for number, signed in enumerate(elsewhere.signed, 1):
        where = f"line {number} of the checkpoints elsewhere"
        wrong = line_fault(signed, trusted)
        if signed is None or wrong:
            faults.append(Fault(f"{where} {wrong}"))
        elif (said := signed.checkpoint).log != log.log:
            notes.append(f"{where} is of another log, with {said.count} records, which is not here")
        elif fault := mismatch(said.count, said.head, where, log, until):
            faults.append(fault)
        elif said.count >= log.before:
            until = max(until, said.count)
    if not faults and not until:
        faults.append(Fault("no checkpoint elsewhere is of this log: the log was replaced, or they are of another one"))
    return Proof(until, tuple(faults), tuple(dict.fromkeys(notes)))


def _fault(stored: StoredHead, ours: Mapping[str, Signer], log: Evidence, checkpointed: int) -> Fault | None:
    signed = stored.signed
    if signed is None:
        if stored.damaged:
            return Fault("the signed head was changed: it is not a signed head")
        if log.claim is not None and log.claim.head_kept:
            return Fault(f"the signed head was removed, though record {log.claim.number} says that one is kept")
        return None
    signer = ours.get(signed.key)
    if signer is None:
        return Fault(f"the signed head is signed with the key {signed.key[:16]}, {NOT_OURS}")
    if not signed.holds(signer):
        return Fault("the signed head has a wrong signature: it was changed or forged")
    return _disagreement(signed.head, log, checkpointed)


def _disagreement(head: Head, log: Evidence, checkpointed: int) -> Fault | None:
    if head.log != log.log:
        return Fault(f"it was replaced: the signed head is of another log, with {head.count} records", 1)
    if fault := mismatch(head.count, head.head, "the signed head", log, checkpointed):
        return fault
    if head.count < checkpointed:
        why = f"it counts {head.count} records, but a checkpoint counts {checkpointed}"
        return Fault(f"the signed head was put back to an earlier one: {why}")
    return None


def _is_own_record(log: Evidence, until: int, known: Collection[str]) -> bool:
    """Returns whether the only record after `until` is the newest `checkpoint` record, whose checkpoint exists, because
    the head is signed right after that record."""
    claim = log.claim
    return until + 1 == log.count and claim is not None and claim.number == log.count and claim.digest in known
