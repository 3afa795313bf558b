"""The `standard` seccomp profile: programs run, but get at nothing that could lead out (003 §Container Manager).

And a narrower one, for a program that never starts another.
"""

from __future__ import annotations

import errno
import functools
import tempfile

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
    # Sockets of the host may lie in the workspace, and a read-only mount does not stop connecting to them.
    "connect",
)
# Absent rather than forbidden, so that programs take the older way: io_uring passes by every filter, the flags of
# clone3 cannot be seen by one, and memory files, detached shared memory and queues count towards no limit.
_ABSENT = (
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "memfd_create", "memfd_secret"),
    *("shmget", "msgget"),
)

_NEW_NAMESPACE = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
_THREAD = 0x00010000
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_OTHERS = tuple(family for family in range(_AF_INET6) if family != _AF_INET)
_SOCKET_TYPE, _DATAGRAM, _RAW = 0xF, 2, 3
# A lease on a file of the workspace makes whoever saves it outside wait for 45 seconds.
_SET_LEASE = 1024
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_LOW_32 = 0xFFFFFFFF


@functools.cache
def standard_filter() -> bytes:
    """The profile as a BPF program for this machine. Raises RuntimeError without libseccomp."""
    return _program(_FORBIDDEN)


@functools.cache
def single_process_filter() -> bytes:
    """The same for one that never has to start another: it gets threads, and no child. Raises RuntimeError."""
    return _program((*_FORBIDDEN, "fork", "vfork"), _THREAD)


@functools.cache
def network_filter() -> bytes:
    """The `standard-net` profile: streams over IP may connect, in namespaces that hold no network but a loopback.

    No socket of the file system is reachable: UNIX ones are had in pairs only. Raises RuntimeError.
    """
    return _program(tuple(name for name in _FORBIDDEN if name != "connect"), network=True)


def _program(forbidden: tuple[str, ...], only_clone: int | None = None, *, network: bool = False) -> bytes:
    """The filter as BPF; with `only_clone`, clone(2) needs this flag; with `network`, sockets are those of IP."""
    import pyseccomp as seccomp

    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    refused = seccomp.ERRNO(errno.EPERM)
    if only_clone is not None:
        rules.add_rule(refused, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, only_clone, 0))
    for names, answer in ((forbidden, refused), (_ABSENT, seccomp.ERRNO(errno.ENOSYS))):
        for name in names:
            # Negative: this architecture has no such call.
            if seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) >= 0:
                rules.add_rule(answer, name)
    for flag in _NEW_NAMESPACE:
        rules.add_rule(refused, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
    for request in _TERMINAL_INJECTION:
        rules.add_rule(refused, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, _LOW_32, request))
    rules.add_rule(refused, "fcntl", seccomp.Arg(1, seccomp.EQ, _SET_LEASE))
    family = seccomp.ERRNO(errno.EAFNOSUPPORT)
    for name in ("socket", "socketpair"):
        streams = network and name == "socket"
        rules.add_rule(family, name, seccomp.Arg(0, seccomp.GT, _AF_INET6 if streams else _AF_UNIX))
        for other in _OTHERS if streams else ():
            rules.add_rule(family, name, seccomp.Arg(0, seccomp.EQ, other))
        for kind in (_DATAGRAM, _RAW):
            # A datagram socket needs no connect to reach one that lies in the workspace.
            rules.add_rule(refused, name, seccomp.Arg(1, seccomp.MASKED_EQ, _SOCKET_TYPE, kind))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()
