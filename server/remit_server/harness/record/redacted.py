"""What leaves the harness of a call, for records and for whoever is shown it: without secrets, and no longer than is
read (SEC-01).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from pydantic import JsonValue

from remit_governance.audit.record import MAX_SUMMARY
from remit_governance.secrets.redaction import Redactor, truncate, truncate_strings
from remit_governance.values import Reason
from remit_server.contract import ErrorCode, ErrorPayload, ReasonPayload
from remit_server.errors import RemitError, ToolError
from remit_server.tools.data_room import MAX_DATA, json_length

MAX_ERROR = 16_000
"""Characters of an error that the model sees: 4,000 tokens, roughly."""


def summarise(text: str, redactor: Redactor, keep: Literal["head", "middle"] = "middle") -> str:
    """Returns what a record says of a text."""
    return truncate(redactor.redact(text), MAX_SUMMARY, keep)


def summarise_arguments(redacted: JsonValue, redactor: Redactor) -> str:
    """Returns what a record says of arguments. They are redacted once more as a whole, for what is a secret only there;
    each part is cut first, after its own redaction."""
    return summarise(str(truncate_strings(redacted, 2 * MAX_SUMMARY)), redactor)


@lru_cache(maxsize=256)
def reason_payload(reason: Reason) -> ReasonPayload:
    """Returns a rule's reason as it crosses the wire."""
    return ReasonPayload(
        rule=reason.rule,
        layer=reason.layer,
        action=reason.verdict.word,
        reason=reason.message,
        file=reason.file,
        line=reason.line,
    )


def redact_error(error: RemitError, redactor: Redactor) -> ErrorPayload:
    """Returns an error as it crosses the wire, without secrets, and no longer than a result."""
    payload = error.payload()
    texts = {name: redactor.redact(getattr(payload, name)) for name in ("message", "what", "why", "fix")}
    return payload.model_copy(update={name: truncate(text, MAX_ERROR, "middle") for name, text in texts.items()})


def describe_interruption(tool: str, changed: Sequence[str], *, cancelled: bool) -> ToolError:
    """Returns the error of a call that was cut short, after it had `changed` these files."""
    done = f"; it had changed {', '.join(f'`{path}`' for path in changed)} before" if changed else ""
    if cancelled:
        why, fix = f"it was cancelled{done}", "ask again to go on"
        return ToolError(f"`{tool}` was stopped", why, fix, code=ErrorCode.CANCELLED)
    why, fix = f"something went wrong inside Remit{done}", "look into the server's log and report it"
    return ToolError(f"`{tool}` failed", why, fix, code=ErrorCode.INTERNAL)


def redact_data(data: Mapping[str, JsonValue], redactor: Redactor) -> dict[str, JsonValue]:
    """Redacts a result's data; returns nothing where it is longer than `MAX_DATA`."""
    if json_length(dict(data)) > MAX_DATA:
        return {}
    return redactor.redact_json(dict(data))
