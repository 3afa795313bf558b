"""Judges how a turn ended, by its calls and not by what the model says of them (AGT-01), and says why a turn is not run
or ends early (AGT-06), for example for lack of memory or disk (OBS-03).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from remit_server.contract import ErrorCode, ErrorPayload, RunRequest, RunStatus
from remit_server.errors import RemitError, told_to_person
from remit_server.harness.approval.desk import UNANSWERED
from remit_server.harness.turn import EndedCall
from remit_server.machine.free_space import free_disk, free_memory
from remit_server.models.ports import Declined
from remit_server.runtime.settings import Settings

MIB = 1 << 20


def shortage(settings: Settings) -> RemitError | None:
    """Returns why no turn should begin, or None. What cannot be measured stops no turn."""
    limits = settings.config.limits
    free = free_memory() if limits.spare_memory_mib else None
    if free is not None and free < limits.spare_memory_mib * MIB:
        least = f"the {limits.spare_memory_mib} of `limits.spare_memory_mib`"
        why = f"{free // MIB} MiB of memory are free, less than {least}"
        return _no_room(why, "close programs that use memory, or lower the limit")
    for folder in (settings.workspace, settings.state):
        with suppress(OSError):
            free = free_disk(folder)
            if free < limits.spare_disk_mib * MIB:
                where = f"{free // MIB} MiB are free on the disk of {folder}"
                why = f"{where}, less than the {limits.spare_disk_mib} of `limits.spare_disk_mib`"
                return _no_room(why, "free some space (`!command` still runs your own commands), or lower the limit")
    return None


def _no_room(why: str, fix: str) -> RemitError:
    return RemitError("the turn was not started", why, fix, code=ErrorCode.LIMIT_REACHED)


def reused_id_error(request: RunRequest) -> RemitError:
    """Returns the refusal of ids that already belong to another request."""
    return RemitError(
        f"turn `{request.turn_id}` was not run",
        "this turn id was already used in its session for another request",
        "give every new request a turn id of its own",
        code=ErrorCode.INVALID_REQUEST,
    )


def refuse_other_workspace(request: RunRequest, workspace: Path) -> None:
    """Raises RemitError if the request's context names another folder than this as its workspace."""
    folder = request.context.workspace_folder if request.context else None
    if folder is None or ("\0" not in folder and os.path.realpath(folder) == os.path.realpath(workspace)):
        return
    raise RemitError(
        "the turn was not run",
        f"it is for the workspace `{folder}`, and this server works in `{workspace}`",
        "open that folder by itself, or leave `context.workspace_folder` out",
        code=ErrorCode.INVALID_REQUEST,
    )


def cancelled_error() -> ErrorPayload:
    """Returns the error of a turn that was stopped."""
    return RemitError(
        "the turn was stopped", "it was cancelled", "ask again to go on", code=ErrorCode.CANCELLED, retryable=True
    ).payload()


def time_out_error(seconds: float) -> ErrorPayload:
    """Returns the error of a turn that took too long."""
    return RemitError(
        "the turn was stopped",
        f"it took longer than {seconds:g} seconds",
        "ask for less at once, or raise REMIT_TURN_TIMEOUT_S",
        code=ErrorCode.TIMED_OUT,
        retryable=True,
    ).payload()


def internal() -> ErrorPayload:
    """Returns the error of a defect in Remit: no traceback crosses the wire."""
    return RemitError(
        "the turn failed", "something went wrong inside Remit", "look into the server's log and report it"
    ).payload()


REFUSALS = UNANSWERED | {ErrorCode.DENIED}
"""The codes of calls that policy or the person did not let run."""
OWN_REFUSALS = REFUSALS | {
    ErrorCode.INTENT_REQUIRED,
    ErrorCode.TOOL_NOT_ALLOWED_FOR_INTENT,
    ErrorCode.OUTSIDE_WORKSPACE,
}
"""The same for the person's own calls, which end at the gate; a model that the gate stops can declare an intent."""
SAID_SO: Mapping[Declined, str] = MappingProxyType(
    {"declined": "the model could not do this", "asks": "the model asks you for what is missing"}
)
SAID_NOTHING = "the model gave no answer"
LAST_FAILED = "the last command failed"
SAID_SO_OF_SOME = "the model could not do all of it"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended: its answer, and the error or the reason why not all was done."""

    status: RunStatus
    output: str | None = None
    error: ErrorPayload | None = None
    reason: str | None = None


def judge_turn(
    calls: Sequence[EndedCall], output: str | None, *, declined: Declined | None, not_attached: Sequence[str] = ()
) -> Outcome:
    """Judge a turn that nothing cut short, whose model has `declined` or has answered with `output`, None if it was not
    asked; `not_attached` says what of the message the model was not shown.

    A turn in which something was done, or a question was answered, is completed. A turn that did nothing is denied if
    policy or the person refused its work; failed if the outcome of a call is unknown, if the model gave no answer, or
    if only the person's own calls were made and one failed; declined if the model declined. A completed turn gives a
    reason if the last command that the model ran failed, or if nothing was done and the last call that was to change
    something failed. A dry run has not failed. Beside a message, reads of the person's own, and steps of the workflow,
    do not count as something done.
    """
    refused = [
        call.error
        for number, call in enumerate(calls, 1)
        if call.error is not None
        and _is_kept_from(call, call.error.code, calls[number:], declined=declined is not None)
    ]
    failed = [call.error for call in calls if call.error is not None and call.error.code is not ErrorCode.DRY_RUN]
    unknown = [error for error in failed if error.code is ErrorCode.OUTCOME_UNKNOWN]
    untold = refused or unknown
    reason = _sentence(untold[-1]) if untold else next(iter(not_attached), None)
    if any(call.error is None and (call.works or (call.own and output is None)) for call in calls):
        if declined and reason is None:
            reason = _sentence(failed[-1]) if failed else SAID_SO_OF_SOME
        return Outcome("completed", output, reason=reason or _broken_program(calls))
    if refused:
        return Outcome("denied", output, reason=reason)
    if unknown:
        return Outcome("failed", output, reason=reason)
    if declined:
        return Outcome("declined", output, reason=_sentence(failed[-1]) if failed else SAID_SO[declined])
    if failed and output is None and all(call.own for call in calls):
        return Outcome("failed", reason=_sentence(failed[-1]))
    silent = output is not None and not output.strip()
    ended = Outcome("completed", output, reason=reason or _broken_program(calls) or _not_done(calls))
    return Outcome("failed", output, reason=SAID_NOTHING) if silent else ended


def _broken_program(calls: Sequence[EndedCall]) -> str | None:
    """Returns how the last program that the model ran failed, or None if it did not; the last of repeated runs
    counts."""
    last = next((call for call in reversed(calls) if call.program is not None and not call.own), None)
    return f"{LAST_FAILED}: {last.program}" if last is not None and last.program else None


def _not_done(calls: Sequence[EndedCall]) -> str | None:
    """Returns why the model's last call that was to do more than read failed, or None if it did not fail."""
    last = next((call for call in reversed(calls) if call.acts and not call.own), None)
    if last is None or last.error is None or last.error.code is ErrorCode.DRY_RUN:
        return None
    return _sentence(last.error)


def _is_kept_from(call: EndedCall, code: ErrorCode, later: Sequence[EndedCall], *, declined: bool) -> bool:
    """Returns whether a refusal kept the turn from its work.

    A refused read does so only if the model declined; a call that policy denied does not if a later call succeeded.
    """
    if call.own:
        return code in OWN_REFUSALS
    if code is ErrorCode.DENIED and any(other.error is None for other in later):
        return False
    return code in REFUSALS and (call.acts or declined)


def _sentence(error: ErrorPayload) -> str:
    if error.code in UNANSWERED:  # the heading says already that it was not done
        return told_to_person(error.why)
    return f"{error.what}: {error.why}"
