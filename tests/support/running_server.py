"""A `remit serve` to attack: one process, reached through its pipes, whose questions the test answers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from command_line import machine_environment, start_server
from lsp_pipe import Json
from threat_bench import own

POLICY = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list], path_glob: ["**"] }, action: allow }
  - { name: writes, match: { syscall: fs.write, path_glob: ["**"] }, action: allow }
  - { name: runs, match: { syscall: process.exec }, action: allow }
  - { name: secrets, match: { syscall: fs.read, path_glob: [".env"] }, action: deny }
  - { name: no-rm, match: { syscall: process.exec, command: [rm, "git push --force"] }, action: deny }
"""
"""Allows everything that a person could allow, except two programs and a file."""


@dataclass(frozen=True)
class Called:
    """How one call went: its `tool_result`, and the questions that were asked before."""

    result: Json
    questions: tuple[Json, ...]

    @property
    def code(self) -> str | None:
        """The error's code; None if the call ran."""
        return self.result["error"]["code"] if self.result["error"] else None

    @property
    def output(self) -> str:
        """What the model would see."""
        return str(self.result["output"])


def what_is_kept(state: Path) -> list[Path]:
    """Returns all files below a state folder, except those for undo, which hold what the workspace's own files held."""
    return [path for path in state.rglob("*") if path.is_file() and "contents" not in path.parts]


class RunningServer:
    """The process and its workspaces: `shop`, or those in `names`. A call goes to the first one unless it names
    another. Use it as a context."""

    def __init__(
        self,
        folder: Path,
        policy: str = POLICY,
        command: tuple[str, ...] = (),
        names: tuple[str, ...] = ("shop",),
        **environment: str,
    ) -> None:
        self.folder, self.workspace = folder, folder / names[0]
        self.others = tuple(folder / name for name in names[1:])
        for each in (self.workspace, *self.others):
            each.mkdir(exist_ok=True)
        (folder / "config").mkdir(exist_ok=True)
        (folder / "config" / "policy.yaml").write_text(policy)
        mine = {"REMIT_STATE_DIR": str(folder / "state"), "REMIT_CONFIG_DIR": str(folder / "config")}
        self.environment = machine_environment() | mine | environment
        # The variables of a test must be in the environment that the kernel shows, because tests check who can see it
        # there.
        self._before = command or (("env",) if environment else ())
        self._numbers = itertools.count(1)

    def call(
        self, tool: str, answer: str = "deny", folder: Path | None = None, scope: str | None = None, **arguments: Any
    ) -> Called:
        """Makes one call of the person's own, as `remit run-tool` does. Answers each question with `answer`, and with
        `scope` if it is given."""
        turn = f"t{next(self._numbers)}"
        folder = folder or (self.workspace if self.others else None)
        events = self.client.turn(turn, self.client.run(turn, own(tool, **arguments), folder), answer, scope)
        (result,) = (event for event in events if event["kind"] == "tool_result")
        return Called(result, tuple(event for event in events if event["kind"] == "approval_required"))

    def __enter__(self) -> Self:
        self.client = start_server(self.environment, self._before)
        self.client.initialize(self.workspace, *self.others)
        return self

    def __exit__(self, *exception: object) -> None:
        if not self.client.ended:
            self.client.kill()
