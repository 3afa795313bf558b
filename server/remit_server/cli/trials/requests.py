"""The requests of a trial: a YAML file with the files of a small project, and what is asked of it (MOD-25)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from remit_server.cli.trials.judging import Right
from remit_server.cli.usage import first_problem
from remit_server.errors import SetupError

SHIPPED = Path(__file__).with_name("requests.yaml")
"""Twelve requests as anybody asks them."""
MOST_BYTES = 1 << 20


class Request(BaseModel):
    """What is asked, and what is right then."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ask: str = Field(min_length=1)
    right: Right


class RequestSet(BaseModel):
    """The files of the project, by their paths, and the requests."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: dict[str, str] = Field(min_length=1)
    requests: tuple[Request, ...] = Field(min_length=1)

    @field_validator("files")
    @classmethod
    def _stay_inside(cls, files: dict[str, str]) -> dict[str, str]:
        for path in files:
            parts = PurePosixPath(path)
            if parts.is_absolute() or ".." in parts.parts or not parts.name:
                raise ValueError(f"`{path}` is not a path in the project")
        return files


def read_requests(file: Path) -> RequestSet:
    """Reads a set. Raises SetupError for a file that is none, with the place."""
    what = f"`{file}` holds no requests"
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise SetupError(what, "it is larger than 1 MiB", "split it")
        loaded: Any = yaml.safe_load(data)
        return RequestSet.model_validate(loaded)
    except OSError as error:
        raise SetupError(what, f"it cannot be read: {error.strerror}", "name another file") from error
    except ValidationError as error:
        raise SetupError(what, first_problem(error), f"write it like {SHIPPED}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        why = f"it is not valid YAML: {str(error).splitlines()[0]}"
        raise SetupError(what, why, f"write it like {SHIPPED}") from error
