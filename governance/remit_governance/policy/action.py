"""Actions as the command line, the editor and policy examples write them (protocol.md §4 `policy explain`)."""

from __future__ import annotations

import difflib
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from remit_governance.errors import ActionError
from remit_governance.policy.commands import command_words
from remit_governance.values import Action, Intent


class ActionForm(BaseModel):
    """One action in JSON. `command` is a list of words, or a command line, which is judged part by part."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    syscall: Annotated[str, Field(min_length=1)]
    path: str | None = None
    caller_tags: tuple[str, ...] = ()
    state: str = "idle"
    mode: str = "strict"
    intent: Intent | None = None
    tool: str | None = None
    command: tuple[str, ...] | str | None = None
    cwd: str | None = None
    host: str | None = None
    size: Annotated[int, Field(ge=0, strict=True)] | None = None

    def action(self) -> Action:
        """The same as a value of the core."""
        return Action(
            syscall=self.syscall,
            path=self.path,
            tool=self.tool,
            intent=self.intent,
            command=command_words(self.command) if isinstance(self.command, str) else self.command,
            host=self.host,
            size=self.size,
            caller_tags=frozenset(self.caller_tags),
            state=self.state,
            mode=self.mode,
            cwd=self.cwd,
            script=self.command if isinstance(self.command, str) else None,
        )


def parse_action(value: object) -> Action:
    """The action that a JSON value (an object, already decoded) describes. Raises ActionError naming the field."""
    try:
        return ActionForm.model_validate(value).action()
    except ValidationError as error:
        # A misspelt key first: it also explains the one that is missing.
        first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        name = ".".join(str(part) for part in first["loc"]) or "it"
        if first["type"] == "extra_forbidden":
            near = difflib.get_close_matches(str(first["loc"][-1]), ActionForm.model_fields, n=1)
            raise ActionError(
                "the action cannot be judged",
                f"unknown key `{name}`",
                f"did you mean `{near[0]}`" if near else f"use {' '.join(ActionForm.model_fields)}",
            ) from None
        why = f"`{name}`: {first['msg'].lower()}"
        raise ActionError(
            "the action cannot be judged", why, f"an action has the keys {' '.join(ActionForm.model_fields)}"
        ) from None
