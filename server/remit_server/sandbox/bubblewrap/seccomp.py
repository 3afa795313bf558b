"""The seccomp profiles: programs run, but get at nothing that could lead out (BOX-02).

One list of rules a profile; written as a BPF program for Bubblewrap and as JSON for container runtimes.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import tempfile
from dataclasses import dataclass
from typing import Literal

# `strict` has one process and never another, `standard` has no network, `standard-net` has what a proxy needs.
ProfileName = Literal["strict", "standard", "standard-net"]

# No way to other processes, mounts, namespaces, identities, keys, the clock, the kernel itself, or its tracing.
_FORBIDDEN = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise"),
    *("mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "mount_setattr"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "quotactl", "quotactl_fd", "swapon", "swapoff"),
    *("unshare", "setns", "sethostname", "setdomainname", "open_by_handle_at", "name_to_handle_at"),
    # Not setuid and its like: without capabilities they lead nowhere, and `make` calls them for each program.
    "setgroups",
    *("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "fanotify_init"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "acct"),
    *("settimeofday", "clock_settime", "clock_settime64", "adjtimex", "clock_adjtime", "stime"),
    *("iopl", "ioperm", "syslog", "vhangup", "lookup_dcookie", "nfsservctl", "personality"),
)
# Sockets of the host may lie in the workspace, and a read-only mount does not stop connecting to them.
_NO_NETWORK = ("connect",)
# Absent rather than forbidden, so that programs take the older way: io_uring passes by every filter, the flags of
# clone3 cannot be seen by one, and memory files, detached shared memory and queues count towards no limit.
_ABSENT = (
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "memfd_create", "memfd_secret"),
    *("shmget", "msgget"),
)

_NEW_NAMESPACE = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
_THREAD = 0x00010000
_AF_UNIX = 1
_AF_INET, _AF_INET6 = 2, 10
_SOCKET_TYPE, _DATAGRAM, _RAW = 0xF, 2, 3
# A lease on a file of the workspace makes whoever saves it outside wait for 45 seconds.
_SET_LEASE = 1024
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_LOW_32 = 0xFFFFFFFF
# Of libseccomp, since 2.5.
_AS_TREE = 2


@dataclass(frozen=True, slots=True)
class Rule:
    """What a call is answered with; only where argument `index`, masked, compares so with `value`, if there is one."""

    call: str
    answer: int = errno.EPERM
    index: int | None = None
    compare: Literal["EQ", "GT", "MASKED_EQ"] = "EQ"
    value: int = 0
    mask: int = 0


@functools.cache
def rules(profile: ProfileName) -> tuple[Rule, ...]:
    """Every call that is refused, and how; everything else is allowed."""
    return (
        *(Rule(call) for call in _FORBIDDEN),
        *(Rule(call, errno.ENOSYS) for call in _ABSENT),
        *(Rule("clone", index=0, compare="MASKED_EQ", value=flag, mask=flag) for flag in _NEW_NAMESPACE),
        *(Rule("ioctl", index=1, compare="MASKED_EQ", value=request, mask=_LOW_32) for request in _TERMINAL_INJECTION),
        Rule("fcntl", index=1, value=_SET_LEASE),
        *(_process_rules() if profile == "strict" else ()),
        *(_online_rules() if profile == "standard-net" else _offline_rules()),
    )


@functools.cache
def profile_filter(profile: ProfileName) -> bytes:
    """The profile as a BPF program for this machine. Raises RuntimeError without libseccomp."""
    import pyseccomp as seccomp

    made = seccomp.SyscallFilter(seccomp.ALLOW)
    # A tree in place of a list: for each command the kernel tries the filter with every call that there is.
    with contextlib.suppress(OSError):
        made.set_attr(seccomp.Attr.CTL_OPTIMIZE, _AS_TREE)
    for rule in rules(profile):
        # Negative: this architecture has no such call.
        if seccomp.resolve_syscall(seccomp.Arch.NATIVE, rule.call) < 0:
            continue
        if rule.index is None:
            made.add_rule(seccomp.ERRNO(rule.answer), rule.call)
            continue
        masked = rule.compare == "MASKED_EQ"
        compare = {"EQ": seccomp.EQ, "GT": seccomp.GT, "MASKED_EQ": seccomp.MASKED_EQ}[rule.compare]
        values = (rule.mask, rule.value) if masked else (rule.value,)
        made.add_rule(seccomp.ERRNO(rule.answer), rule.call, seccomp.Arg(rule.index, compare, *values))
    with tempfile.TemporaryFile() as file:
        made.export_bpf(file)
        file.seek(0)
        return file.read()


def standard_filter() -> bytes:
    """The profile of commands. Raises RuntimeError without libseccomp."""
    return profile_filter("standard")


def single_process_filter() -> bytes:
    """The profile of what never has to start another: it gets threads, and no child. Raises RuntimeError."""
    return profile_filter("strict")


@functools.cache
def profile_json(profile: ProfileName) -> str:
    """The profile as Podman and Docker read it: names that the machine does not know are passed over."""
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [_rule_json(rule) for rule in rules(profile)]})


def _process_rules() -> tuple[Rule, ...]:
    """No process beside the first; clone(2) only for threads."""
    return (Rule("fork"), Rule("vfork"), Rule("clone", index=0, compare="MASKED_EQ", value=0, mask=_THREAD))


def _offline_rules() -> tuple[Rule, ...]:
    return (
        *(Rule(call) for call in _NO_NETWORK),
        *(_socket_rules(_AF_UNIX)),
        # A datagram socket needs no connect to reach one that lies in the workspace.
        *(_socket_kind_rules(_DATAGRAM, _RAW)),
    )


def _online_rules() -> tuple[Rule, ...]:
    """Streams over IP only, in a network of its own; UNIX sockets are had in pairs, and reach nothing."""
    between = range(_AF_UNIX + 1, _AF_INET6)
    return (
        Rule("socket", errno.EAFNOSUPPORT, 0, "EQ", _AF_UNIX),
        *(Rule("socket", errno.EAFNOSUPPORT, 0, "EQ", family) for family in between if family != _AF_INET),
        *_socket_rules(_AF_INET6),
        *_socket_kind_rules(_DATAGRAM, _RAW),
    )


def _socket_rules(last: int) -> tuple[Rule, ...]:
    """No family of sockets after this one."""
    return tuple(Rule(call, errno.EAFNOSUPPORT, 0, "GT", last) for call in ("socket", "socketpair"))


def _socket_kind_rules(*kinds: int) -> tuple[Rule, ...]:
    return tuple(
        Rule(call, index=1, compare="MASKED_EQ", value=kind, mask=_SOCKET_TYPE)
        for call in ("socket", "socketpair")
        for kind in kinds
    )


def _rule_json(rule: Rule) -> dict[str, object]:
    written: dict[str, object] = {"names": [rule.call], "action": "SCMP_ACT_ERRNO", "errnoRet": rule.answer}
    if rule.index is None:
        return written
    masked = rule.compare == "MASKED_EQ"
    value, second = (rule.mask, rule.value) if masked else (rule.value, 0)
    operator = f"SCMP_CMP_{rule.compare}"
    return {**written, "args": [{"index": rule.index, "value": value, "valueTwo": second, "op": operator}]}
