"""The signatures of Rust's test programs: which programs began, how each test ended, and that each program ended
(FLW-04).

`inside_cargo.sh` makes rustc build a harness into the programs that signs this, and prints first how many there are.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from remit_server.tools.run.testing.reports.results import Report, Result

_SIGNED = re.compile(rb"remit signed (\d+)\n")
_SIGN = re.compile(r"remit ([0-9a-f]{16}) ((\d+) (\d+) ([a-z]+) ([0-9a-f]*))\n")
_ANY = re.compile(rf"\Aremit signed \d+\n|{_SIGN.pattern}")
_DOC_TEST = re.compile(r"\S+ - (?:.* )?\(line \d+\)(?: - [\w ]+)?")
_ENDINGS = {"passed": "passed", "asserted": "failed", "failed": "failed", "skipped": "skipped"}
_MASK = (1 << 64) - 1


def without_signs(text: str) -> str:
    """Returns the output of test programs without the lines for signatures."""
    return _ANY.sub("", text)


def vouch_cargo(data: bytes, key: bytes, report: Report) -> Report:
    """Checks results against their signatures. A result without any signature is dropped, as from a package's own
    harness, except for tests in documentation, which rustdoc runs and reports apart.
    """
    signed = _SIGNED.match(data)
    if signed is None:
        return report
    if not key:
        return replace(report, doubts=(*report.doubts, "it was ended before its signatures could be checked"))
    programs = _read_signs(data.decode(errors="replace"), key)
    if programs is None:
        return Report(doubts=("something other than the tests signed how they ended",))
    told: dict[str, set[str]] = {}
    for name, ending in (each for program in programs for each in program.endings.items()):
        told.setdefault(name, set()).add(ending)
    tests = tuple(_held_to(told.get(test.id, set()), test) for test in report.tests if _is_told(test, told))
    missing = int(signed[1]) - len(programs)
    cut = sum(not program.is_whole for program in programs) + max(0, missing)
    doubts = (f"{cut} test programs did not finish",) if cut else ()
    return Report(tests, report.planned if cut else len(tests), (*report.doubts, *doubts))


def _is_told(test: Result, told: dict[str, set[str]]) -> bool:
    return test.id in told or _DOC_TEST.fullmatch(test.id) is not None


def _held_to(endings: set[str], test: Result) -> Result:
    """Returns a test with a signed ending. If the report says an ending that no program signed, the test is
    unfinished."""
    if endings and test.ending not in {_ENDINGS[ending] for ending in endings}:
        return replace(test, ending="unfinished", kind=None)
    if test.ending != "failed":
        return test
    return replace(test, kind="assertion" if "asserted" in endings else "error")


@dataclass(slots=True)
class _Program:
    count: int | None
    endings: dict[str, str] = field(default_factory=dict[str, str])
    has_ended: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether all tests ended. After a failed test the harness ends the process itself without a signature, and
        then the tests are counted, if all of them were to run."""
        if self.has_ended or self.count is None:
            return self.has_ended or any(_ENDINGS[ending] == "failed" for ending in self.endings.values())
        return len(self.endings) >= self.count


def _read_signs(text: str, key: bytes) -> list[_Program] | None:
    """Returns the programs that began; None if a signature is wrong, or a line is missing, repeated or out of order."""
    keys = int(key[:16], 16), int(key[16:32], 16)
    programs: dict[str, _Program] = {}
    numbers: dict[str, int] = {}
    for signature, line, process, number, ending, name in _SIGN.findall(text):
        expected = f"{siphash(keys, line.encode()):016x}"
        if not hmac.compare_digest(signature, expected) or int(number) != numbers.get(process, 0):
            return None
        numbers[process] = int(number) + 1
        word = bytes.fromhex(name).decode(errors="replace")
        if ending == "began":
            programs[process] = _Program(int(word) if word else None)
        elif process not in programs:
            return None
        elif ending == "ended":
            programs[process].has_ended = True
        else:
            programs[process].endings[word] = ending
    return [*programs.values()]


def siphash(keys: tuple[int, int], data: bytes) -> int:
    """Returns the SipHash-2-4 of the data, as Rust's `SipHasher` does, the only keyed hash in Rust's standard
    library."""
    state = [
        keys[0] ^ 0x736F6D6570736575,
        keys[1] ^ 0x646F72616E646F6D,
        keys[0] ^ 0x6C7967656E657261,
        keys[1] ^ 0x7465646279746573,
    ]
    for word in _words(data):
        state[3] ^= word
        _rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _words(data: bytes) -> Iterator[int]:
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for at in range(0, len(padded), 8):
        yield int.from_bytes(padded[at : at + 8], "little")


def _rounds(state: list[int], count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        a, c = (a + b) & _MASK, (c + d) & _MASK
        b, d = _turn(b, 13) ^ a, _turn(d, 16) ^ c
        a = _turn(a, 32)
        c, a = (c + b) & _MASK, (a + d) & _MASK
        b, d = _turn(b, 17) ^ c, _turn(d, 21) ^ a
        c = _turn(c, 32)
    state[:] = a, b, c, d


def _turn(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) & _MASK
