"""The states of a plugin, and which follow each other: one table (PLG-03)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class PluginState(StrEnum):
    """Where a plugin stands."""

    DISCOVERED = "discovered"
    REJECTED = "rejected"
    REGISTERED = "registered"
    LOADED = "loaded"
    ACTIVE = "active"
    DISABLED = "disabled"
    UNLOADED = "unloaded"


_S = PluginState

EDGES: Mapping[PluginState, Mapping[PluginState, str]] = MappingProxyType(
    {
        _S.DISCOVERED: {
            _S.REGISTERED: "its manifest holds, and the person took it",
            _S.REJECTED: "its manifest does not hold, or nobody took it",
        },
        _S.REJECTED: {_S.DISCOVERED: "it is looked at again"},
        _S.REGISTERED: {
            _S.LOADED: "its files are those that were taken, and its tools are offered",
            _S.DISABLED: "its files differ from what was taken, or the person disabled it",
        },
        _S.LOADED: {
            _S.ACTIVE: "it answered its handshake",
            _S.DISABLED: "it broke the protocol, changed, or the person disabled it",
            _S.UNLOADED: "it is gone, or looked at again",
        },
        _S.ACTIVE: {
            _S.DISABLED: "it broke the protocol, changed, or the person disabled it",
            _S.UNLOADED: "it is gone, or looked at again",
        },
        _S.DISABLED: {_S.DISCOVERED: "it is looked at again"},
        _S.UNLOADED: {_S.DISCOVERED: "it is looked at again"},
    }
)
"""Which state follows which, and when. No other one does."""


class NoSuchEdge(ValueError):
    """A plugin cannot come from one state to the other."""


@dataclass(frozen=True, slots=True)
class Life:
    """A plugin's state, and why it is in it where it cannot be used."""

    state: PluginState = PluginState.DISCOVERED
    reason: str = ""

    @property
    def usable(self) -> bool:
        """Whether its tools can be called."""
        return self.state in {PluginState.LOADED, PluginState.ACTIVE}

    def move(self, to: PluginState, reason: str = "") -> Life:
        """Returns where it stands then. Raises NoSuchEdge."""
        if to not in EDGES[self.state]:
            raise NoSuchEdge(f"no plugin comes from {self.state} to {to}")
        return Life(to, reason)

    def look_again(self) -> Life:
        """Returns where it stands when it is found anew."""
        life = self.move(PluginState.UNLOADED) if self.usable else self
        return life if life.state is PluginState.DISCOVERED else life.move(PluginState.DISCOVERED)
