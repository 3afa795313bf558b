"""The rows of plugins' tools: each call runs the plugin in its own sandbox, like a command (PLG-04)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from pydantic import BaseModel, JsonValue

from remit_governance.hosts import parse_endpoint
from remit_governance.secrets.cutting import shorten
from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.sandbox.bubblewrap.layer import LayerChange
from remit_server.sandbox.ports import CommandOutput, CommandSpec
from remit_server.sandbox.visible.environment import command_environment
from remit_server.tools.edit.patch.changes import changes_of, must_go_together
from remit_server.tools.edit.patch.parse import parse_diff
from remit_server.tools.external.declared import one_line, schema_of
from remit_server.tools.external.row import as_json, own_outcome, own_row
from remit_server.tools.plugins.conversation import Broken, Conversation, Unheld, not_called
from remit_server.tools.plugins.manifest import Manifest, PluginToolForm
from remit_server.tools.plugins.record import CallablePlugin
from remit_server.tools.plugins.wire import PluginFailure, PluginResult
from remit_server.tools.run.command_parts import failure_of, with_hosts
from remit_server.tools.spec import AnyTool, CommandPlan, FileChange, Outcome, Plan, ToolContext
from remit_server.workspace.content.files import is_executable

MAX_NAME = 64
SDK = Path(__file__).parent / "sdk"
"""The folder of the module that Python plugins import. Every Python plugin has it on its path."""


def rows_of(plugin: CallablePlugin) -> Iterator[AnyTool | str]:
    """Yields a row for each tool of a plugin, or a text that says why the tool has no row."""
    for form in plugin.manifest.tools:
        try:
            yield _row(plugin, form, name_of(plugin.manifest.name, form.name))
        except ValueError as error:
            yield f"`{form.name}` of the plugin `{plugin.manifest.name}` is left out: {error}"


def name_of(plugin: str, tool: str) -> str:
    """Returns the name by which a tool is called in Remit. Raises ValueError if the name is too long."""
    name = f"{plugin}_{tool}".translate(str.maketrans(".-", "__"))
    if len(name) > MAX_NAME:
        raise ValueError(f"its full name `{shorten(name, 100)}` has more than {MAX_NAME} characters")
    return name


def command_of(manifest: Manifest, folder: Path) -> tuple[str, ...]:
    """Returns the command line that starts a plugin. Raises ToolError if its interpreter is missing."""
    entry = str(folder / manifest.entry)
    words = {"python": ("python3", "-B"), "node": ("node",), "deno": ("deno", "run", "--allow-all"), "program": ()}
    program, *options = (*words[manifest.runtime], entry)
    if manifest.runtime == "program":
        return (entry,)
    found = shutil.which(program, path=command_environment(os.environ)["PATH"])
    if found is None:
        raise ToolError(
            f"cannot run the plugin `{manifest.name}`",
            f"there is no `{program}` that a sandbox can see",
            "ask the person to install it in one of the system's folders",
            code=ErrorCode.TOOL_UNAVAILABLE,
        )
    return (found, *options)


def _row(plugin: CallablePlugin, form: PluginToolForm, name: str) -> AnyTool:
    manifest = plugin.manifest
    effect = Effect.READ if form.name in plugin.record.reads_only else Effect.EXECUTE
    needs = frozenset(manifest.needs(form))
    endpoints = tuple(map(parse_endpoint, manifest.hosts)) if "net.connect" in needs else ()

    async def prepare(arguments: BaseModel, ctx: ToolContext) -> Plan:
        if (why := plugin.changed()) is not None:
            raise not_called(name, Unheld(why, stale=True))
        given = cast("JsonValue", arguments.model_dump(mode="json"))
        called: dict[str, JsonValue] = {"tool": form.name, "arguments": given, "output": form.output}
        patches = form.output == "patch" and effect is Effect.EXECUTE
        talk = Conversation(name, manifest, called, patches, plugin.changed, plugin.greeted)
        made = _Answer(plugin, name, talk, ctx)
        seconds = min(manifest.timeout_seconds, ctx.command_limit_s)
        root = ctx.workspace.root if "fs.read" in needs else plugin.folder
        spec = CommandSpec(
            argv=command_of(manifest, plugin.folder),
            cwd=root,
            workspace=root,
            environment={**command_environment(os.environ), "PYTHONPATH": str(SDK)},
            timeout_s=float(seconds),
            readable=(plugin.folder, SDK, *manifest.reads),
            writes=effect is Effect.EXECUTE and "fs.write" in needs and form.output == "full",
            template=manifest.sandbox_template,
            channel=talk,
            alone="process.exec" not in needs,
        )
        display = f"{name} {as_json(arguments)}"
        return CommandPlan(
            with_hosts(spec, endpoints), display=display, render=made.render, streams=True, amend=made.amend
        )

    command = (str(plugin.folder / manifest.entry), form.name)
    summary, parameters = one_line(form.description), schema_of(form.parameters)
    return own_row(name, summary, effect, parameters=parameters, command=command, endpoints=endpoints, prepare=prepare)


@dataclass(slots=True)
class _Answer:
    """The answer to one call, once the plugin has ended."""

    plugin: CallablePlugin
    name: str
    talk: Conversation
    ctx: ToolContext
    misfit: ToolError | None = None

    def amend(self, output: CommandOutput) -> CommandOutput:
        """Returns the output with the changes of the plugin's patch, if there is one. A failed call changes nothing."""
        came = self.talk.came
        if isinstance(came, Broken):
            self.plugin.broke(came.why)
        if not isinstance(came, PluginResult) or output.exit_code != 0:
            return replace(output, left=())
        if came.patch is None:
            return output
        try:
            return replace(output, left=tuple(map(_as_left, _patched(came.patch, self.ctx))))
        except ToolError as error:
            self.misfit = error
            return replace(output, left=())

    def render(self, output: CommandOutput) -> Outcome:
        """Returns the outcome of the call."""
        came = self.talk.came
        failure = self.misfit or self._failure(output)
        text = self.ctx.redact(_text_of(came.output) if isinstance(came, PluginResult) else "")
        data: dict[str, JsonValue] = {"plugin": self.plugin.manifest.name}
        if isinstance(came, Broken):
            data["breach"] = came.kind
        if isinstance(came, PluginFailure):
            data["code"] = came.code
        return own_outcome(self.name, text, failure, data, output.exit_code)

    def _failure(self, output: CommandOutput) -> ToolError | None:
        came = self.talk.came
        said = self.ctx.redact(output.stderr.decode(errors="replace")).strip()[-1_000:]
        if isinstance(came, Unheld):
            return not_called(self.name, came)
        if isinstance(came, Broken):
            why = f"it broke the protocol: it sent {came.why}; the person has to enable it again"
        elif isinstance(came, PluginFailure):
            why = shorten(self.ctx.redact(came.message), 2_000)
        elif (stopped := failure_of(output, self._too_long())) is not None:
            return stopped
        elif came is None or output.exit_code:
            ended = "it ended without an answer" if came is None else f"it ended with code {output.exit_code}"
            why = f"{ended}, and said: {said}" if said else ended
        else:
            return None
        fix = "correct its arguments, or go on without it"
        return ToolError(f"`{self.name}` failed", why, fix, code=ErrorCode.COMMAND_FAILED)

    def _too_long(self) -> ToolError:
        return ToolError(
            f"`{self.name}` was stopped",
            f"it took {self.plugin.manifest.timeout_seconds} s, its time limit, or what the person allows a command",
            "ask it for less, or go on without it",
            code=ErrorCode.TIMED_OUT,
        )


def _patched(patch: str, ctx: ToolContext) -> list[FileChange]:
    """Returns the changes that a patch makes to the present files. Raises ToolError if the patch does not fit."""
    changes: list[FileChange] = []
    for each in parse_diff(patch):
        for path in filter(None, (each.old, each.new)):
            # Check this first, because the message about a patch that does not fit quotes the file.
            if not ctx.permits("fs.read", ctx.resolve(path).relative):
                raise ToolError(
                    "the patch was not applied",
                    f"it changes `{path}`, which may not be read",
                    "go on without it",
                    code=ErrorCode.DENIED,
                )
        changes += changes_of(each, ctx)[0]
    must_go_together(changes)
    return [part for change in changes for part in _apart(change)]


def _apart(change: FileChange) -> Iterator[FileChange]:
    """Yields a change, with a move split into a removed and a new file, because a sandbox layer has no moves."""
    if change.moved_from is None or change.before is None:
        yield change
        return
    yield FileChange(change.moved_from, change.before, None)
    runs = is_executable(change.before.mode)
    yield FileChange(change.path, None, change.before.data, executable=change.executable or runs)


def _as_left(change: FileChange) -> LayerChange:
    was = change.before is not None and is_executable(change.before.mode)
    runs = was if change.executable is None else change.executable
    return LayerChange(change.path.relative, change.after, executable=runs)


def _text_of(output: JsonValue) -> str:
    if output is None:
        return ""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=1)
