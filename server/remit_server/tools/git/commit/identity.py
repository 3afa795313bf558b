"""Who commits, and the words they commit with, as git would write them down (GIT-02)."""

from __future__ import annotations

import itertools

from remit_server.errors import ToolError
from remit_server.workspace.git_settings import Settings

_CRUD = " \t.,:;<>\"\\'"


def author_of(settings: Settings) -> str:
    """`Name <address>`. Raises ToolError where git's settings do not say."""
    name, mail = (_clean(settings.get(f"author.{key}") or settings.get(f"user.{key}", "")) for key in ("name", "email"))
    if not name or not mail:
        raise ToolError(
            "cannot commit",
            "git does not know who commits: `user.name` or `user.email` is not set",
            'have a person run `git config user.name "…"` and `git config user.email "…"`',
        )
    return f"{name} <{mail}>"


def tidy_message(message: str) -> str:
    """The message as `git commit -m` keeps it: no blanks at the ends of lines, no empty lines around it or twice."""
    lines = [line.rstrip() for line in message.replace("\r\n", "\n").split("\n")]
    groups = [(empty, list(group)) for empty, group in itertools.groupby(lines, key=lambda line: not line)]
    kept = [line for empty, group in groups for line in ([""] if empty else group)]
    text = "\n".join(kept).strip("\n")
    if not text:
        raise ToolError("cannot commit", "the message is empty", "say in it what the commit changes and why")
    return text + "\n"


def _clean(text: str) -> str:
    return "".join(sign for sign in text if sign not in "<>\n\0").strip(_CRUD)
