"""Finds what a message mentions: `@path`, `@folder/`, `@symbol:name`, `@diagnostics`, `@diff`; `!command` (CLI-05)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_server.chat.replies import NotUnderstood
from remit_server.contract import (
    MOST_ATTACHED,
    Attachment,
    CallInput,
    DiagnosticsAttachment,
    FileAttachment,
    InputPart,
    SymbolAttachment,
    TextInput,
)
from remit_server.tools.files.list_files import LIST_FILES
from remit_server.tools.git.git_diff import GIT_DIFF
from remit_server.tools.run.run_command import RUN_COMMAND

_MENTION = re.compile(r"(?<!\S)@(\"[^\"\n]+\"|[^\s\"]\S*)")
_ENDS = ".,;:!?)]}"


def read_message(
    text: str, kind_of: Callable[[str], str | None], pinned: Sequence[FileAttachment] = (), *, typed: bool = True
) -> Sequence[InputPart]:
    """Returns a message as the parts of a request. `kind_of` says whether a path is a `file` or a `folder`. `typed`
    says whether the person typed the text; the text of a prompt is never run as a command (APP-17).

    A word after `@` that names nothing stays a word. Raises NotUnderstood if no command follows a typed `!`, or if more
    is attached than a message may have.
    """
    if typed and text.startswith("!"):
        return [own_command(text[1:])]
    attachments: list[Attachment] = list(pinned)
    calls: list[InputPart] = []
    for found in _MENTION.finditer(text):
        word = found[1].strip('"')
        attachment = _attachment(word, kind_of)
        if isinstance(attachment, CallInput):
            calls.append(attachment)
        elif attachment is not None:
            attachments.append(attachment)
    if len(attachments) > MOST_ATTACHED:
        why = f"it names {len(attachments)} files and folders with `@`, but only {MOST_ATTACHED} are allowed"
        raise NotUnderstood("the message was not sent", why, "name their folder, or send several messages")
    return [*calls, TextInput(text=text, attachments=tuple(attachments))]


_NAMES = ("timeout", "host")
_OPTION = re.compile(rf"--({'|'.join(_NAMES)})(?:=|\s+)(\S+)\s+|--(\S*)")
_SECONDS = re.compile(r"[1-9][0-9]{0,4}")
_OPTIONS = "`!--timeout SECONDS --host HOST command`, with as many hosts as it needs"


def own_command(text: str) -> CallInput:
    """Returns the call of a command that the person typed after `!`, with the time-out and hosts that stand before it.

    Without a time-out, the command may take as long as the person allows any command.

    Raises NotUnderstood if there is no command, or if an option is unknown or lacks its value.
    """
    rest, hosts, more = f"{text.strip()} ", list[JsonValue](), dict[str, JsonValue]()
    while (option := _OPTION.match(rest)) is not None:
        name, value, unknown = option.groups()
        if name == "timeout" and _SECONDS.fullmatch(value):
            more["timeout"] = int(value)
        elif name == "host":
            hosts.append(value)
        else:
            lacks = f"`--{unknown}` lacks its value" if unknown in _NAMES else f"`--{unknown}` is not an option"
            what = lacks if name is None else f"`{value}` is not a number of seconds"
            raise NotUnderstood("nothing was run", what, f"type {_OPTIONS}")
        rest = rest[option.end() :]
    if not rest.strip():
        raise NotUnderstood("nothing was run", "no command follows `!`", "try `!git log -3`")
    arguments: dict[str, JsonValue] = {"command": rest.strip(), "network": hosts, **more}
    return CallInput(tool=RUN_COMMAND.name, arguments=arguments, intent=Intent.EXECUTE, typed=True)


def find_unknown(text: str, kind_of: Callable[[str], str | None]) -> Sequence[str]:
    """Returns the words after `@` that look like a path but name no file or folder. A dotted name of code, such as
    `@app.route`, is no path."""
    words = [] if text.startswith("!") else [found[1].strip('"').rstrip(_ENDS) for found in _MENTION.finditer(text)]
    return [word for word in words if _is_path_like(word) and _attachment(word, kind_of) is None]


_OF_FILES = re.compile(
    r"bash|bat|c|cc|cfg|cjs|clj|conf|cpp|cs|css|csv|cts|cxx|dart|diff|exs?|env|erl|f90|fs|gif|go|gradle|hh?|hpp|hs|html?"
    r"|hxx|ini|ipynb|java|jl|jpe?g|jsonl?|jsx?|kts?|less|lock|log|lua|mdx?|mjs|mli?|mm?|mts|nim|parquet|patch|pas|pdf"
    r"|php|pl|pm|png|properties|proto|ps1|pyi?|rb?|rs|rst|sass|scala|scss|sh|sql|svelte|svg|swift|tex|tf|toml|tsv|tsx?"
    r"|txt|vb|vue|wasm|webp|xml|ya?ml|zig|zip|zsh",
    re.IGNORECASE,
)
"""Suffixes by which a word is taken for a file's name, and not for a dotted name of code."""


def _is_path_like(word: str) -> bool:
    if "(" in word:
        return False
    return "/" in word or word.startswith(".") or _OF_FILES.fullmatch(Path(word).suffix[1:]) is not None


def kind_of_path(workspace: Path, path: str) -> str | None:
    """Returns whether a path of the workspace is a `file` or a `folder`, or None if it is neither."""
    if path.startswith("/") or ".." in Path(path).parts:
        return None
    there = workspace / path
    with contextlib.suppress(OSError, ValueError):
        return "file" if there.is_file() else "folder" if there.is_dir() else None
    return None


def _attachment(word: str, kind_of: Callable[[str], str | None]) -> Attachment | CallInput | None:
    if word == "diff":
        return CallInput(tool=GIT_DIFF.name, arguments={}, intent=Intent.ANALYZE)
    if word == "diagnostics" or word.startswith("diagnostics:"):
        return DiagnosticsAttachment(path=word.partition(":")[2] or None)
    if word.startswith("symbol:") and word != "symbol:":
        return SymbolAttachment(name=word.removeprefix("symbol:").rstrip(_ENDS))
    named = re.sub(r"^(file|folder):", "", word)
    for path in (named, named.rstrip(_ENDS)):
        kind = kind_of(path) if path else None
        if kind == "file":
            return FileAttachment(path=path)
        if kind == "folder":
            below: dict[str, JsonValue] = {"pattern": "**", "path": path.rstrip("/") or "."}
            return CallInput(tool=LIST_FILES.name, arguments=below, intent=Intent.ANALYZE)
    return None
