"""Parses the arguments of the server's commands: an object with known keys, or a text and such an object (LSP-05)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from lsprotocol import types as lsp

from remit_server.transports.lsp.rpc.custom_methods import Json, invalid_params

if TYPE_CHECKING:
    from remit_server.transports.lsp.connection.connection import Connection
    from remit_server.transports.lsp.connection.folders import FolderDocument


LINES_COUNT = "lines count from 1, and the last one is not before the first"
_PLACE = "workspace_folder?, uri?"


@dataclass(frozen=True, slots=True)
class About:
    """The subject of a command: the path of the open document and the root of its folder, each if known."""

    document: str | None = None
    folder: str | None = None

    @classmethod
    def of(cls, document: FolderDocument | None) -> About:
        """Returns the subject for a document."""
        return cls() if document is None else cls(document.path, str(document.folder.root))


@dataclass(frozen=True, slots=True)
class Asked:
    """A command's one argument: the object `given`, and what the command is about."""

    params: lsp.ExecuteCommandParams
    shape: str
    given: dict[str, Json]
    about: About

    def text(self, key: str) -> str | None:
        """Returns the text of a key, or None if the key is left out. Raises the error for invalid params."""
        value = self.given.get(key)
        if isinstance(value, str | None):
            return value
        raise wrong_arguments(self.params, f"`{key}` is not a string", self.shape)

    def number(self, key: str) -> int | None:
        """Returns the number of a key, or None if the key is left out. Raises the error for invalid params."""
        value = self.given.get(key)
        if isinstance(value, int | None) and not isinstance(value, bool):
            return value
        raise wrong_arguments(self.params, f"`{key}` is not a whole number", self.shape)

    def flag(self, key: str) -> bool:
        """Returns whether a key is true, or False if it is left out. Raises the error for invalid params."""
        value = self.given.get(key, False)
        if isinstance(value, bool):
            return value
        raise wrong_arguments(self.params, f"`{key}` is not true or false", self.shape)

    def need(self, key: str) -> str:
        """Returns the text of a key that must be given. Raises the error for invalid params."""
        value = self.text(key)
        if value is None:
            raise wrong_arguments(self.params, f"`{key}` is missing", self.shape)
        return value


def read_asked(connection: Connection, params: lsp.ExecuteCommandParams, keys: str = "") -> Asked:
    """Returns the command's one argument. `keys` are the keys that it may have besides `workspace_folder` and `uri`.
    Raises the error for invalid params."""
    shape = f"[{{{keys}{_PLACE}}}]"
    given = one_object(params, shape) if params.arguments else {}
    return Asked(params, shape, given, find_place(connection, given, params, shape))


def find_place(connection: Connection, given: dict[str, Json], params: lsp.ExecuteCommandParams, shape: str) -> About:
    """Returns the named folder, or that of the named file, with the file if it is open. Both are None for a file that
    is in no workspace folder.
    """
    folder, uri = given.get("workspace_folder"), given.get("uri")
    if not isinstance(folder, str | None) or not isinstance(uri, str | None):
        raise wrong_arguments(params, "`workspace_folder` or `uri` is not a string", shape)
    if folder is not None or uri is None:
        return About(folder=None if folder is None else str(connection.folders.named(folder).root))
    document = connection.document(uri)
    around = connection.folders.around(uri) if document is None else None
    return About.of(document) if around is None else About(folder=str(around.root))


def text_and(params: lsp.ExecuteCommandParams, shape: str) -> tuple[str, Json]:
    """Returns the first argument, a text, and the second one or None. Raises the error for invalid params."""
    match params.arguments:
        case [str() as text, *rest] if text.strip() and len(rest) <= 1:
            return text, rest[0] if rest else None
        case _:
            raise wrong_arguments(params, "the arguments have the wrong shape", shape)


def one_object(params: lsp.ExecuteCommandParams, shape: str) -> dict[str, Json]:
    """Returns the one argument, whose keys are those of `shape`. Raises the error for invalid params."""
    match params.arguments:
        case [dict()]:
            return check_options(params.arguments[0], params, shape)
        case _:
            raise wrong_arguments(params, "the arguments have the wrong shape", shape)


def check_options(given: Json, params: lsp.ExecuteCommandParams, shape: str) -> dict[str, Json]:
    """Returns the options if all their keys are in `shape`. Raises the error for invalid params."""
    if not isinstance(given, dict):
        raise wrong_arguments(params, "the options are not an object", shape)
    options = cast("dict[str, Json]", given)
    known = re.findall(r"\w+", shape)
    if unknown := [key for key in options if key not in known]:
        raise wrong_arguments(params, f"`{unknown[0][:100]}` is not known", shape)
    return options


def wrong_arguments(params: lsp.ExecuteCommandParams, why: str, shape: str) -> Exception:
    """Returns the error for arguments that a command does not take."""
    return invalid_params(params.command, why, f"send arguments like `{shape}`")
