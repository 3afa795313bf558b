"""The coverage account of a workspace, in a file of the person's state that no tool can write (FLW-08)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from remit_governance.workflow.debt import Account
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError

MAX_BYTES = 4096


class AccountForm(BaseModel):
    """The file, as JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    by: str = Field(min_length=1, max_length=100)
    baseline: float = Field(ge=0, le=100)
    now: float = Field(ge=0, le=100)


def read_account(file: Path) -> Account | None:
    """Returns the account; None where no commit of strict mode has measured coverage. Raises ToolError."""
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(file, (error.strerror or type(error).__name__).lower()) from error
    try:
        form = AccountForm.model_validate_json(data)
    except ValidationError as error:
        raise _unusable(file, f"it is no account of coverage: {error.errors()[0]['msg'].lower()}") from error
    return Account(form.by, form.baseline, form.now)


def update_account(file: Path, change: Callable[[Account | None], Account | None]) -> Account | None:
    """Replaces the account by what `change` makes of it, whoever else writes it; returns that. Raises ToolError."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            before = read_account(file)
            after = change(before)
            if after is not None and after != before:
                temporary = file.with_name(f".{file.name}.new")
                temporary.write_text(AccountForm(**asdict(after)).model_dump_json(), encoding="utf-8")
                temporary.replace(file)
            return after
        finally:
            os.close(folder)
    except OSError as error:
        raise _unusable(file, (error.strerror or type(error).__name__).lower()) from error


def _unusable(file: Path, why: str) -> ToolError:
    fix = f"the person can fix or delete `{file}`; without it a new baseline is set"
    return ToolError("the coverage budget cannot be used", why, fix, code=ErrorCode.DENIED)
