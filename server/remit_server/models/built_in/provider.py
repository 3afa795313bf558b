"""The built-in model as a provider: it follows its rules within the server's process (MOD-23)."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from remit_governance.intents import SELECT_INTENT
from remit_server.contract import Ability
from remit_server.errors import ModelFailed
from remit_server.models.built_in.answers import Ending
from remit_server.models.built_in.routes import Routed
from remit_server.models.built_in.steps import next_step
from remit_server.models.ports import (
    CallProposed,
    Finished,
    GenerateRequest,
    ModelEvent,
    ModelProvider,
    ModelState,
    ProposedCall,
    TextDelta,
    Traits,
    new_call_id,
)
from remit_server.models.profile import BUILT_IN, Profile

BUILT_IN_MODEL = "built-in"
"""The reference of the model that comes with Remit."""
NO_MODEL = "the built-in model follows fixed patterns for sentences about a workspace, and writes no text of its own"


class BuiltInProvider(ModelProvider):
    """A `ModelProvider` that needs nothing: neither a process nor a network."""

    @property
    def traits(self) -> Traits:
        """The model's traits: it reads the sentence only, and not the editor's context."""
        return Traits(BUILT_IN_MODEL, reads_context=False, abilities=frozenset({Ability.RENAME}))

    @property
    def state(self) -> ModelState:
        """Always `ready`, because the model needs nothing."""
        return "ready"

    async def meet(self) -> Profile:
        """Returns the profile that only this model has."""
        return BUILT_IN

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[ModelEvent]:
        """Streams one step: the call that a rule derives from the sentence, or the answer that ends the turn.

        Raises ModelFailed for a request that is no step of a turn.
        """
        if request.paths is None:
            raise ModelFailed(
                "the model cannot answer this", NO_MODEL, "connect one: `remit model` shows those that you can use"
            )
        nameable = await request.paths.list()
        files = None if nameable is None else nameable.files
        match next_step(request.messages, request.intents, files):
            case Routed(intent=intent, tool=tool, arguments=arguments):
                yield CallProposed(ProposedCall(new_call_id(), SELECT_INTENT, {"intent": intent.value}))
                yield CallProposed(ProposedCall(new_call_id(), tool, arguments))
                yield Finished("stop")
            case Ending(text=text, done=done, asks=asks, suggestion=suggestion):
                yield TextDelta(text)
                yield Finished("stop" if done else "asks" if asks else "declined", suggestion=suggestion)

    async def close(self) -> None:
        """Does nothing, because the provider holds nothing."""
