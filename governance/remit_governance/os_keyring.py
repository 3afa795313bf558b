"""Imports the operating system's keyring without what only the keyrings of other systems need (AUD-04, MOD-15)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

_OF_MACOS = "keyring.backends.macOS.api"
_HAVE_ONE = {"darwin", "win32"}
_CHOSEN = "PYTHON_KEYRING_BACKEND"
_CONFIGURED = "python_keyring/keyringrc.cfg"


def may_have_keyring(environment: Mapping[str, str] = os.environ, system: str = sys.platform) -> bool:
    """Tells whether there may be a keyring: importing it takes longer than all other imports of a short command.

    Outside macOS and Windows every keyring is reached over the session's D-Bus, which a server, a container and a login
    by SSH do not have. If the person chose or configured a back end, the answer is yes on every system.
    """
    if system in _HAVE_ONE or _CHOSEN in environment or "DBUS_SESSION_BUS_ADDRESS" in environment:
        return True
    home = Path(environment.get("HOME", "/"))
    configured = Path(environment.get("XDG_CONFIG_HOME") or home / ".config", _CONFIGURED)
    bus = Path(environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}", "bus")
    return configured.exists() or bus.exists()


def import_keyring() -> ModuleType:
    """Imports the `keyring` library.

    The library imports the back ends of every system, and on Linux the one for macOS searches for its libraries with
    nine runs of ldconfig, gcc and ld. So outside macOS that module is marked as missing first.
    """
    if sys.platform != "darwin":
        sys.modules.setdefault(_OF_MACOS, None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    import keyring  # noqa: PLC0415  it is slow to import, and most calls need no key

    return keyring
