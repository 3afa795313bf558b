"""The command `remit.policy.open`: shows the rule that made a decision (POL-14)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lsprotocol import types as lsp

from remit_server.transports.lsp.buffers.own_files import (
    OwnBuffers,
    Positions,
    call_in_thread,
    kind_of,
    policy_paths,
    settings_here,
)
from remit_server.transports.lsp.rpc.custom_methods import Json

if TYPE_CHECKING:  # slow to import
    from remit_governance.policy.editing.spans import Span
    from remit_server.errors import RemitError
    from remit_server.transports.lsp.connection.connection import Connection

SHAPE = "[{rule?, file?, line?}]"
_ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request: a rule, or a line of a file. The rule's present place takes precedence over the line, which may be
    out of date.
    """

    rule: str | None
    file: Path | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Found:
    """The place to show."""

    path: Path
    range: lsp.Range


async def open_rule(connection: Connection, params: lsp.ExecuteCommandParams) -> Json:
    """Runs `remit.policy.open [{rule?, file?, line?}]`, with the fields of an entry in a result's `reasons`.

    The editor shows the place if it can, otherwise a message names it. Raises RemitError (`not_found`).
    """
    wanted = _wanted(params)
    roots = [folder.root for folder in connection.folders]
    found = await call_in_thread(lambda: find(wanted, roots, connection.own_files))
    shown = await connection.open_document(found.path.as_uri(), _ANSWER_S, found.range)
    line = found.range.start.line + 1
    if not shown:
        what = f"rule `{wanted.rule}` is at" if wanted.rule else "it is at"
        connection.show(lsp.MessageType.Info, f"{what} {found.path}:{line}")
    return {"file": str(found.path), "line": line, "shown": shown}


def find(wanted: Wanted, roots: Sequence[Path], buffers: OwnBuffers) -> Found:
    """Searches the policy files of these workspaces, by the editor's text if they are open. Raises RemitError."""
    from remit_server.errors import RemitError

    problem: RemitError | None = None
    for root in roots or (None,):
        try:
            return _find_in(root, wanted, buffers)
        except RemitError as error:
            problem = problem or error
    raise problem or _missing(wanted)


def _find_in(root: Path | None, wanted: Wanted, buffers: OwnBuffers) -> Found:
    settings = settings_here(root)
    paths = policy_paths(settings) if settings is not None else {}
    if wanted.file is not None:
        kind = kind_of(wanted.file, settings) if settings is not None else None
        if kind is not None:
            paths = {kind: paths[kind]}
        elif wanted.rule is None:
            raise _not_found(f"`{wanted.file}` is not a policy file here", "name a rule, or one of the policy files")
        else:  # the file is no policy file here, but the rule may stand in one that is
            wanted = Wanted(wanted.rule, None, None)
    for kind, path in paths.items():
        text = _text(path, buffers, project=kind == "project")
        span = _span(text, wanted) if text is not None else None
        if text is not None and span is not None:
            return Found(path, Positions(text, buffers.encoding).range(span))
    raise _missing(wanted)


def _span(text: str, wanted: Wanted) -> Span | None:
    from remit_governance.policy.editing.hover import line_span, rule_span

    named = rule_span(text, wanted.rule) if wanted.rule is not None else None
    told = wanted.line if wanted.file is not None else None
    return named or (line_span(text, told) if told is not None else None)


def _text(path: Path, buffers: OwnBuffers, *, project: bool) -> str | None:
    from remit_governance.errors import PolicyError
    from remit_governance.policy.language.load import read_source

    buffer = buffers.of(path)
    if buffer is not None:
        return buffer.text
    try:
        return read_source(path, project=project).text
    except PolicyError:
        return None


def _wanted(params: lsp.ExecuteCommandParams) -> Wanted:
    from remit_server.transports.lsp.rpc.custom_methods import invalid_params

    match params.arguments:
        case [dict()]:
            given = cast("dict[str, Json]", params.arguments[0])
        case _:
            given = {}
    rule, file, line = (given.get(key) for key in ("rule", "file", "line"))
    right = isinstance(rule, str | None) and isinstance(file, str | None) and isinstance(line, int | None)
    if not right or not (rule or (file and line)):
        why = "there is neither a `rule` nor a `file` with a `line`" if right else "a value has the wrong type"
        raise invalid_params(params.command, why, f"send arguments like `{SHAPE}`")
    return Wanted(rule or None, Path(file) if file else None, line)


def _missing(wanted: Wanted) -> RemitError:
    from remit_governance.policy.decision.builtin import BUILTIN

    builtin = next((rule for rule in BUILTIN.rules if rule.name == wanted.rule), None)
    if builtin is not None:
        return _not_found(f"`{builtin.name}` is built in ({builtin.reason})", "leave it: no file can change it")
    what = f"no policy file here has a rule `{wanted.rule}`" if wanted.rule else f"`{wanted.file}` cannot be read"
    return _not_found(what, "run `remit policy check`; the rule may have been renamed or removed")


def _not_found(why: str, fix: str) -> RemitError:
    from remit_server.contract import ErrorCode
    from remit_server.errors import SetupError

    return SetupError("the rule cannot be shown", why, fix, code=ErrorCode.NOT_FOUND)
