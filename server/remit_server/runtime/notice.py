"""What the runtime tells a person of a file that changed on disk (POL-11, CFG-05)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """What a person should know of a change on disk: whether it is in force, and a sentence."""

    good: bool
    message: str
