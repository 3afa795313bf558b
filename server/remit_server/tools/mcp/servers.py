"""The saved form of an MCP server: how it is started or reached, and its tools as the person reviewed them (TOOL-18).

Each server has one file in the person's own folder. A file of a project is never one.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, ValidationError, model_validator

from remit_governance.canonical import digest
from remit_governance.hosts import parse_endpoint
from remit_server.contract import ErrorCode, Wire
from remit_server.contract.refused import describe_problems
from remit_server.errors import SetupError, os_reason
from remit_server.own_files import entries_of, read_at_most

FOLDER = "mcp"
ALIAS = re.compile(r"[a-z][a-z0-9_-]{0,31}")
MAX_BYTES = 2 << 20

Own = Annotated[Path, AfterValidator(lambda path: path.expanduser())]


def _host(text: str) -> str:
    return str(parse_endpoint(text))


class ServerForm(Wire):
    """One server. `command` starts it, or `url` is its address. `environment` are its variables, and `headers` those of
    a request; `${NAME}` in them stands for a variable of the person's own. `hosts` are all that the server reaches,
    `reads` what it may read besides the workspace. `only`, if set, leaves out all other tools. `tools` are as the
    person reviewed them; `launch` is the digest of how the server was started then."""

    command: tuple[str, ...] = Field(default=(), max_length=64)
    url: str | None = Field(
        default=None, pattern=r"^(https://[^\s/?#@]+|http://localhost:[0-9]{1,5})(/[^\s#]*)?$", max_length=2_000
    )
    headers: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}
    hosts: tuple[Annotated[str, AfterValidator(_host)], ...] = Field(default=(), max_length=32)
    reads: tuple[Own, ...] = Field(default=(), max_length=32)
    effects: Mapping[str, Literal["read", "execute"]] = {}
    only: tuple[str, ...] = ()
    timeout_seconds: int = Field(default=60, ge=1, le=600)
    enabled: bool = True
    tools: tuple[dict[str, JsonValue], ...] = ()
    launch: str = ""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a `command` or a `url`")
        return self

    @property
    def started_by(self) -> str:
        """The digest of how the server is started, and of what it is given."""
        parts = ("command", "url", "headers", "environment", "hosts", "reads")
        return digest({name: value for name, value in self.model_dump(mode="json").items() if name in parts})


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server under the alias that the person gave it; its tools are named by this alias only."""

    alias: str
    form: ServerForm

    @property
    def where(self) -> str:
        """The server's address or command line, for people."""
        return self.form.url or shlex.join(self.form.command)


def servers_file(folder: Path, alias: str) -> Path:
    """Returns the file of a server, below the folder of the person's configuration."""
    return folder / FOLDER / f"{alias}.json"


def server_files(folder: Path) -> Iterator[Path]:
    """Yields the files of all servers, ordered by name."""
    yield from entries_of(folder / FOLDER, lambda path: path.suffix == ".json" and path.is_file())


def read_server(file: Path) -> McpServer:
    """Reads one server. Raises SetupError."""
    if not ALIAS.fullmatch(file.stem):
        raise unusable(
            f"`{file.name}` does not name a server: use lower-case letters, digits, `-` and `_`", "rename it"
        )
    try:
        return McpServer(file.stem, ServerForm.model_validate(json.loads(read_at_most(file, MAX_BYTES))))
    except OSError as error:
        raise unusable(f"`{file}`: {os_reason(error)}", "make it readable, or remove it") from error
    except (ValueError, RecursionError) as error:
        fix = "correct it, or remove it and add the server again"
        raise unusable(f"`{file}`: {first_problem(error)}", fix) from error


def first_problem(error: Exception) -> str:
    """Returns in words what is wrong with a file."""
    if isinstance(error, ValidationError):
        return describe_problems(error)
    return "it is not JSON"


def unusable(why: str, fix: str) -> SetupError:
    """Returns the error of an MCP server that cannot be used."""
    return SetupError("an MCP server cannot be used", why, fix, code=ErrorCode.INVALID_REQUEST)


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def filled(values: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns the values with the person's own variables filled in; a variable that is not set becomes empty."""
    return {name: _VARIABLE.sub(lambda found: environ.get(found[1], ""), value) for name, value in values.items()}
