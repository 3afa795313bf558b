"""Whether a log is still the one that its checkpoints vouch for (AUD-04). Pure.

What a chain alone cannot show is found here: an end that was cut off, a chain recomputed as a whole, another log put in
the place of this one; and, the other way round, checkpoints that were removed, changed or forged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from remit_governance.audit.proof.checkpoint import Checkpoint, SignedCheckpoint, read_line, signature_holds
from remit_governance.canonical import digest_bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """The newest `checkpoint` record of a log: its number, the digest of the checkpoint that was made, and whether a
    signed head was kept then."""

    number: int
    digest: str
    head_kept: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a log that verifies shows of itself.

    `before` is how many records came before the oldest that is left, `hashes` the hashes at the numbers that the
    checkpoints speak of (at `before`: what the chain goes on from), `times` when the last of those records were
    made (milliseconds since the epoch). Of the latest records: `open_servers` are the starts of servers that no end
    follows, `ended_servers` start and end of the others, `forged` what was found to be written by somebody else,
    `notes` what the log says of itself.
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
    """Something wrong. `record_number` is the first record that may be; None where the checkpoints are at fault.
    `damaged`: the database itself is, and records may be lost in it."""

    why: str
    record_number: int | None = None
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a log stands to its checkpoints: how many agree with it, `until` which record, what is wrong, and what a
    person should know."""

    agreed: int = 0
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    until: int = 0


@dataclass(frozen=True, slots=True)
class Lines:
    """A checkpoint file, read: a line that holds no checkpoint is None, `torn` says that a part of a line follows."""

    signed: tuple[SignedCheckpoint | None, ...]
    digests: frozenset[str]
    torn: bool

    @staticmethod
    def read(data: bytes) -> Lines:
        """Read the content of a checkpoint file."""
        *lines, rest = data.split(b"\n")
        return Lines(tuple(map(_signed, lines)), frozenset(map(digest_bytes, lines)), bool(rest))

    @property
    def numbers(self) -> frozenset[int]:
        """The record numbers that the checkpoints speak of, whoever wrote them."""
        return frozenset(s.checkpoint.count for s in self.signed if s)


def judge(lines: Lines | None, trusted: frozenset[str], log: Evidence, later: Lines | None = None) -> Judgement:
    """Compare a log with its checkpoint file as it was before the log was read (None: there is none).

    `trusted` are our public keys. `later` is the file as it was after that: a claim may speak of what was added since.
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


def _line_faults(lines: Lines, trusted: frozenset[str]) -> list[str]:
    faults: list[str] = []
    for number, signed in enumerate(lines.signed, 1):
        where = f"line {number} of the checkpoint file"
        if signed is None:
            faults.append(f"{where} was changed: it is no checkpoint")
        elif signed.key not in trusted:
            faults.append(
                f"{where} is signed with the key {signed.key[:16]}, which is none of ours: it was forged, or our key is"
                " in a keyring that is locked"
            )
        elif not signature_holds(signed):
            faults.append(f"{where} has a wrong signature: it was changed or forged")
    return faults


def _sequence_faults(signed: Sequence[SignedCheckpoint]) -> list[Fault]:
    if signed and signed[0].checkpoint.previous:
        return [Fault("the first lines of the checkpoint file were removed")]
    for number, (one, two) in enumerate(pairwise(signed), 2):
        if two.checkpoint.previous != one.digest:
            why = f"line {number} of the checkpoint file does not follow the line before: lines were removed or moved"
            return [Fault(why)]
    return []


def _disagreement(ours: Sequence[Checkpoint], log: Evidence) -> list[Fault]:
    """Returns the first of this log's checkpoints that its records do not bear out."""
    agreed = log.before
    for checkpoint in ours:
        if checkpoint.count > log.count:
            missing = span(log.count + 1, checkpoint.count)
            return [Fault(f"the end was cut off: a checkpoint vouches for {missing}, missing now", log.count + 1)]
        if log.hashes.get(checkpoint.count) != checkpoint.head:
            first = max(1, min(agreed + 1, checkpoint.count))
            changed = span(first, checkpoint.count)
            return [Fault(f"the chain was recomputed: a checkpoint vouches for another hash of {changed}", first)]
        agreed = max(agreed, checkpoint.count)
    return []


def span(first: int, last: int) -> str:
    """Record numbers in words."""
    return f"record {first}" if first >= last else f"records {first} to {last}"


def _replaced(checkpoints: Sequence[Checkpoint], log: str) -> list[Fault]:
    """Returns a log that is begun anew is vouched for while it is empty; one put in another's place is not."""
    others = [c for c in checkpoints if c.log != log]
    ours = next((c for c in checkpoints if c.log == log), None)
    if not others or (checkpoints[-1].log == log and ours is not None and (ours.count == 0 or ours is checkpoints[0])):
        return []
    return [Fault(f"it was replaced: the log last vouched for had {others[-1].count} records, and is another one", 1)]


def _unkept_claim(lines: Lines, later: Lines | None, claim: Claim | None) -> list[Fault]:
    known = lines.digests | (later.digests if later else frozenset[str]())
    if claim is None or claim.digest in known:
        return []
    why = (
        f"record {claim.number} says that a checkpoint was made that is not in the checkpoint file: lines were removed"
    )
    return [Fault(why)]


def _earlier(checkpoints: Sequence[Checkpoint], log: str) -> list[int]:
    """Returns how many records other logs of this workspace had when they were last vouched for."""
    return list({c.log: c.count for c in checkpoints if c.log != log}.values())
