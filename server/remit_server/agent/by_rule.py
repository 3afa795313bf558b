"""Takes the steps of a turn that a rule knows, before one of the smallest models is asked (MOD-28)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remit_governance.intents import SELECT_INTENT
from remit_governance.values import Intent
from remit_server.harness.approval.desk import UNANSWERED
from remit_server.harness.turn import EndedCall
from remit_server.models.built_in.answers import MODEL, WHAT, WHERE, Ending
from remit_server.models.built_in.routes import Routed
from remit_server.models.built_in.steps import follow_surely
from remit_server.models.built_in.turns import turn_of
from remit_server.models.ports import (
    AssistantMessage,
    Declined,
    Message,
    Nameable,
    ProposedCall,
    ToolSpec,
    UserMessage,
    new_call_id,
)

LEAST_SHOWN = 6_000
"""Characters of a result that a rule may always show, because a person reads them. If the model is asked later, the
conversation is fitted to its window first."""

BY_RULE = "(Remit's built-in model did this. Your model was not asked.)"
HELP_BESIDE_MODEL = (
    "Remit's built-in model takes a sentence that names one to three things to do: list, show and search files, run a "
    "command or the tests, show what git says, rename, replace, add or remove a line, a comment or a docstring, change "
    "a value, create, move or delete a file. Your model answers anything else. `/status` says which it is, and where "
    "your messages go."
)


@dataclass(frozen=True, slots=True)
class RuledStep:
    """A step that a rule took. `declined` is given if the step did not do what was asked."""

    message: AssistantMessage
    declined: Declined | None = None


def step_by_rule(
    asked: str,
    since: Sequence[Message],
    ended: Sequence[EndedCall],
    offered: Mapping[Intent, tuple[ToolSpec, ...]],
    nameable: Nameable | None,
) -> RuledStep | None:
    """Returns the next step of a turn in which rules took all steps so far, or None if the model has to go on.

    `since` are the messages after the person's, `ended` the turn's calls. If no rule knows the next step, the model
    goes on with what was found so far. If a rule's call was not approved, the turn ends, because a model would look for
    another way to do the same.
    """
    turn = turn_of((UserMessage(asked), *since))
    match follow_surely(turn, offered, None if nameable is None else nameable.files):
        case Routed(intent=intent, tool=tool, arguments=arguments):
            declared = ProposedCall(new_call_id(), SELECT_INTENT, {"intent": intent.value})
            return RuledStep(AssistantMessage("", (declared, ProposedCall(new_call_id(), tool, arguments))))
        case Ending(text=text, done=True):
            said = HELP_BESIDE_MODEL if text in (WHAT, WHERE, MODEL) else f"{text}\n\n{BY_RULE}"
            return RuledStep(AssistantMessage(said))
        case Ending(text=text) if ended and (error := ended[-1].error) is not None and error.code in UNANSWERED:
            return RuledStep(AssistantMessage(text), "declined")
        case _:
            return None
