"""The models that a workspace's turns ask: the configured one, and those that the person switched to (AGT-13)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from remit_server.models.ports import ModelProvider
from remit_server.models.remote.engines import sent_to


@dataclass(slots=True)
class ChosenModels:
    """Opens each model with its first turn, and keeps it until `close`."""

    configured: str
    open: Callable[[str], ModelProvider]
    opened: dict[str, ModelProvider] = field(default_factory=dict[str, ModelProvider])

    def get(self, reference: str | None = None) -> ModelProvider:
        """Returns a model, for None the configured one. Raises SetupError for a reference that names no model."""
        wanted = reference or self.configured
        if wanted not in self.opened:
            self.opened[wanted] = self.open(wanted)
        return self.opened[wanted]

    def change(self, configured: str, open_model: Callable[[str], ModelProvider]) -> tuple[ModelProvider, ...]:
        """Changes the configured model, or how models are opened. Returns the models opened before, for the caller to
        close once no running turn asks them. Raises SetupError, and then changes nothing."""
        first = open_model(configured)
        before = tuple(self.opened.values())
        self.configured, self.open, self.opened = configured, open_model, {configured: first}
        return before

    def sent_to(self, reference: str | None = None) -> str | None:
        """Returns the host that a conversation with this model is sent to, or None if it stays on this machine."""
        return sent_to(reference or self.configured)

    async def close(self) -> None:
        """Closes all models."""
        for model in self.opened.values():
            await model.close()
