"""Remit's two families of errors (TOOL-02).

RemitError
├── ToolError            the model may read it and correct itself; becomes a tool result
│   └── OutsideWorkspace a path that leaves the workspace
├── ModelUnavailable     ends the step: the model process died, is missing, or cannot load
├── ModelFailed          ends the step: the model answered with something unusable
└── SetupError           ends the command: configuration, policy, workspace or audit cannot be used

The dispatcher turns a ToolError into a tool result, with `code`, `message`, `retryable` and `fix`, and the turn goes
on; only `RunDenied` (nobody can be asked, or a final deny) ends the run. Governance has a few errors of its own, for
what could not be judged at all; a refusal is never one of them. A person is always told what failed, why, and how to
fix it; tracebacks go to the log, never onto the wire.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from pydantic import JsonValue

from remit_server.contract import ErrorCode, ErrorPayload


class RemitError(Exception):
    """An error with a code and with what, why and fix. `for_person` is the fix as a person reads it, if `fix` is for a
    model; it is empty if they have nothing to do."""

    code = ErrorCode.INTERNAL

    def __init__(
        self,
        what: str,
        why: str,
        fix: str,
        *,
        code: ErrorCode | None = None,
        retryable: bool = False,
        for_person: str | None = None,
    ) -> None:
        super().__init__(f"{what}: {why}")
        self.what, self.why, self.fix, self.retryable = what, why, fix, retryable
        self._for_person = for_person
        if code is not None:
            self.code = code

    @property
    def for_person(self) -> str:
        """The fix as a person reads it."""
        return addressed_to_person(self.fix) if self._for_person is None else self._for_person

    def payload(self) -> ErrorPayload:
        """Returns the error as it is sent over the wire."""
        return ErrorPayload(
            code=self.code,
            message=f"{self.what}: {self.why}",
            retryable=self.retryable,
            what=self.what,
            why=self.why,
            fix=self.fix,
        )

    def payload_for_person(self) -> ErrorPayload:
        """Returns the error as it is sent to a person who watches, or who made the call."""
        return self.payload().model_copy(update={"fix": self.for_person})


class ToolError(RemitError):
    """A refusal or failure of one tool call, for the model to read and correct. `data` has details for programs."""

    code = ErrorCode.INVALID_ARGUMENTS
    data: Mapping[str, JsonValue] = MappingProxyType({})


STANDING_ANSWER = "standing_answer"
"""The key in a refusal's `data` if a standing answer, not a rule, refused the call; its value is the kind of answer."""


class AlreadySo(ToolError):
    """The state that a call should bring about exists already: nothing is done, and the call succeeds (TOOL-04)."""


class OutsideWorkspace(ToolError):
    """A path that is not below the workspace root once it is resolved."""

    code = ErrorCode.OUTSIDE_WORKSPACE


class ModelUnavailable(RemitError):
    """There is no model to ask: not installed, not loadable, or its process died."""

    code = ErrorCode.MODEL_UNAVAILABLE


class ModelFailed(RemitError):
    """The model answered, and the answer cannot be used."""

    code = ErrorCode.MODEL_FAILED


class PromptTooLong(ModelFailed):
    """The prompt has more tokens than the model reads. `tokens` and `window` are 0 if the model did not tell them."""

    def __init__(self, what: str, why: str, fix: str, *, tokens: int = 0, window: int = 0) -> None:
        super().__init__(what, why, fix)
        self.tokens = tokens
        self.window = window


class SetupError(RemitError):
    """Something Remit needs before it can work is missing or broken."""

    code = ErrorCode.INVALID_REQUEST


_ADDRESSED: Mapping[str, str] = MappingProxyType(
    {
        "leave it as it is; a person ": "you ",
        "leave it as it is; no ": "no ",
        "leave it; a person ": "you ",
        "ask the person to ": "",
        "have the person ": "",
        "have a person ": "",
        "the person can ": "you can ",
        "a person can ": "you can ",
        "the person has to ": "you have to ",
        "a person has to ": "you have to ",
        "the person's": "your",
    }
)


def addressed_to_person(fix: str) -> str:
    """Returns a fix reworded for the person who made the call: it tells them what a model would have to ask of them."""
    for to_model, to_person in _ADDRESSED.items():
        fix = fix.replace(to_model, to_person)
    return fix


PERSON_SAID_NO = "the person said no"
"""Why a call was refused, as the model reads it."""


_MOST_QUOTED = 60
_ARGUMENT = re.compile(r"(?<![\w`./-])(old|new)_text(?![\w`./-])")
"""The name of an argument of an edit, where it does not stand in something quoted."""


def told_to_person(text: str, arguments: Mapping[str, JsonValue] = MappingProxyType({})) -> str:
    """Returns a refusal that was written for the model as the person reads it: what the call's `arguments` hold, in
    place of their names."""
    text = text.replace(PERSON_SAID_NO, "you said no", 1)
    old = str(arguments.get("old_text", ""))
    if not old:
        return text
    quoted = f"`{old}`" if len(old) <= _MOST_QUOTED and not set("`\n") & set(old) else "the old text"
    return _ARGUMENT.sub(lambda found: quoted if found[1] == "old" else "the new text", text)


def os_reason(error: OSError) -> str:
    """Returns the operating system's message for an error, with its first letter in lower case."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]
