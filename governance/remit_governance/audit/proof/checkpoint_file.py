"""Judges whether a log is still the one that its checkpoints vouch for (AUD-04). Pure.

Finds what a chain alone cannot show: an end that was cut off, a chain that was recomputed as a whole, another log in
place of this one; and also checkpoints that were removed, changed or forged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from remit_governance.audit.proof.checkpoint import Checkpoint, SignedCheckpoint, read_line, signature_holds
from remit_governance.canonical import digest_bytes

NOT_OURS = "which is not one of ours: it was forged, or our key is in a locked keyring"


@dataclass(frozen=True, slots=True)
class Claim:
    """The newest `checkpoint` record of a log: its number, the digest of the checkpoint that was made, and whether a
    signed head was kept at that time."""

    number: int
    digest: str
    head_kept: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a log whose chain is intact shows about itself.

    `before` is how many records were deleted before the oldest one left. `hashes` are the hashes at the record numbers
    in the checkpoints (at `before` the hash from which the chain continues), `times` when the last of those records
    were made (milliseconds since the epoch). From the latest records: `open_servers` are the record numbers of servers'
    starts without an end, `ended_servers` the start and end of the others, `forged` the records found to be written by
    somebody else, `notes` what the log says about itself.
    """

    log: str
    before: int
    count: int
    hashes: Mapping[int, str]
    claim: Claim | None = None
    times: Mapping[int, int] = field(default_factory=dict[int, int])
    open_servers: tuple[int, ...] = ()
    ended_servers: tuple[tuple[int, int], ...] = ()
    forged: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault. `record_number` is the first record that may be wrong, or None if the checkpoints or keys are at fault.
    `damaged` says that the database itself is damaged, so that records may be lost."""

    why: str
    record_number: int | None = None
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a log compares with its checkpoints: how many `agreed`, `until` which record they vouch for it, what is
    wrong, and what a person should know."""

    agreed: int = 0
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    until: int = 0


@dataclass(frozen=True, slots=True)
class Lines:
    """The content of a checkpoint file. A line without a checkpoint is None; `torn` says that the last line is cut."""

    signed: tuple[SignedCheckpoint | None, ...]
    digests: frozenset[str]
    torn: bool

    @staticmethod
    def read(data: bytes) -> Lines:
        """Returns the parsed content of a checkpoint file."""
        *lines, rest = data.split(b"\n")
        return Lines(tuple(map(_signed, lines)), frozenset(map(digest_bytes, lines)), bool(rest))

    @property
    def numbers(self) -> frozenset[int]:
        """The record numbers in the checkpoints, whichever key signed them."""
        return frozenset(s.checkpoint.count for s in self.signed if s)


def judge(lines: Lines | None, trusted: frozenset[str], log: Evidence, later: Lines | None = None) -> Judgement:
    """Compares a log with `lines`, its checkpoint file as read before the log (None: there is none).

    `trusted` are our public keys. `later` is the file as read after the log, because the log's newest `checkpoint`
    record may be about a line that was added meanwhile.
    """
    if lines is None or not (lines.digests or log.claim):
        return _no_file(log.claim)
    faults = [Fault(why) for why in _line_faults(lines, trusted)]
    signed = [s for s in lines.signed if s]
    if not faults:
        faults += _sequence_faults(signed)
    checkpoints = [s.checkpoint for s in signed]
    ours = [c for c in checkpoints if c.log == log.log and c.count >= log.before]
    disagreement = _disagreement(ours, log)
    faults += disagreement + _replaced(checkpoints, log.log) + _unkept_claim(lines, later, log.claim)
    notes = [f"an earlier log of {count} records is no longer here" for count in _earlier(checkpoints, log.log)]
    if lines.torn:
        notes.append("the last line of the checkpoint file is cut off, as after a crash")
    until = 0 if faults else max((c.count for c in ours), default=0)
    return Judgement(0 if disagreement else len(ours), tuple(faults), tuple(notes), until)


def _signed(line: bytes) -> SignedCheckpoint | None:
    try:
        return read_line(line)
    except ValueError:
        return None


def _no_file(claim: Claim | None) -> Judgement:
    if claim is None:
        return Judgement(notes=("no checkpoint was made yet",))
    why = f"the checkpoint file was removed, though record {claim.number} says that a checkpoint was made"
    return Judgement(faults=(Fault(why),))


def _line_faults(lines: Lines, trusted: Collection[str]) -> list[str]:
    found = ((number, line_fault(signed, trusted)) for number, signed in enumerate(lines.signed, 1))
    return [f"line {number} of the checkpoint file {why}" for number, why in found if why]


def line_fault(signed: SignedCheckpoint | None, trusted: Collection[str]) -> str:
    """Returns what is wrong with a line of checkpoints, or an empty text. `trusted` are our public keys."""
    if signed is None:
        return "was changed: it is not a checkpoint"
    if signed.key not in trusted:
        return f"is signed with the key {signed.key[:16]}, {NOT_OURS}"
    return "" if signature_holds(signed) else "has a wrong signature: it was changed or forged"


def _sequence_faults(signed: Sequence[SignedCheckpoint]) -> list[Fault]:
    if signed and signed[0].checkpoint.previous:
        return [Fault("the first lines of the checkpoint file were removed")]
    for number, (one, two) in enumerate(pairwise(signed), 2):
        if two.checkpoint.previous != one.digest:
            why = f"line {number} of the checkpoint file does not follow the line before: lines were removed or moved"
            return [Fault(why)]
    return []


def _disagreement(ours: Sequence[Checkpoint], log: Evidence) -> list[Fault]:
    """Returns the fault of the first of this log's checkpoints that does not match its records; none if all match."""
    agreed = log.before
    for checkpoint in ours:
        if fault := mismatch(checkpoint.count, checkpoint.head, "a checkpoint", log, agreed):
            return [fault]
        agreed = max(agreed, checkpoint.count)
    return []


def mismatch(count: int, head: str, who: str, log: Evidence, agreed: int) -> Fault | None:
    """Returns the fault of a log that has no record `count` with the hash `head`, for which `who` vouches; None if it
    matches. The records up to `agreed` match in any case."""
    if count > log.count:
        missing = span(log.count + 1, count)
        return Fault(f"the end was cut off: {who} vouches for {missing}, now missing", log.count + 1)
    if count >= log.before and log.hashes.get(count) != head:
        first = max(1, min(agreed + 1, count))
        return Fault(f"the chain was recomputed: {who} vouches for a different hash of {span(first, count)}", first)
    return None


def span(first: int, last: int) -> str:
    """Returns the range of record numbers in words."""
    return f"record {first}" if first >= last else f"records {first} to {last}"


def _replaced(checkpoints: Sequence[Checkpoint], log: str) -> list[Fault]:
    """Returns a fault if this log was put in place of another one. A log that Remit began anew has a checkpoint from
    when it was empty; one that somebody put there has none."""
    others = [c for c in checkpoints if c.log != log]
    ours = next((c for c in checkpoints if c.log == log), None)
    if not others or (checkpoints[-1].log == log and ours is not None and (ours.count == 0 or ours is checkpoints[0])):
        return []
    return [Fault(f"it was replaced: the log last vouched for was another one, with {others[-1].count} records", 1)]


def _unkept_claim(lines: Lines, later: Lines | None, claim: Claim | None) -> list[Fault]:
    known = lines.digests | (later.digests if later else frozenset[str]())
    if claim is None or claim.digest in known:
        return []
    why = (
        f"record {claim.number} says that a checkpoint was made that is not in the checkpoint file: lines were removed"
    )
    return [Fault(why)]


def _earlier(checkpoints: Sequence[Checkpoint], log: str) -> list[int]:
    """Returns how many records each other log of this workspace had at its last checkpoint."""
    return list({c.log: c.count for c in checkpoints if c.log != log}.values())
