"""The manifest of a plugin: `plugin.yaml` (PLG-01).

A plugin's files are read all or not at all; a digest of them tells one plugin from another (PLG-02).
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, model_validator

from remit_governance.canonical import digest
from remit_governance.errors import PolicyError
from remit_governance.hosts import parse_endpoint
from remit_governance.policy.language.parse_form import parse_form
from remit_governance.values import CALLER_TAGS
from remit_governance.visible import without_hidden
from remit_server.contract import ErrorCode, Wire
from remit_server.errors import SetupError, os_reason
from remit_server.tools.external.declared import one_line, schema_of, unread_keys

MANIFEST = "plugin.yaml"
API_VERSIONS = (1, 2)
"""The versions of the protocol that are supported: the previous and the current one. Version 2 adds patches."""

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_TOOL = r"^[a-z][a-z0-9_.-]{0,47}$"

Capability = Literal["fs.read", "fs.write", "process.exec", "net.connect"]
CAPABILITIES: Mapping[Capability, str] = {
    "fs.read": "read the project",
    "fs.write": "propose changes to the project",
    "process.exec": "start other programs",
    "net.connect": "reach the hosts that it names",
}
"""What a plugin may need, and a description of each for people."""

_ALSO = {"shell.run": "process.exec"}
Kind = Literal["tools", "rules"]
Runtime = Literal["python", "node", "deno", "program"]
Output = Literal["full", "patch"]


def _host(text: str) -> str:
    return str(parse_endpoint(text))


def _entry(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or str(path) != text:
        raise ValueError("it is not the path of a file in the plugin's folder")
    return text


def _place(path: Path) -> Path:
    place = path.expanduser()
    if not place.is_absolute() or place == Path(place.anchor) or ".." in place.parts:
        raise ValueError("give an absolute path, or one from `~`, of a folder or file below the root")
    return place


Capabilities = Annotated[
    tuple[Annotated[Capability, BeforeValidator(lambda word: _ALSO.get(str(word), word))], ...], Field(max_length=8)
]
Tag = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


class PluginToolForm(Wire):
    """One tool. `output` is `full` if the tool answers with a result and with what it wrote in its sandbox, or `patch`
    if it answers with a patch. `capabilities` are those of the plugin's that the tool needs; None means all of them."""

    name: str = Field(pattern=_TOOL)
    description: str = Field(min_length=1, max_length=4_000)
    parameters: dict[str, JsonValue] = Field(default={})
    output: Output = "full"
    capabilities: Capabilities | None = None


class Manifest(Wire):
    """`plugin.yaml`. `kind` says what the plugin brings: tools, or one rule, whose file is `entry`. `hosts` are all
    that the plugin reaches, `reads` what it may read besides the project and its own folder."""

    name: str = Field(pattern=rf"^{NAME.pattern}$")
    version: str = Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$")
    description: str = Field(min_length=1, max_length=1_000)
    author: str = Field(default="", max_length=200)
    kind: Kind = "tools"
    runtime: Runtime
    entry: Annotated[str, Field(min_length=1, max_length=300), AfterValidator(_entry)]
    sandbox_template: Literal["code-executor", "integration-test"] = "code-executor"
    required_capabilities: Capabilities = ()
    tags: tuple[Tag, ...] = Field(default=(), max_length=16)
    hosts: tuple[Annotated[str, Field(max_length=300), AfterValidator(_host)], ...] = Field(default=(), max_length=16)
    reads: tuple[Annotated[Path, AfterValidator(_place)], ...] = Field(default=(), max_length=16)
    timeout_seconds: int = Field(default=60, ge=1, le=600)
    tools: tuple[PluginToolForm, ...] = Field(default=(), max_length=50)
    min_api_version: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.min_api_version > API_VERSIONS[1]:
            raise ValueError(f"it needs version {self.min_api_version} of the API, and this Remit speaks {spoken()}")
        if bool(self.tools) is (self.kind == "rules"):
            raise ValueError("a plugin of `kind: tools` has `tools`, and one of `kind: rules` has none")
        if self.kind == "rules" and (self.runtime != "python" or self.required_capabilities or self.reads):
            raise ValueError("a rule is a Python file, and may neither require nor read anything")
        if bool(self.hosts) != ("net.connect" in self.required_capabilities):
            raise ValueError("`hosts` and the capability `net.connect` go together: it names one without the other")
        if self.hosts and self.sandbox_template != "integration-test":
            raise ValueError("a plugin that reaches hosts needs `sandbox_template: integration-test`")
        if len({tool.name for tool in self.tools}) < len(self.tools):
            raise ValueError("two of its tools have the same name")
        for tool in self.tools:
            self._fits_tool(tool)
        return self

    def _fits_tool(self, tool: PluginToolForm) -> None:
        more = set(tool.capabilities or ()) - set(self.required_capabilities)
        if more:
            raise ValueError(f"`{tool.name}` needs {', '.join(sorted(more))}, which the plugin does not require")
        if tool.output == "patch" and not {"fs.read", "fs.write"} <= set(self.needs(tool)):
            raise ValueError(f"`{tool.name}` answers with a patch, which needs `fs.read` and `fs.write`")
        schema_of(tool.parameters)

    def needs(self, tool: PluginToolForm) -> tuple[Capability, ...]:
        """Returns the capabilities that one of the plugin's tools needs."""
        return self.required_capabilities if tool.capabilities is None else tool.capabilities

    @property
    def own_tags(self) -> tuple[str, ...]:
        """The plugin's tags, without tags that name the caller, because only Remit sets those."""
        return tuple(tag for tag in self.tags if tag not in CALLER_TAGS)

    @property
    def unread(self) -> tuple[str, ...]:
        """The schema keywords in the tools' parameters that Remit does not check, each with its tool."""
        return tuple(f"`{key}` of {tool.name}" for tool in self.tools for key in sorted(unread_keys(tool.parameters)))

    @property
    def words(self) -> str:
        """The plugin's description, in one line."""
        return one_line(self.description)


def spoken() -> str:
    """Returns the supported versions of the API in words."""
    return " and ".join(map(str, API_VERSIONS))


def parse_manifest(place: str, text: str) -> Manifest:
    """Returns the manifest in `text`. Raises SetupError with the line of a mistake."""
    try:
        return parse_form(place, text, Manifest, {"tools": PluginToolForm})[1]
    except PolicyError as error:
        raise unusable(error.why, error.fix) from error


def unusable(why: str, fix: str) -> SetupError:
    """Returns the error of a plugin that cannot be used."""
    return SetupError("a plugin cannot be used", why, fix, code=ErrorCode.INVALID_REQUEST)


MAX_FILES = 500
MAX_BYTES = 8 << 20
_DEEPEST = 12
_LEFT_OUT = frozenset({"__pycache__", "node_modules"})


@dataclass(frozen=True, slots=True)
class PluginFile:
    """One file of a plugin."""

    data: bytes
    executable: bool

    @property
    def digest(self) -> str:
        """The digest of the content, with a note if the file is executable."""
        return f"{hashlib.sha256(self.data).hexdigest()}{' executable' if self.executable else ''}"


Files = Mapping[str, PluginFile]


def read_files(folder: Path, *, source: bool = False) -> Files:
    """Returns all files below a folder, by their relative paths. With `source`, leaves out hidden files and what
    running the plugin leaves behind. Raises SetupError."""
    found: dict[str, PluginFile] = {}
    left = MAX_BYTES
    for name, path in _walk(folder, "", source=source):
        data, executable = _read(path, left)
        left -= len(data)
        found[name] = PluginFile(data, executable)
        if len(found) > MAX_FILES or left < 0:
            why = f"`{folder}` holds more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB"
            raise unusable(why, "leave out what it does not need")
    return found


def digest_of(files: Files) -> str:
    """Returns the digest of a plugin: of its manifest and every other file."""
    return digest({name: file.digest for name, file in files.items()})


def manifest_of(folder: Path, files: Files) -> Manifest:
    """Returns the manifest of a plugin. Raises SetupError with the place of a mistake."""
    place = folder / MANIFEST
    if MANIFEST not in files:
        raise unusable(f"there is no `{place}`", "write one: docs/plugins.md says how")
    try:
        text = files[MANIFEST].data.decode()
    except UnicodeDecodeError as error:
        raise unusable(f"`{place}` is not UTF-8", "save it as UTF-8") from error
    manifest = parse_manifest(str(place), text)
    if manifest.entry not in files:
        raise unusable(f"`{place}` names `{manifest.entry}`, which does not exist", "correct `entry`")
    if manifest.runtime == "program" and not files[manifest.entry].executable:
        raise unusable(f"`{folder / manifest.entry}` is not an executable program", "`chmod +x` it")
    return manifest


def _walk(folder: Path, above: str, *, source: bool, depth: int = 0) -> Iterator[tuple[str, Path]]:
    if depth > _DEEPEST:
        raise unusable(f"`{folder}` has folders nested deeper than {_DEEPEST}", "leave out what it does not need")
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise unusable(f"`{folder}`: {os_reason(error)}", "name a folder that can be read") from error
    for entry in listed:
        if source and (entry.name.startswith(".") or entry.name in _LEFT_OUT):
            continue
        name, path = f"{above}{entry.name}", Path(entry.path)
        if without_hidden(name) != name or not name.isprintable():
            raise unusable(f"a file in `{folder}` has a name that cannot be shown", "rename it")
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(path, f"{name}/", source=source, depth=depth + 1)
        else:
            yield name, path


def _read(path: Path, most: int) -> tuple[bytes, bool]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise unusable(f"`{path}` is not a file", "remove it: a plugin consists of files only")
            return file.read(most + 1), bool(status.st_mode & 0o100)
    except OSError as error:
        why = "it is a link" if path.is_symlink() else os_reason(error)
        raise unusable(f"`{path}`: {why}", "remove it, or make it a file that can be read") from error
