"""Extension rules in their real sandboxed process, and how often it was asked."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from remit_governance.canonical import Json
from remit_governance.policy.decision.extension import ExtensionRule, Facts, read_rule
from remit_server.extensions.host import ExtensionHost
from remit_server.sandbox.choose import CHOICE, choose_sandbox

PACKAGES = {"bubblewrap": ("bwrap", "bubblewrap util-linux"), "podman": ("podman", "podman runc")}
"""The sandboxes that everybody can install: the program and its packages. Docker is left out, because it also needs a
daemon, which CI starts if it can."""
PATIENT_S = 20.0
"""The time limit in tests that are not about time, because a machine may be busy."""


def need_sandbox() -> None:
    """Skips the test if the sandbox is missing: the one that the person chose, else Bubblewrap."""
    program, packages = PACKAGES.get(os.environ.get(CHOICE, "bubblewrap"), ("", ""))
    if sys.platform != "linux" or (program and shutil.which(program) is None):
        pytest.skip(f"there is no {program}: apt-get install {packages}")
    isolation = choose_sandbox().isolation()
    if not isolation.available:
        pytest.skip(f"this system lets nobody make a sandbox: {isolation.why}")


def rule(text: str, stem: str = "rule") -> ExtensionRule:
    return read_rule(f"rules/{stem}.py", stem, textwrap.dedent(text))


@dataclass
class Counted:
    """The host of these rules, which keeps the questions that it was asked."""

    rules: Sequence[ExtensionRule]
    call_s: float = PATIENT_S
    asked: list[Facts] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host = ExtensionHost(self.rules, Path("/nowhere"), self.call_s)

    def ask(self, names: Sequence[str], facts: Facts) -> Json:
        self.asked.append(facts)
        return self.host.ask(names, facts)

    def close(self) -> None:
        self.host.close()
