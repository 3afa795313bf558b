"""Options of the model process that a person may set (MOD-02)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from remit_server.models.profile import ChosenProfile

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Limits of one model process.

    `cache_mib`: the size of all prompt caches together. `idle_s`: seconds without a request after which the process is
    stopped; the next request starts it again. `memory_check`: load no model that does not fit into free memory.
    `cache_dir`: where prompt caches survive the process; None: nowhere. `thinking`: a model that can think may do so
    before it answers. `guided`: a grammar constrains the model; otherwise it spells calls in its own format. `profile`:
    the profile that the person chose; None: the one that fits the model's weights.
    """

    cache_mib: int = 1024
    idle_s: float = 900.0
    memory_check: bool = True
    cache_dir: Path | None = None
    thinking: bool = False
    guided: bool = True
    profile: ChosenProfile | None = None
