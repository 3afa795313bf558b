"""Puts a runtime together, the one place where every part meets every other (AGT-06), and has what all runtimes of one
server share (MOD-01, SCH-01).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.errors import AuditError
from remit_governance.secrets.redaction import Redactor, secret_values
from remit_server.agent.loop import Agent
from remit_server.errors import SetupError
from remit_server.harness.approval.desk import ApprovalDesk
from remit_server.harness.background.processes import Processes
from remit_server.harness.context import Parts
from remit_server.harness.dispatcher import Dispatcher
from remit_server.models.choose import choose_provider, is_on_this_machine
from remit_server.models.ports import ModelProvider
from remit_server.models.recorded.recorder import Recorder
from remit_server.models.shared import SharedModels
from remit_server.runtime.audit.audit_service import ServerRecord, audit_rules, open_log
from remit_server.runtime.chosen_models import ChosenModels
from remit_server.runtime.live_settings import LiveSettings
from remit_server.runtime.log_file import open_log_file
from remit_server.runtime.own_files.external_tools import ExternalTools
from remit_server.runtime.own_files.folder_record import INSTRUCTIONS, as_it_holds, brought, left_out, record_workspace
from remit_server.runtime.own_files.skill_folders import SkillFolders, person_folders, policy_reads
from remit_server.runtime.policy.live_policy import LivePolicy
from remit_server.runtime.policy.policies import load_in_force
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.sandbox.choose import choose_sandbox
from remit_server.sandbox.scheduled import Scheduled, Slots
from remit_server.sandbox.server_identity import clear_all_leftovers
from remit_server.sessions.folder import SessionFolder
from remit_server.telemetry.live import Telemetry
from remit_server.workspace.code import CodeIntelligence, NoEditor
from remit_server.workspace.content.files import collect_leftovers
from remit_server.workspace.merges.merge_log import MergeLog
from remit_server.workspace.merges.recovery import recover
from remit_server.workspace.paths.workspace_path import Workspace
from remit_server.workspace.ports import Documents


@dataclass(frozen=True, slots=True)
class Shared:
    """What runtimes share: the models, and the schedule in which commands of all sessions wait for a sandbox."""

    models: SharedModels = field(default_factory=SharedModels)
    slots: Slots = field(default_factory=Slots)


log = logging.getLogger(__name__)


async def open_runtime(
    settings: Settings,
    documents: Documents,
    code: CodeIntelligence | None = None,
    shared: Shared | None = None,
    read_again: Callable[[], Settings] | None = None,
) -> Runtime:
    """Open everything that a workspace needs, but load nothing of the model yet; `shared` is what a server's
    workspaces share.

    `read_again` reads the configuration for `Runtime.reload`; without it the settings stay.

    Raises SetupError: a broken policy file, an audit log that cannot be written, a workspace that cannot be opened.
    """
    live = LiveSettings(settings, read_again or (lambda: settings))
    runtime = await asyncio.to_thread(_open, live, documents, code or NoEditor(), shared or Shared())
    await runtime.tools.start()
    return runtime


def _open(configured: LiveSettings, documents: Documents, code: CodeIntelligence, shared: Shared) -> Runtime:
    """Returns the runtime. Everything that was opened is closed again, last first, when the runtime closes or if
    something cannot be opened."""
    settings = configured.now
    with ExitStack() as opened:
        record_workspace(settings.workspace, settings.state)
        clear_all_leftovers(settings.state)
        loaded = load_in_force(settings)
        opened.callback(loaded.close)
        maintenance = open_log(settings)
        opened.callback(_last, maintenance.close)
        audit = maintenance.log
        server = ServerRecord(audit, trusted=bool(settings.trusted))
        server.start(loaded.policy.version)
        live = LivePolicy.start(settings, loaded, audit)
        opened.callback(_last, lambda: server.end(live.rulebook.policy.version))
        opened.callback(live.close)
        workspace = Workspace(settings.workspace, settings.opened_as)
        opened.callback(workspace.close)
        collect_leftovers(workspace)
        SessionFolder(settings.session_folder).prune(settings.config.sessions.days, settings.config.sessions.count)
        merges = MergeLog(settings.state / "merges")
        recovered = recover_merges(workspace, merges, audit, loaded.policy.version)
        redactor = Redactor(secrets=secret_values(os.environ), in_force=live.rulebook)
        log_file = open_log_file(settings.state, settings.config.log, redactor.redact)
        opened.callback(log_file.close)
        telemetry = Telemetry(settings.config.telemetry.endpoint)
        opened.callback(telemetry.close)
        folder = object()
        shared.slots.hold(folder, settings.at_once)
        opened.callback(shared.slots.release, folder)
        desk = ApprovalDesk(audit, settings.config.limits.approval_timeout_s, live.keep)
        tools = ExternalTools(
            settings.person_policy.parent,
            Scheduled(choose_sandbox(settings.workspace), shared.slots.runner),
            SkillFolders(
                person_folders(settings.person_policy.parent),
                workspace,
                trusts=lambda: bool(as_it_holds(configured.now.trusted, settings.workspace)),
                may_read=policy_reads(lambda: live.rulebook.policy),
                version=lambda: live.rulebook.policy.version,
            ),
        )
        parts = Parts(
            tools=tools,
            rulebook=live.rulebook,
            workspace=workspace,
            documents=documents,
            merges=merges,
            sandbox=tools.sandbox,
            desk=desk,
            audit=audit,
            redactor=redactor,
            code=code,
            workflow=lambda: configured.now.workflow,
            command_limit_s=lambda: configured.now.config.limits.command_timeout_s,
            coverage_file=settings.coverage_file,
            processes=Processes(lambda: configured.now.config.limits.background),
        )
        dispatcher = Dispatcher(parts)
        chosen = ChosenModels(settings.config.model.name, model_opener(settings, redactor, shared.models))
        agent = Agent(chosen.get(), dispatcher, settings.config.limits.max_steps, settings.generation)
        close = opened.pop_all().close

    def put(new: Settings) -> None:
        telemetry.change(new.config.telemetry.endpoint)
        if opens_another(configured.now, new):
            runtime.retire(chosen.change(new.config.model.name, model_opener(new, redactor, shared.models)))
        runtime.put_settings(new)
        desk.ttl_s = new.config.limits.approval_timeout_s
        log_file.set_level(new.config.log.level)
        maintenance.rules = audit_rules(new)
        shared.slots.hold(folder, new.at_once)

    configured.put = put
    unread = _unread(settings.workspace) if settings.trusted is None else ()
    told = (*settings.unknown, *unread, *(f"your policy: {warning}" for warning in loaded.policy.warnings), *recovered)
    runtime = Runtime(
        configured,
        agent,
        dispatcher,
        desk,
        live,
        models=chosen,
        telemetry=telemetry,
        close=close,
        tools=tools,
        warnings=lambda: (*told, *tools.at_start, *maintenance.warnings),
        audit_warnings=lambda: maintenance.warnings,
    )
    return runtime


def _unread(root: Path) -> tuple[str, ...]:
    """Returns a warning of files that do not count because nobody was asked; instructions are warned of when read."""
    names = [name for name in brought(root) if name != INSTRUCTIONS]
    return (left_out(names),) if names else ()


def _last(write: Callable[[], object]) -> None:
    """Writes the last audit records; a failure, as of a full disk, is only logged, so that the rest is closed."""
    try:
        write()
    except (AuditError, SetupError) as error:
        log.warning("the last records of the audit log could not be written: %s: %s", error.what, error.why)


def opens_another(before: Settings, new: Settings) -> bool:
    """Returns whether the new settings open the model in another way than before."""
    old, now = before.config.model, new.config.model
    return (now.name, now.record, new.engine) != (old.name, old.record, before.engine)


def model_opener(settings: Settings, redactor: Redactor, models: SharedModels) -> Callable[[str], ModelProvider]:
    """Returns a function that opens models as these settings say."""
    return lambda reference: open_model(reference, settings, redactor, models)


def open_model(reference: str, settings: Settings, redactor: Redactor, models: SharedModels) -> ModelProvider:
    """Returns a model, with its traffic recorded if the settings ask for it. Raises SetupError.

    Folders share only a model that takes memory here: what goes to a server is redacted by the rules of its own folder.
    """

    def choose() -> ModelProvider:
        return choose_provider(reference, redactor.redact, settings.engine)

    shared = is_on_this_machine(reference)
    model = models.borrow((reference, settings.engine), choose) if shared else choose()
    record = settings.config.model.record
    return model if record is None else Recorder(model, record, redactor.redact)


def recover_merges(workspace: Workspace, merges: MergeLog, audit: AuditLog, policy_version: str) -> tuple[str, ...]:
    """Finish or report merges that a crash cut short; audits each, and returns the messages for the person."""
    found = recover(workspace, merges, policy_version)
    for each in found:
        kind = AuditKind.MERGE_REJECTED if each.left else AuditKind.MERGE_APPROVED
        metadata = {"finished": ", ".join(each.finished), "left": ", ".join(each.left), "why": each.why}
        audit.write(AuditEvent(kind, policy_version=policy_version, metadata={k: v for k, v in metadata.items() if v}))
    return tuple(each.message for each in found if each.message)
