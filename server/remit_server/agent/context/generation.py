"""The settings of a generation: what the person set, else what the model's own files say (AGT-10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from remit_governance.values import Intent
from remit_server.models.ports import Effort, GenerateRequest, Message, PathsOnOffer, ToolSpec

MAX_TOKENS = 8_192
"""The tokens of one answer, enough to write a file of 500 lines."""


@dataclass(frozen=True, slots=True)
class Generation:
    """Settings of a generation. None means the model's own setting; `context_tokens` is a window smaller than the
    model's."""

    max_tokens: int = MAX_TOKENS
    temperature: float | None = None
    top_p: float | None = None
    seed: int = 0
    effort: Effort | None = None
    context_tokens: int | None = None

    def request(
        self,
        session_id: str,
        messages: tuple[Message, ...],
        intents: Mapping[Intent, tuple[ToolSpec, ...]],
        paths: PathsOnOffer | None = None,
    ) -> GenerateRequest:
        """Returns the request of one step."""
        return GenerateRequest(
            session_id,
            messages,
            intents,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=self.seed,
            effort=self.effort,
            paths=paths,
        )
