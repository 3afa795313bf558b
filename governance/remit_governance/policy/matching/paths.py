"""Every spelling of a path brought to one (003 §Built-in rules; threats: Paths)."""

from __future__ import annotations

import posixpath
import sys
import unicodedata

FOLDS_CASE = sys.platform == "darwin"
"""Whether this system's file names usually ignore case."""


def normalise(path: str) -> str:
    """The path without `.`, `..` and doubled slashes, in NFC. What leaves the workspace starts with `..` or `/`."""
    if not path:
        return "."
    # Most paths are normal already: no part is empty or begins with a dot.
    neat = path[0] not in "/." and path[-1] != "/" and "//" not in path and "/." not in path
    plain = path if neat else posixpath.normpath(path)
    # POSIX lets `//` at the front mean something else; here it is the root.
    plain = "/" + plain.lstrip("/") if plain.startswith("/") else plain
    return plain if plain.isascii() else unicodedata.normalize("NFC", plain)


def outside(normalised: str) -> bool:
    """Tells whether a normalised path is not below the workspace."""
    return normalised.startswith(("/", "../")) or normalised == ".." or "\0" in normalised


def fold(path: str) -> str:
    """The path as a file system sees it that ignores case, Unicode forms and invisible characters, as macOS's do."""
    if path.isascii():
        return path.lower()
    drawn = "".join(c for c in path if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", drawn).casefold())
