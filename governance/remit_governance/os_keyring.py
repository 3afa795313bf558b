"""The operating system's keyring, imported without what other systems' need (AUD-04, MOD-15)."""

from __future__ import annotations

import sys
from types import ModuleType

_OF_MACOS = "keyring.backends.macOS.api"


def import_keyring() -> ModuleType:
    """Imports the `keyring` library.

    It looks through the back ends of every system, and macOS' looks for its libraries as Python does on Linux: by nine
    runs of ldconfig, gcc and ld. Elsewhere that part is told to be missing, as it then is.
    """
    if sys.platform != "darwin":
        sys.modules.setdefault(_OF_MACOS, None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    import keyring  # noqa: PLC0415  it is slow to import, and most calls need no key

    return keyring
