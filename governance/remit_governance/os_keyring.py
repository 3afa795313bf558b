"""The operating system's keyring, imported without what other systems' need (AUD-04, MOD-15)."""

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
    """Tells whether it is worth a look, which takes longer than all else that a short command imports.

    Outside macOS and Windows every keyring is asked over the session's bus, which a server, a container and a login by
    SSH do not have. A back end that the person chose is looked for wherever they are.
    """
    if system in _HAVE_ONE or _CHOSEN in environment or "DBUS_SESSION_BUS_ADDRESS" in environment:
        return True
    home = Path(environment.get("HOME", "/"))
    configured = Path(environment.get("XDG_CONFIG_HOME") or home / ".config", _CONFIGURED)
    bus = Path(environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}", "bus")
    return configured.exists() or bus.exists()


def import_keyring() -> ModuleType:
    """Imports the `keyring` library.

    It looks through the back ends of every system, and macOS' looks for its libraries as Python does on Linux: by nine
    runs of ldconfig, gcc and ld. Elsewhere that part is told to be missing, as it then is.
    """
    if sys.platform != "darwin":
        sys.modules.setdefault(_OF_MACOS, None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    import keyring  # noqa: PLC0415  it is slow to import, and most calls need no key

    return keyring
