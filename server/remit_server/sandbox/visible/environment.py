"""What a command sees outside the workspace and the system: a fixed set of variables without the server's secrets
(BOX-08), the person's toolchains, and the files that its tool names (BOX-02).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from remit_server.sandbox.ports import CommandSpec
from remit_server.sandbox.visible.shims import programs_behind
from remit_server.sandbox.visible.toolchains import Places, ReadOnlyMount, home_of, toolchain_mounts

SCRATCH = "/tmp"  # noqa: S108  inside the sandbox this is a fresh folder of its own
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")

_PASSED = ("LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ")
_GIVE_UP_SOON = {
    "npm_config_fetch_retry_mintimeout": "100",
    "npm_config_fetch_retry_maxtimeout": "1000",
    "PIP_RETRIES": "1",
}
"""Without these, if there is no network, npm retries for more than a minute, and pip for ten seconds."""
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns a command's variables, made from the server's: language and time zone, a PATH of folders that exist
    inside, and settings for no colours and no optional locks of git.

    Looks at which of the person's toolchains exist.
    """
    passed = {name: environ[name] for name in _PASSED if name in environ}
    places = places_of(environ)
    entries = dict.fromkeys(environ.get("PATH", "").split(":"))
    kept = dict.fromkeys(each for entry in entries for each in _keep_entry(Path(entry), places))
    path = ":".join(kept) or _DEFAULT_PATH
    return {
        **passed,
        **_rustup_variables(environ, path, places),
        "PATH": path,
        "HOME": SCRATCH,
        "TMPDIR": SCRATCH,
        "USER": "remit",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # So that `git status` writes no index, which is protected and would be reported as a change not taken over.
        "GIT_OPTIONAL_LOCKS": "0",
        **_GIVE_UP_SOON,
    }


def places_of(environ: Mapping[str, str]) -> Places:
    """Returns the places outside the workspace where a command may see programs."""
    return Places(home_of(environ), SYSTEM_FOLDERS)


def _keep_entry(entry: Path, places: Places) -> Iterator[str]:
    """Yields the folders that replace one entry of PATH inside: a system folder itself, a folder in a shown toolchain,
    the folders behind a folder of shims; none for any other entry."""
    if places.is_system(entry):
        yield str(entry)
        return
    shims = programs_behind(entry, places.home) if places.home else None
    for folder in (entry,) if shims is None else shims:
        seen = next((each for each in (folder, folder.resolve()) if places.is_shown(each)), None)
        if seen:
            yield str(seen)


def _rustup_variables(environ: Mapping[str, str], path: str, places: Places) -> dict[str, str]:
    """Returns the variable by which rustup's stand-ins find the real `cargo` and `rustc`, because their default is
    below HOME, which differs inside.

    CARGO_HOME keeps its default below HOME, because it has to be writable.
    """
    home = environ.get("RUSTUP_HOME") or (str(places.home / ".rustup") if places.home else "")
    there = home and (places.is_system(Path(home)) or places.is_shown(Path(home, "toolchains")))
    return {"RUSTUP_HOME": home} if there and shutil.which("rustup", path=path) else {}


def visible_outside(spec: CommandSpec) -> tuple[ReadOnlyMount, ...]:
    """Returns all read-only mounts outside the workspace: toolchains that exist, and what the command's tool names."""
    return (*toolchain_mounts(spec.environment, spec.workspace, places_of(os.environ)), *mounts_named_by(spec))


def mounts_named_by(spec: CommandSpec) -> tuple[ReadOnlyMount, ...]:
    """Returns mounts for the files that the command's tool names, without those seen in the workspace anyway."""
    named = {**{path: path for path in spec.readable}, **spec.in_place_of}
    return tuple(ReadOnlyMount(*each) for each in named.items() if not each[0].is_relative_to(spec.workspace))
