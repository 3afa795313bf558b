"""How many commands run at once (SCH-01)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from remit_server.scheduling.schedule import Limits

AGE_S = 30.0


@dataclass(frozen=True, slots=True)
class AtOnce:
    """How many commands run at once, in all and of each template that commands have: without and with a network.

    For a machine of four to eight processors.
    """

    global_max: int = 4
    code_executor: int = 2
    integration_test: int = 2

    def lower(self, other: AtOnce) -> AtOnce:
        """Returns the lower limit of both, each by itself."""
        return AtOnce(
            min(self.global_max, other.global_max),
            min(self.code_executor, other.code_executor),
            min(self.integration_test, other.integration_test),
        )

    @property
    def limits(self) -> Limits:
        """The limits of a schedule in seconds."""
        templates = {"code-executor": self.code_executor, "integration-test": self.integration_test}
        return Limits(self.global_max, AGE_S, MappingProxyType(templates))
