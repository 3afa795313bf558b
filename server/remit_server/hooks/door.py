"""Answers one event of another agent with one reply (HOK-01). Fails closed: a call that cannot be judged or recorded is
denied, in the agent's own format.
"""

from __future__ import annotations

import logging
import os
import posixpath
import re
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import assert_never

from remit_governance.audit.store import AuditLog
from remit_governance.intents import NO_INTENT, IntentState
from remit_governance.rulebook import Rulebook
from remit_governance.secrets.redaction import Redactor, secret_values
from remit_governance.values import Action, Intent, Verdict
from remit_server.errors import RemitError, SetupError, ToolError
from remit_server.harness.judgement import decide_actions
from remit_server.hooks.formats.agents import Agent
from remit_server.hooks.formats.answers import NOTHING, Reply, reply_to_call, reply_to_failure
from remit_server.hooks.formats.events import (
    HookEvent,
    Prompted,
    SessionMoved,
    ToolCalled,
    ToolEnded,
    Unconcerned,
    Where,
    parse_event,
)
from remit_server.hooks.judging.actions import Place, actions_of, project_root
from remit_server.hooks.judging.deciding import Governed, Ruling, decide
from remit_server.hooks.judging.git_settings import GitSettings
from remit_server.hooks.records.kept_sessions import KeptSession, KeptSessions
from remit_server.hooks.records.record import MOST_FILE, HookRecorder, digest_files
from remit_server.runtime.audit.audit_service import brief_log
from remit_server.runtime.policy.policies import InForce, load_in_force
from remit_server.runtime.settings import Settings
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.trees.known_folders import KnownFolders

INTENT_LINE = re.compile(r"^\s*intent:\s*([A-Za-z_]+)\s*$", re.MULTILINE | re.IGNORECASE)
"""How a person declares an intent in a prompt."""
INTENT_COMMAND = re.compile(r"(?P<remit>/\S*/remit) intent (?P<intent>[A-Z_]+) --session (?P<session>[\w:.-]+)")
"""How an agent declares an intent: by exactly this command line, which a refusal shows to it."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """What the calls of a workspace are judged by and recorded in."""

    settings: Settings
    rulebook: Rulebook
    log: Callable[[], AuditLog]
    redactor: Redactor


Opener = Callable[[Path, Mapping[str, str]], Opened]
"""Opens what the calls of a workspace need, in the environment of the agent's process."""


@dataclass(frozen=True, slots=True)
class Door:
    """Answers the events of one agent: with the environment and folder of its process, and `remit` as it calls it.

    `open_workspace` opens what a workspace's calls need; `folders_of` returns the known folders of
    its tree. `named` is the event's name, for an agent whose events do not carry it.
    """

    agent: Agent
    environment: Mapping[str, str]
    here: str
    remit: str
    open_workspace: Opener
    folders_of: Callable[[Path], KnownFolders] = lambda root: KnownFolders()
    named: str | None = None
    workspace: Path | None = None

    def answer(self, data: bytes) -> Reply:
        """Returns the reply to one event. Never raises: a defect in Remit leads to a deny, too."""
        event: str | None = self.named
        try:
            parsed = parse_event(self.agent, data, self.named)
            event = _event_name(parsed) or event
            return self._answer(parsed)
        except RemitError as error:
            return reply_to_failure(self.agent, event, error)
        except Exception as error:  # whatever broke, the call must not go on
            log.exception("the event could not be answered")
            why = f"something went wrong inside Remit: {type(error).__name__}"
            failed = SetupError("the call could not be judged", why, "see `remit doctor`, and report it")
            return reply_to_failure(self.agent, event, failed)

    def preview(self, event: ToolCalled) -> Ruling:
        """Returns the ruling for a call, and records nothing. Raises RemitError."""
        kept = self._kept(event.where, KeptSessions.of(self.environment))
        opened = self.open_workspace(Path(kept.root), self.environment)
        return self._ruling(event, kept, opened, kept.intent)

    def _answer(self, event: HookEvent) -> Reply:
        if isinstance(event, Unconcerned):
            return NOTHING
        kept, session = self._session(event.where)
        opened = self.open_workspace(Path(kept.root), self.environment)
        intent = kept.intent if kept.intent.active else session.declared_in(kept.root)
        record = HookRecorder(
            self.agent, opened.log(), opened.redactor.for_audit(), opened.rulebook.policy.version, kept.id, intent
        )
        match event:
            case ToolCalled():
                return self._judge(event, kept, opened, record)
            case ToolEnded():
                return self._end(event, kept, opened, record)
            case Prompted():
                return self._prompt(event, kept, session, record)
            case SessionMoved():
                record.moved(event)
                session.prune()
                return NOTHING
            case _:
                assert_never(event)

    def _session(self, where: Where) -> tuple[KeptSession, KeptSessions]:
        sessions = KeptSessions.of(self.environment)
        return sessions.bind(self._kept(where, sessions)), sessions

    def _kept(self, where: Where, sessions: KeptSessions) -> KeptSession:
        """Returns the kept session; for a new one, its root is the project's folder that it begins in."""
        kept = sessions.get(f"{self.agent.name}:{where.session}")
        if kept.root:
            return kept
        named = str(self.workspace) if self.workspace else self.environment.get(self.agent.root or "-")
        root = project_root(named, where.roots, where.cwd or self.here)
        return replace(kept, root=os.path.realpath(root), new=True)

    def _judge(self, called: ToolCalled, kept: KeptSession, opened: Opened, record: HookRecorder) -> Reply:
        declared = self._declared(called, kept, record)
        ruling = self._ruling(called, kept, opened, record.intent) if declared is None else declared
        if called.row.kind != "permission":
            record.call(called, ruling)
        return reply_to_call(self.agent, called.event, called.row, ruling)

    def _ruling(self, called: ToolCalled, kept: KeptSession, opened: Opened, intent: IntentState) -> Ruling:
        required = opened.settings.config.hooks.intent == "required"
        governed = Governed(
            rulebook=opened.rulebook,
            folders=self.folders_of(Path(kept.root)),
            intent_required=required,
            declare=lambda intents: (
                f"declare one of {intents}: run `{self.remit} intent INTENT --session {kept.id}`, "
                "or begin the prompt with a line `intent: INTENT`"
            ),
            allow="to allow it: `remit hook report`",
            git_settings=GitSettings(lambda text: opened.redactor.redact(text) != text, self._home()),
        )
        with Workspace(Path(kept.root)) as workspace:
            cwd = posixpath.join(kept.root, called.where.cwd or ".")
            return decide(called, self.agent.tools, Place(workspace, cwd, intent), governed)

    def _home(self) -> Path | None:
        home = self.environment.get("HOME")
        return Path(home) if home else None

    def _declared(self, called: ToolCalled, kept: KeptSession, record: HookRecorder) -> Ruling | None:
        """Returns a ruling for a call that only declares an intent for its own session, or None for another call."""
        row = self.agent.tools.get(called.tool)
        command = called.arguments.get(row.text[0]) if row is not None and row.kind == "shell" else None
        found = INTENT_COMMAND.fullmatch(command.strip()) if isinstance(command, str) else None
        if found is None or found["remit"] != self.remit or found["session"] != kept.id:
            return None
        if found["intent"] not in Intent.__members__:
            return None
        return Ruling("allow", "hook.declares-intent", "it declares the session's intent and does nothing else")

    def _end(self, ended: ToolEnded, kept: KeptSession, opened: Opened, record: HookRecorder) -> Reply:
        with Workspace(Path(kept.root)) as workspace:
            place = Place(workspace, posixpath.join(kept.root, ended.where.cwd or "."), NO_INTENT)
            try:
                actions = actions_of(ended.tool, self.agent.tools.get(ended.tool), ended.arguments, place)
            except ToolError:
                actions = ()
            written = [action.path for action in actions if action.syscall == "fs.write" and action.path is not None]
            changed = digest_files(written, lambda path: _read_file(workspace, path))
            record.end(ended, changed, elsewhere=_leads_elsewhere(actions, opened, kept.root))
        return NOTHING

    def _prompt(self, event: Prompted, kept: KeptSession, sessions: KeptSessions, record: HookRecorder) -> Reply:
        record.prompt(event)
        found = INTENT_LINE.search(event.prompt)
        intent = Intent.__members__.get(found[1].upper()) if found else None
        if intent is not None:
            state = sessions.declare(kept.id, intent).intent
            record.declared(event.where, state, "prompt")
        elif kept.intent.active is not None:  # an intent holds for one request
            sessions.declare(kept.id, None)
        return NOTHING


def _event_name(event: HookEvent) -> str | None:
    return event.event if isinstance(event, ToolCalled | Prompted | Unconcerned) else None


def _leads_elsewhere(actions: Sequence[Action], opened: Opened, root: str) -> str:
    """Returns the first file of a call that policy denies now that the call has run, or an empty string (HOK-09): a
    link or another folder has taken its place since the call was judged."""
    for action in actions:
        if action.path is None or action.script is not None:
            continue
        if decide_actions(opened.rulebook.policy, [action])[0].verdict is Verdict.DENY:
            there = os.path.realpath(posixpath.join(root, action.path))
            return there.removeprefix(f"{root}/")
    return ""


def _read_file(workspace: Workspace, path: str) -> bytes | None:
    try:
        with open(workspace.open_read(workspace.resolve(path)), "rb") as file:  # noqa: PTH123  a descriptor
            data = file.read(MOST_FILE + 1)
    except (RemitError, OSError):
        return None
    return data if len(data) <= MOST_FILE else None


@contextmanager
def opened_once() -> Generator[Opener]:
    """Yields a function that opens a workspace for one event; closes the workspace afterwards."""
    with ExitStack() as stack:

        def opened(root: Path, environment: Mapping[str, str]) -> Opened:
            settings = Settings.from_environment(root, environment)
            in_force: InForce = load_in_force(settings, hooks=True)
            stack.callback(in_force.close)

            def log() -> AuditLog:
                return stack.enter_context(brief_log(settings, in_force.policy.version))

            return opened_with(settings, in_force, log, environment)

        yield opened


def opened_with(
    settings: Settings, in_force: InForce, log: Callable[[], AuditLog], environment: Mapping[str, str]
) -> Opened:
    """Returns what the calls of a workspace need, made of these parts."""
    rulebook = Rulebook(in_force.policy, in_force.permissions, here=in_force.here)
    redactor = Redactor(secrets=secret_values(environment), in_force=rulebook)
    return Opened(settings, rulebook, log, redactor)


def remit_program() -> str:
    """Returns the path by which an agent's shell calls this very Remit."""
    return str(Path(sys.executable).with_name("remit"))
