"""Why a turn is not run, or ends early, in words (AGT-06)."""

from __future__ import annotations

import os
from pathlib import Path

from remit_server.contract import ErrorCode, ErrorPayload, RunRequest
from remit_server.errors import RemitError


def reused_id_error(request: RunRequest) -> RemitError:
    """The refusal of ids that already belong to another request."""
    return RemitError(
        f"turn `{request.turn_id}` was not run",
        "this turn id was already used in its session for another request",
        "give every new request a turn id of its own",
        code=ErrorCode.INVALID_REQUEST,
    )


def another_workspace(request: RunRequest, workspace: Path) -> str | None:
    """The folder that the request's context names as its workspace, where that is another one than this."""
    folder = request.context.workspace_folder if request.context else None
    if folder is None or ("\0" not in folder and os.path.realpath(folder) == os.path.realpath(workspace)):
        return None
    return folder


def wrong_workspace(folder: str, workspace: Path) -> RemitError:
    """The refusal of a request that was meant for another folder."""
    return RemitError(
        "the turn was not run",
        f"it is for the workspace `{folder}`, and this server works in `{workspace}`",
        "open that folder by itself, or leave `context.workspace_folder` out",
        code=ErrorCode.INVALID_REQUEST,
    )


def cancelled_error() -> ErrorPayload:
    """The error of a turn that was stopped."""
    return RemitError(
        "the turn was stopped", "it was cancelled", "ask again to go on", code=ErrorCode.CANCELLED, retryable=True
    ).payload()


def time_out_error(seconds: float) -> ErrorPayload:
    """The error of a turn that took too long."""
    return RemitError(
        "the turn was stopped",
        f"it took longer than {seconds:g} seconds",
        "ask for less at once, or raise REMIT_TURN_TIMEOUT_S",
        code=ErrorCode.TIMED_OUT,
        retryable=True,
    ).payload()


def internal() -> ErrorPayload:
    """The error of a defect in Remit: no traceback crosses the wire."""
    return RemitError(
        "the turn failed", "something went wrong inside Remit", "look into the server's log and report it"
    ).payload()
