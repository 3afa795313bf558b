"""What a command sees outside workspace and system: an environment of named variables, with nothing of the server's
secrets (BOX-08), the person's toolchains, and what its tool names (BOX-02).
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
"""Where there is no network, npm would try again for more than a minute, and pip for ten seconds."""
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns variables for a command, from the server's own: language and time zone, a PATH that exists inside, no
    colours, no locks that git can do without.

    Looks at what exists of the person's toolchains.
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
        # A look at the repository then writes no index, which is protected and would be reported as not taken over.
        "GIT_OPTIONAL_LOCKS": "0",
        **_GIVE_UP_SOON,
    }


def places_of(environ: Mapping[str, str]) -> Places:
    """Returns where programs may lie that a command sees, besides the workspace."""
    return Places(home_of(environ), SYSTEM_FOLDERS)


def _keep_entry(entry: Path, places: Places) -> Iterator[str]:
    """Yields a folder of PATH as it is found inside: the system's, and those that lie in a toolchain. Others are not
    there."""
    if places.is_system(entry):
        yield str(entry)
        return
    shims = programs_behind(entry, places.home) if places.home else None
    for folder in (entry,) if shims is None else shims:
        seen = next((each for each in (folder, folder.resolve()) if places.is_shown(each)), None)
        if seen:
            yield str(seen)


def _rustup_variables(environ: Mapping[str, str], path: str, places: Places) -> dict[str, str]:
    """Returns where rustup's stand-ins for `cargo` and `rustc` find the real ones: its own default is below HOME.

    CARGO_HOME, to be written to, is below HOME inside, too.
    """
    home = environ.get("RUSTUP_HOME") or (str(places.home / ".rustup") if places.home else "")
    there = home and (places.is_system(Path(home)) or places.is_shown(Path(home, "toolchains")))
    return {"RUSTUP_HOME": home} if there and shutil.which("rustup", path=path) else {}


def visible_outside(spec: CommandSpec) -> tuple[ReadOnlyMount, ...]:
    """To be read, each where it is. Looks at what exists of the toolchains."""
    return (*toolchain_mounts(spec.environment, spec.workspace, places_of(os.environ)), *mounts_named_by(spec))


def mounts_named_by(spec: CommandSpec) -> tuple[ReadOnlyMount, ...]:
    """Returns what the command's tool names; what lies in the workspace is seen anyway."""
    named = {**{path: path for path in spec.readable}, **spec.in_place_of}
    return tuple(ReadOnlyMount(*each) for each in named.items() if not each[0].is_relative_to(spec.workspace))
