"""The bytes that git would store for a file: its own, or a refusal where git would change them (GIT-03).

Filters are programs, and are not run. Line ends are left alone: where git would turn them, that is said.
"""

from __future__ import annotations

from collections.abc import Mapping

from remit_server.errors import ToolError
from remit_server.tools.git.commit.attributes import Value
from remit_server.workspace.git_settings import Settings

_CRLF = b"\r\n"
_CONVERTS = frozenset({"true", "input"})


def must_be_stored_as_it_is(path: str, data: bytes, attributes: Mapping[str, Value], settings: Settings) -> None:
    """Raises ToolError where git would store something other than `data` for the file at `path`."""
    program, encoding = attributes.get("filter"), attributes.get("working-tree-encoding")
    if isinstance(program, str):
        raise _refusal(path, f"git stores it through the filter `{program}`, which is a program")
    if isinstance(encoding, str) and encoding.upper() not in {"UTF-8", "UTF8"}:
        raise _refusal(path, f"git stores it in another encoding than {encoding}")
    if attributes.get("ident") is True and b"$Id" in data:
        raise _refusal(path, "git changes the `$Id$` in it")
    if line_ends_are_turned(data, attributes, settings):
        raise _refusal(path, "git would change its line ends (CRLF)")


def line_ends_are_turned(data: bytes, attributes: Mapping[str, Value], settings: Settings) -> bool:
    """Whether git would store `data` with other line ends. Where it is not certain, it is said to."""
    if _CRLF not in data:
        return False
    text = attributes.get("text", attributes.get("crlf"))
    if text is False:
        return False
    if text is True or text == "input" or (text is None and attributes.get("eol") in {"lf", "crlf"}):
        return True
    if text is None and settings.get("core.autocrlf", "").lower() not in _CONVERTS:
        return False
    # What git takes for binary stays: by a NUL for certain, by other signs it may.
    return b"\0" not in data


def _refusal(path: str, why: str) -> ToolError:
    return ToolError(
        f"cannot commit `{path}`", why, "leave it out with `paths`; a person can commit it with git itself"
    )
