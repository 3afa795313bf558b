"""The seccomp profiles: programs run, but cannot make the calls that could lead out of the sandbox (BOX-02).

Each profile is one list of rules, written as a BPF program for Bubblewrap and as JSON for container runtimes.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import tempfile
from dataclasses import dataclass
from typing import Literal, assert_never

# `strict` allows one process, which can start no other and connect to none. `standard` allows IP sockets, because the
# sandbox has a network of its own. `standard-unix` also allows UNIX sockets; it is used only where every folder of the
# host is shown through an overlay (`apart.py`). `alone` is `standard` for one process that can start no other.
# `unspaced` is for commands without a namespace: no sockets but stream pairs, and no effect on the person's other
# processes; the supervisor sets modes and times of files for the command.
ProfileName = Literal["strict", "standard", "standard-unix", "alone", "unspaced"]

# Calls that reach other processes, mounts, namespaces, identities, keys, the clock, the kernel itself, or its tracing.
_FORBIDDEN = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise"),
    *("mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "mount_setattr"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "quotactl", "quotactl_fd", "swapon", "swapoff"),
    *("unshare", "setns", "sethostname", "setdomainname", "open_by_handle_at", "name_to_handle_at"),
    # But not setuid and similar calls: they do no harm without capabilities, and `make` calls them for each program.
    "setgroups",
    *("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "fanotify_init"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "acct"),
    *("settimeofday", "clock_settime", "clock_settime64", "adjtimex", "clock_adjtime", "stime"),
    *("iopl", "ioperm", "syslog", "vhangup", "lookup_dcookie", "nfsservctl", "personality"),
)
# Answered as if the kernel did not have them, so that programs fall back to older calls: io_uring bypasses every
# filter, no filter sees the flags of clone3, and memory files, detached shared memory and queues count towards no
# limit.
_ABSENT = (
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "memfd_create", "memfd_secret"),
    *("shmget", "msgget"),
)

# What Landlock does not restrict: attributes of files (the supervisor sets modes and times; programs can do without the
# rest), limits and priorities of other processes, memory and queues shared by a number, and watching who opens files.
_OWNERS = ("chown", "lchown", "fchown", "fchownat")
_ATTRIBUTES = (
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr"),
)
_MODES_AND_TIMES = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utimensat")
_OLD_TIMES = ("utime", "utimes", "futimesat", "utimensat_time64")
_SHARED = (
    *("shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgsnd", "msgrcv", "msgctl"),
    *("mq_open", "mq_unlink", "mq_notify", "mq_timedsend", "mq_timedreceive", "mq_getsetattr"),
)
_OF_OTHERS = (
    *("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),
    *("migrate_pages", "move_pages"),
)

_NEW_NAMESPACE = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
_THREAD = 0x00010000
_AF_UNIX = 1
_AF_INET, _AF_INET6, _AF_NETLINK = 2, 10, 16
_SOCKET_TYPE, _DATAGRAM, _RAW = 0xF, 2, 3
# Socket types: raw, reliably delivered, sequenced, DCCP's, and the old packet socket.
_NO_IP_KINDS = (_RAW, 4, 5, 6, 10)
_TCP, _UDP = 6, 17
# A lease on a file of the workspace makes an editor outside wait 45 seconds when it saves the file.
_SET_LEASE = 1024
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_LOW_32 = 0xFFFFFFFF
# The value of libseccomp's CTL_OPTIMIZE for a binary tree, since 2.5.
_AS_TREE = 2


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds if `compare` is true of argument `index` and `value`; `mask` is applied first, if it is `MASKED_EQ`."""

    index: int
    value: int
    compare: Literal["EQ", "GT", "MASKED_EQ"] = "EQ"
    mask: int = 0

    @property
    def values(self) -> tuple[int, ...]:
        """The values as libseccomp takes them: a mask comes before its value."""
        return (self.mask, self.value) if self.compare == "MASKED_EQ" else (self.value,)


@dataclass(frozen=True, slots=True)
class Rule:
    """The error that a call is answered with if all conditions hold; with None the supervisor answers it."""

    call: str
    answer: int | None = errno.EPERM
    where: tuple[Condition, ...] = ()


@functools.cache
def rules(profile: ProfileName) -> tuple[Rule, ...]:
    """Returns a rule for every call that is not simply allowed; all other calls are allowed."""
    return (
        *(Rule(call) for call in _FORBIDDEN),
        *(Rule(call, errno.ENOSYS) for call in _ABSENT),
        *(Rule("clone", where=(_masked(0, flag, flag),)) for flag in _NEW_NAMESPACE),
        *(Rule("ioctl", where=(_masked(1, request, _LOW_32),)) for request in _TERMINAL_INJECTION),
        # Compare the lower half alone, because the kernel ignores the upper one.
        Rule("fcntl", where=(_masked(1, _SET_LEASE, _LOW_32),)),
        *_rules_of(profile),
    )


@functools.cache
def profile_filter(profile: ProfileName) -> bytes:
    """Returns the profile as a BPF program for this machine. Raises RuntimeError without libseccomp."""
    import pyseccomp as seccomp

    made = seccomp.SyscallFilter(seccomp.ALLOW)
    # A tree instead of a list, because for each command the kernel runs the filter once for every call that exists.
    with contextlib.suppress(OSError):
        made.set_attr(seccomp.Attr.CTL_OPTIMIZE, _AS_TREE)
    for rule in rules(profile):
        # A negative number means that this architecture has no such call.
        if seccomp.resolve_syscall(seccomp.Arch.NATIVE, rule.call) < 0:
            continue
        compared = {"EQ": seccomp.EQ, "GT": seccomp.GT, "MASKED_EQ": seccomp.MASKED_EQ}
        arguments = [seccomp.Arg(each.index, compared[each.compare], *each.values) for each in rule.where]
        action = seccomp.NOTIFY if rule.answer is None else seccomp.ERRNO(rule.answer)
        made.add_rule(action, rule.call, *arguments)
    with tempfile.TemporaryFile() as file:
        made.export_bpf(file)
        file.seek(0)
        return file.read()


@functools.cache
def profile_json(profile: ProfileName) -> str:
    """Returns the profile as JSON for Podman and Docker, which skip names that the machine does not know."""
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [_rule_json(rule) for rule in rules(profile)]})


def _rules_of(profile: ProfileName) -> tuple[Rule, ...]:
    match profile:
        case "strict":
            return (*_process_rules(), *_offline_rules())
        case "alone":
            return (*_process_rules(), *_rules_of("standard"))
        case "standard":
            # Sockets of the host may lie in the workspace, and a read-only mount does not prevent connecting to them.
            # An end of a datagram pair can send to any of them; an end of a stream pair can send to the other end
            # alone.
            return (*_loopback_rules(), Rule("socket", errno.EAFNOSUPPORT, _family(_AF_UNIX)), *_no_datagram_pairs())
        case "standard-unix":
            return _loopback_rules()
        case "unspaced":
            return _unspaced_rules()
        case _:
            assert_never(profile)


def _unspaced_rules() -> tuple[Rule, ...]:
    """Allows no sockets but stream pairs, no limits and priorities of other processes, groups or users, nothing that is
    shared by a number or name, and no attributes of files."""
    return (
        Rule("socket", errno.EAFNOSUPPORT),
        Rule("socketpair", errno.EAFNOSUPPORT, _beyond(_AF_UNIX)),
        *_no_datagram_pairs(),
        *(Rule(call, where=(Condition(0, 0, "GT"),)) for call in _OF_OTHERS),
        *(Rule(call, where=(_masked(0, kind, _LOW_32),)) for call in ("setpriority", "ioprio_set") for kind in (2, 3)),
        *(Rule(call, where=(Condition(1, 0, "GT"),)) for call in ("setpriority", "ioprio_set")),
        Rule("setpriority", where=(_masked(0, 1, _LOW_32),)),
        *(Rule(call, None) for call in _MODES_AND_TIMES),
        *(Rule(call) for call in (*_OLD_TIMES, *_OWNERS)),
        *(Rule(call, errno.EOPNOTSUPP) for call in _ATTRIBUTES),
        *(Rule(call, errno.ENOSYS) for call in _SHARED),
        Rule("inotify_add_watch", errno.ENOSPC),
    )


def _process_rules() -> tuple[Rule, ...]:
    """Allows no process besides the first; clone(2) only for threads."""
    return (Rule("fork"), Rule("vfork"), Rule("clone", where=(_masked(0, 0, _THREAD),)))


def _offline_rules() -> tuple[Rule, ...]:
    """Allows only UNIX sockets, which reach nothing: pairs, and single ones that can neither connect nor send
    datagrams."""
    return (
        Rule("connect"),
        *(Rule(call, errno.EAFNOSUPPORT, _beyond(_AF_UNIX)) for call in ("socket", "socketpair")),
        # A datagram socket can send to a socket in the workspace without connecting to it.
        *(Rule("socket", where=(_masked(1, kind, _SOCKET_TYPE),)) for kind in (_DATAGRAM, _RAW)),
        *_no_datagram_pairs(),
    )


def _loopback_rules() -> tuple[Rule, ...]:
    """Allows TCP and UDP, which reach only the sandbox's own network, and the netlink family that lists interfaces
    (BOX-11).

    Every other protocol is refused by its number, because the kernel loads a module for a protocol that it lacks.
    """
    ip = (_AF_INET, _AF_INET6)
    absent = [family for family in range(_AF_UNIX + 1, _AF_NETLINK) if family not in ip]
    other = [protocol for protocol in range(1, _UDP) if protocol != _TCP]
    return (
        *(Rule("socket", errno.EAFNOSUPPORT, _family(family)) for family in absent),
        Rule("socket", errno.EAFNOSUPPORT, _beyond(_AF_NETLINK)),
        Rule("socketpair", errno.EAFNOSUPPORT, _beyond(_AF_UNIX)),
        *(Rule("socket", where=(*_family(each), _masked(1, n, _SOCKET_TYPE))) for each in ip for n in _NO_IP_KINDS),
        *(Rule("socket", errno.EPROTONOSUPPORT, (*_family(each), Condition(2, n))) for each in ip for n in other),
        *(Rule("socket", errno.EPROTONOSUPPORT, (*_family(each), Condition(2, _UDP, "GT"))) for each in ip),
        Rule("socket", errno.EPROTONOSUPPORT, (*_family(_AF_NETLINK), Condition(2, 0, "GT"))),
    )


def _no_datagram_pairs() -> tuple[Rule, ...]:
    return tuple(Rule("socketpair", where=(_masked(1, kind, _SOCKET_TYPE),)) for kind in (_DATAGRAM, _RAW))


def _masked(index: int, value: int, mask: int) -> Condition:
    return Condition(index, value, "MASKED_EQ", mask)


def _family(family: int) -> tuple[Condition, ...]:
    """Returns the condition that a socket is of this family."""
    return (Condition(0, family),)


def _beyond(last: int) -> tuple[Condition, ...]:
    """Returns the condition that a socket is of a family with a higher number than this one."""
    return (Condition(0, last, "GT"),)


def _rule_json(rule: Rule) -> dict[str, object]:
    written: dict[str, object] = {"names": [rule.call], "action": "SCMP_ACT_ERRNO", "errnoRet": rule.answer}
    if not rule.where:
        return written
    return {**written, "args": [_condition_json(each) for each in rule.where]}


def _condition_json(condition: Condition) -> dict[str, object]:
    value, second = (*condition.values, 0)[:2]
    return {"index": condition.index, "value": value, "valueTwo": second, "op": f"SCMP_CMP_{condition.compare}"}
