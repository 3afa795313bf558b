"""What a client can choose for a session: its mode, its model, and when the person is asked about edits. The modes are
also offered in the older way (TRN-16)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from acp import schema
from acp.exceptions import RequestError

from remit_governance.workflow.states import Mode
from remit_server.chat.commands import COMMANDS
from remit_server.contract import EditsAsked
from remit_server.errors import RemitError
from remit_server.models.check import why_not_there
from remit_server.models.finding import find_choices
from remit_server.runtime.connecting import whole
from remit_server.transports.acp.sdk import INVALID_PARAMS, refusal
from remit_server.transports.acp.sessions import AcpSession

MODE, MODEL, EDITS = "mode", "model", "edits"
NAMES: Mapping[Mode, str] = {Mode.STRICT: "Strict", Mode.EXPLORE: "Explore", Mode.DEBUG: "Debug"}
ASKED: Mapping[EditsAsked, str] = {
    "each": "Before each edit",
    "turn": "About all edits, at the end",
    "allow": "Not at all",
}
"""Only the person can choose `allow`, in Remit itself. It cannot be chosen here, but is shown if they chose it."""


def mode_state(session: AcpSession) -> schema.SessionModeState:
    """Returns the modes in the older way, which newer clients do not need."""
    modes = [schema.SessionMode(id=mode, name=name, description=_about(mode)) for mode, name in NAMES.items()]
    return schema.SessionModeState(current_mode_id=_mode(session), available_modes=modes)


def config_options(session: AcpSession) -> list[schema.SessionConfigOptionSelect]:
    """Returns all options, each with its choices and its present value."""
    edits = session.runtime.edits(session.id)
    offered: dict[str, tuple[str, str | None]] = {
        each: (words, None) for each, words in ASKED.items() if each != "allow" or each == edits
    }
    return [
        _select(MODE, "Mode", "mode", _mode(session), {mode.value: (NAMES[mode], _about(mode)) for mode in NAMES}),
        _select(MODEL, "Model", "model", session.model, {each: (each, None) for each in session.models}),
        _select(EDITS, "Ask about edits", None, edits, offered),
    ]


async def find_models(session: AcpSession) -> tuple[str, ...]:
    """Looks for models on this machine, and returns those that the session can use."""
    found = await find_choices(os.environ, session.folder.settings.config.model.name)
    named = (each.reference for each in found if each.problem is None and each.whole)
    return tuple(dict.fromkeys((session.model, *named)))


async def choose_model(session: AcpSession, wanted: str) -> None:
    """Sets the model that answers the session's next prompts. Raises RequestError if it cannot be used."""
    if wanted not in session.models:
        raise RequestError(INVALID_PARAMS, "there is no such model among the options")
    if (problem := await why_not_there(whole(wanted))) is not None:
        raise refusal(RemitError(problem.what, problem.why, problem.fix, code=problem.code))
    session.chat.model = wanted


def choose_edits(session: AcpSession, wanted: str) -> None:
    """Changes when the session asks about edits. Raises RequestError for a choice that is not offered."""
    choices: Mapping[str, EditsAsked] = {"each": "each", "turn": "turn"}
    if wanted not in choices:
        raise RequestError(INVALID_PARAMS, "there is no such choice among the options")
    session.runtime.edits(session.id, choices[wanted])


def _mode(session: AcpSession) -> str:
    return session.runtime.status(session.id).mode or Mode.EXPLORE.value


def _about(mode: Mode) -> str:
    return COMMANDS[mode.value].summary


def _select(
    name: str, label: str, category: str | None, now: str, options: Mapping[str, tuple[str, str | None]]
) -> schema.SessionConfigOptionSelect:
    choices: Sequence[schema.SessionConfigSelectOption] = [
        schema.SessionConfigSelectOption(value=value, name=shown, description=about)
        for value, (shown, about) in options.items()
    ]
    return schema.SessionConfigOptionSelect.model_validate(
        {"id": name, "name": label, "category": category, "type": "select", "currentValue": now, "options": choices}
    )
