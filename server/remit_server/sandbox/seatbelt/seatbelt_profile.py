"""The profile and command line for macOS's `sandbox-exec` (BOX-07); pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from remit_server.sandbox.limits.limits import Limits
from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.toolchains import ReadOnlyMount, parents_of

_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/System", "/Library", "/opt/homebrew", "/opt/local", "/nix/store"),
    *("/private/etc/ssl", "/private/etc/localtime", "/private/var/db/timezone", "/private/var/db/dyld", "/dev"),
)
_FILES = ("/", "/private", "/private/tmp", "/private/var", "/private/etc", "/private/var/select/sh")
# What every program asks of the system when it starts: no clipboard, no keychain, no window, no other process.
_MACH = ("com.apple.system.opendirectoryd.libinfo", "com.apple.system.notification_center", "com.apple.logd")


def profile_text(
    spec: CommandSpec,
    scratch: Path,
    hidden: Iterable[tuple[Path, bool]] = (),
    shown: Sequence[ReadOnlyMount] = (),
) -> str:
    """Everything is denied but what is named; a later line wins. `hidden` are paths, with whether each is a folder.

    `shown` are the person's toolchains: macOS compares where they really are, and follows the links that lead there.
    """
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow sysctl-read)",
        "(allow process-exec*)",
        "(allow process-fork)",
        "(allow signal (target same-sandbox))",
        "(allow process-info* (target same-sandbox))",
        f"(allow mach-lookup {' '.join(f'(global-name {quote(name)})' for name in _MACH)})",
        f"(allow file-read* {_rule_lines('subpath', _SYSTEM)} {_rule_lines('literal', _FILES)})",
        *_toolchain_rules(shown),
        f"(allow file-read* (subpath {quote(str(spec.workspace))}))",
        # The folders above it, so that a path can be followed and no more.
        f"(allow file-read-metadata {_rule_lines('literal', (str(path) for path in spec.workspace.parents))})",
        f"(allow file-read* file-write* (subpath {quote(str(scratch))}))",
        '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
        *(
            f"(deny file-read* file-write* ({'subpath' if folder else 'literal'} {quote(str(path))}))"
            for path, folder in hidden
        ),
        "(deny network*)",
    ]
    return "\n".join(lines) + "\n"


def _toolchain_rules(shown: Sequence[ReadOnlyMount]) -> list[str]:
    if not shown:
        return []
    above_them = parents_of(path for each in shown for path in (each.source, each.place))
    private = [str(each.source / path.relative_to(each.place)) for each in shown for path in each.private]
    looked_at = map(str, (*above_them, *(each.place for each in shown)))
    return [
        f"(allow file-read* {_rule_lines('subpath', (str(each.source) for each in shown))})",
        f"(allow file-read-metadata {_rule_lines('literal', looked_at)})",
        *(f"(deny file-read* (subpath {quote(path)}))" for path in private),
    ]


def seatbelt_argv(spec: CommandSpec, profile: str, limits: Limits, scratch: Path) -> list[str]:
    """The command under the profile, with limits and exactly its environment; home and scratch are the same folder."""
    environment = {**spec.environment, "HOME": str(scratch), "TMPDIR": str(scratch)}
    kib = 1024
    bounds = (
        f"ulimit -c 0; ulimit -n {limits.open_files}; ulimit -u {limits.tasks}; "
        f"ulimit -f {limits.file_bytes // 512}; ulimit -v {limits.process_bytes // kib} 2>/dev/null; "
        'cd "$0" || exit 126; exec "$@"'
    )
    return [
        *("/usr/bin/nice", "-n", "10", "/usr/bin/sandbox-exec", "-p", profile),
        *("/usr/bin/env", "-i", *(f"{name}={value}" for name, value in environment.items())),
        *("/bin/sh", "-c", bounds, str(spec.cwd), *spec.argv),
    ]


def quote(text: str) -> str:
    """A string of the profile's language: a path may hold quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _rule_lines(kind: str, paths: Iterable[str]) -> str:
    return " ".join(f"({kind} {quote(path)})" for path in paths)
