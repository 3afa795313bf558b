"""Audits what another agent does (HOK-04): each call before it runs, with the ruling, and how it ended.

The second record of a call that may run is written when the agent reports its end, in a process of its own, or never.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from pydantic import JsonValue

from remit_governance.audit.log.unfinished_calls import ELSEWHERE, LEADS_TO, TOLD
from remit_governance.audit.record import AuditEvent, AuditKind
from remit_governance.audit.store import AuditLog
from remit_governance.canonical import digest, digest_bytes
from remit_governance.intents import IntentState
from remit_governance.policy.decision.recorded import record_judgement
from remit_governance.secrets.redaction import Redactor, map_strings
from remit_governance.values import Action, Decision
from remit_governance.visible import visible
from remit_server.contract import AnsweredBy
from remit_server.errors import SetupError
from remit_server.harness.record.audit_events import UNJUDGED, Worded, append, summarise, summarise_arguments
from remit_server.hooks.formats.agents import Agent
from remit_server.hooks.formats.answers import word_told
from remit_server.hooks.formats.events import Prompted, SessionMoved, ToolCalled, ToolEnded, Where
from remit_server.hooks.judging.deciding import Ruling

MOST_FILE = 4 << 20
"""Size in bytes up to which the digest of a changed file is taken."""
MOST_TAIL = 400
_EXIT_CODE = re.compile(r"<[^<>\n]* with exit code (-?\d{1,9})>\s*\Z|^Exit Code: (-?\d{1,9})$", re.MULTILINE)
"""Matches the exit code at the end of the text that Copilot and Gemini CLI make of a command's output."""


@dataclass(frozen=True, slots=True)
class HookRecorder:
    """Writes the records of an agent's session into the log, redacted."""

    agent: Agent
    log: AuditLog
    redactor: Redactor
    policy_version: str
    session: str
    intent: IntentState = field(default_factory=IntentState)

    def call(self, called: ToolCalled, ruling: Ruling) -> None:
        """Records a call before it runs, and if it is denied also its outcome. Raises SetupError."""
        told = word_told(self.agent, called.row, ruling)
        denied = told == "deny"
        reason = self._summary(f"{ruling.rule}: {ruling.reason}") if denied else None
        kept = record_judgement(self._actions(ruling), _decision(ruling), self.redactor.redact)
        event = replace(
            self._of_call(called.where, called.call, called.tool, called.arguments, ruling),
            kind=AuditKind.TOOL_INTENT,
            input_summary=self._arguments(called.arguments),
            actions=kept.actions,
            reasons=kept.reasons,
            deny_reason=reason,
            denied_by=_denied_by(ruling) if denied else None,
            metadata={**kept.notes, **self._door, "ruling": ruling.word, TOLD: told},
        )
        self._write(event)
        if denied:
            self._write(
                replace(
                    event,
                    kind=AuditKind.TOOL_OUTCOME,
                    input_summary="",
                    actions=None,
                    reasons=None,
                    output_summary=reason,
                    metadata=self._door,
                )
            )

    def end(self, ended: ToolEnded, changed: Mapping[str, str], elsewhere: str = "") -> None:
        """Records how a call ended, and the files it `changed`, each with its digest; `elsewhere` is a file of the call
        that policy denies now. Raises SetupError."""
        text = ended.failed if ended.failed is not None else _text(ended.result)
        summary = self._summary(text)
        files = ", ".join(f"{visible(path, 'show')} {of}" for path, of in changed.items())
        self._write(
            replace(
                self._of_call(ended.where, ended.call, ended.tool, ended.arguments, None),
                kind=AuditKind.TOOL_OUTCOME,
                result_digest=digest(text),
                output_summary=summary,
                exit_code=exit_code_of(ended.result),
                deny_reason=summary if ended.failed is not None else None,
                metadata={
                    **self._door,
                    **({"changed": self._summary(files)} if files else {}),
                    **({LEADS_TO: self._summary(visible(elsewhere, "show"))} if elsewhere else {}),
                },
            )
        )

    def prompt(self, prompted: Prompted) -> None:
        """Records what the person said, which names the next part of the session. Raises SetupError."""
        self._write(self._of_session(prompted.where, AuditKind.RUN_STARTED, prompted.prompt, {}))

    def moved(self, moved: SessionMoved) -> None:
        """Records that the session began or ended. Raises SetupError."""
        kind = AuditKind.RUN_STARTED if moved.to == "start" else AuditKind.RUN_COMPLETED
        metadata = {"session": moved.to, **({"why": self._summary(moved.why)} if moved.why else {})}
        self._write(self._of_session(moved.where, kind, "", metadata))

    def declared(self, where: Where, state: IntentState, by: str) -> None:
        """Records that an intent was declared. Raises SetupError."""
        event = self._of_session(where, AuditKind.INTENT_SELECTED, "", {"by": by})
        self._write(replace(event, intent=state.active))

    @property
    def _door(self) -> dict[str, str]:
        return {ELSEWHERE: self.agent.name}

    def _actions(self, ruling: Ruling) -> Sequence[Action]:
        return ruling.judgement.actions if ruling.judgement else ()

    def _of_call(
        self, where: Where, call: str, tool: str, arguments: Mapping[str, JsonValue], ruling: Ruling | None
    ) -> AuditEvent:
        judged = UNJUDGED if ruling is None or ruling.judgement is None else Worded.of(ruling.judgement)
        return AuditEvent(
            kind=AuditKind.TOOL_INTENT,
            caller="agent",
            session_id=self.session,
            turn_id=where.turn or None,
            tool_call_id=self.redactor.redact(visible(call, "show")),
            tool_name=self.redactor.redact(visible(tool, "show")),
            syscall_type=judged.syscall,
            intent=self.intent.active,
            policy_decision=None if ruling is None else judged.word or "refused",
            policy_rule_name=judged.rule if ruling is None or judged.word else ruling.rule,
            policy_rule_at=judged.rule_at,
            policy_version=self.policy_version,
            args_digest=digest(_clean_json(arguments)),
        )

    def _of_session(self, where: Where, kind: AuditKind, text: str, metadata: Mapping[str, str]) -> AuditEvent:
        return AuditEvent(
            kind,
            caller="agent",
            session_id=self.session,
            turn_id=where.turn or None,
            intent=self.intent.active,
            policy_version=self.policy_version,
            input_summary=self._summary(text),
            metadata={**self._door, **metadata},
        )

    def _arguments(self, arguments: Mapping[str, JsonValue]) -> str:
        clean = self.redactor.redact_json(cast("dict[str, JsonValue]", _clean_json(arguments)))
        return summarise_arguments(clean, self.redactor)

    def _summary(self, text: str) -> str:
        return summarise(text, self.redactor)

    def _write(self, event: AuditEvent) -> None:
        try:
            append(self.log, event, SetupError)
        except (ValueError, TypeError) as error:
            raise SetupError("the call cannot be audited", str(error), "call it with other arguments") from error


def _decision(ruling: Ruling | None) -> Decision | None:
    return ruling.judgement.settled if ruling is not None and ruling.judgement is not None else None


def _denied_by(ruling: Ruling) -> AnsweredBy | None:
    """Returns what denied a call that policy itself did not deny: a standing answer, or that the agent cannot ask."""
    if ruling.judgement is not None and ruling.judgement.denied_by_person:
        return "standing_answer"
    return "unavailable" if ruling.word == "ask" else None


def _clean_json(arguments: Mapping[str, JsonValue]) -> JsonValue:
    """Returns the arguments with characters that UTF-8 cannot encode spelled out."""
    return cast("JsonValue", map_strings(dict(arguments), _sayable))


def _sayable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _text(result: JsonValue) -> str:
    return result if isinstance(result, str) else json.dumps(result)


def exit_code_of(result: JsonValue) -> int | None:
    """Returns the exit code that a result names, under the names that agents have for it."""
    if not isinstance(result, dict):
        return None
    for name in ("exit_code", "exitCode", "code", "status"):
        if type(value := result.get(name)) is int and -(2**31) <= value < 2**31:
            return value
    texts = (value for name in ("textResultForLlm", "llmContent") if isinstance(value := result.get(name), str))
    found = [code for text in texts for code in _EXIT_CODE.findall(text[-MOST_TAIL:])]
    return int(found[-1][0] or found[-1][1]) if found else None


def digest_files(paths: Sequence[str], read: Callable[[str], bytes | None]) -> dict[str, str]:
    """Returns the digest of each file as it is now, and `gone` for what cannot be read."""
    found = {path: read(path) for path in dict.fromkeys(paths)}
    return {path: "gone" if data is None else digest_bytes(data) for path, data in found.items()}
