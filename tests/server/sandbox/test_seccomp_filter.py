"""The BPF program of each profile refuses exactly what its rules say (BOX-02)."""

from __future__ import annotations

import platform
import struct
import sys
from collections.abc import Iterator

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_server.sandbox.bubblewrap.seccomp import Condition, ProfileName, Rule, profile_filter, rules

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")

PROFILES = ("strict", "standard", "standard-unix", "alone")
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x00000000
_OURS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_I386 = 0x40000003
# Values that rules compare with, and others.
_ARGUMENTS = st.one_of(
    st.integers(0, 20),
    st.integers(0, (1 << 64) - 1),
    st.sampled_from([0x5412, 0x541C, 1024]),
    st.integers(0, 63).map(lambda n: 1 << n),
)


def answer(program: bytes, call: int, arguments: list[int], machine: int | None = None) -> int:
    """Returns the kernel's answer: interprets the few instructions that such a program uses."""
    code = list(struct.iter_unpack("=HBBI", program))
    data = struct.pack("=iIQ6Q", call, machine or _OURS[platform.machine()], 0, *arguments)
    held, at = 0, 0
    while True:
        kind, yes, no, value = code[at]
        at += 1
        match kind:
            case 0x20:
                (held,) = struct.unpack_from("=I", data, value)
            case 0x54:
                held &= value
            case 0x05:
                at += value
            case 0x15 | 0x25 | 0x35 | 0x45:
                at += yes if compared(kind, held, value) else no
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"no such instruction: {kind:#x}")


def compared(kind: int, held: int, value: int) -> bool:
    return {0x15: held == value, 0x25: held > value, 0x35: held >= value, 0x45: bool(held & value)}[kind]


def matches(rule: Rule, arguments: list[int]) -> bool:
    """Returns whether a rule concerns a call with these arguments."""
    return all(holds(condition, arguments[condition.index]) for condition in rule.where)


def holds(condition: Condition, argument: int) -> bool:
    match condition.compare:
        case "EQ":
            return argument == condition.value
        case "GT":
            return argument > condition.value
        case "MASKED_EQ":
            return argument & condition.mask == condition.value


def numbered(profile: ProfileName) -> Iterator[tuple[int, Rule]]:
    import pyseccomp

    for rule in rules(profile):
        number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, rule.call)
        if number >= 0:
            yield number, rule


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=examples(300))
@given(data=st.data())
def test_the_program_answers_as_the_rules_say(profile: ProfileName, data: st.DataObject) -> None:
    known = list(numbered(profile))
    arguments = data.draw(st.lists(_ARGUMENTS, min_size=6, max_size=6))
    call = data.draw(st.one_of(st.sampled_from(known).map(lambda each: each[0]), st.integers(0, 500)))
    wanted = {_ERRNO | rule.answer for number, rule in known if number == call and matches(rule, arguments)}
    assert answer(profile_filter(profile), call, arguments) in (wanted or {_ALLOW})


@pytest.mark.parametrize("profile", PROFILES)
def test_every_call_without_conditions_is_answered_as_its_rule_says(profile: ProfileName) -> None:
    known = list(numbered(profile))
    always = {number: _ERRNO | rule.answer for number, rule in known if not rule.where}
    some = {number for number, _ in known}
    for call in range(1024):
        if call in always or call not in some:
            assert answer(profile_filter(profile), call, [0] * 6) == always.get(call, _ALLOW)


@pytest.mark.parametrize("profile", PROFILES)
def test_calls_of_another_machine_end_the_program(profile: ProfileName) -> None:
    """Their calls have other numbers, so the rules would not apply to them."""
    assert answer(profile_filter(profile), 0, [0] * 6, _I386) == _KILL


def _refused(profile: ProfileName, call: str, *arguments: int) -> bool:
    import pyseccomp

    number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, call)
    return answer(profile_filter(profile), number, [*arguments, 0, 0, 0, 0, 0, 0][:6]) != _ALLOW


@pytest.mark.parametrize("profile", ["standard", "standard-unix", "alone"])
def test_BOX_03_of_all_sockets_only_those_of_an_own_network_are_there(profile: ProfileName) -> None:
    """Every family, kind and protocol, in the low half of an argument, the only part that the kernel uses."""
    unix, inet, inet6, netlink = 1, 2, 10, 16
    stream, datagram, raw = 1, 2, 3
    kept = {
        (family, kind, protocol)
        for family in range(64)
        for kind in range(16)
        for protocol in (*range(40), 115, 132, 136, 256, 262)
        if not _refused(profile, "socket", family, kind, protocol)
    }
    of_ip = {each for each in kept if each[0] in {inet, inet6}}
    assert {(kind, protocol) for _, kind, protocol in of_ip if kind in {stream, datagram}} == {
        (kind, protocol) for kind in (stream, datagram) for protocol in (0, 6, 17)
    }
    # The other values mean nothing to the kernel.
    assert {kind for _, kind, _ in of_ip}.isdisjoint({raw, 4, 5, 6, 10})
    assert {protocol for family, _, protocol in kept if family == netlink} == {0}
    assert {family for family, _, _ in kept} == {0, inet, inet6, netlink} | (
        {unix} if profile == "standard-unix" else set()
    )
    for odd in (inet | 1 << 32, netlink | 1 << 32, 40 | 1 << 32):
        assert _refused(profile, "socket", odd, stream, 0)
    assert _refused(profile, "socket", inet, raw | 0o2000000, 0)
    assert _refused(profile, "socketpair", unix, datagram) == (profile != "standard-unix")


def test_PLG_04_what_runs_alone_starts_no_process_and_has_threads() -> None:
    thread, child = 0x10000 | 0x100, 0x11
    assert all(_refused("alone", call) for call in ("fork", "vfork"))
    assert _refused("alone", "clone", child)
    assert not _refused("alone", "clone", thread)
