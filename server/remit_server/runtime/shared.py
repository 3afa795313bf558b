"""What all runtimes of one server share (MOD-01, SCH-01)."""

from __future__ import annotations

from dataclasses import dataclass, field

from remit_server.models.shared import SharedModels
from remit_server.sandbox.scheduled import Slots


@dataclass(frozen=True, slots=True)
class Shared:
    """The models that are lent, and the schedule in which commands of all folders and sessions wait for a sandbox."""

    models: SharedModels = field(default_factory=SharedModels)
    slots: Slots = field(default_factory=Slots)
