"""A person at a terminal: `remit`, or an editor, in a real pty, with its screen in a terminal emulator."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

import pexpect
import pyte
from command_line import REMIT

PATIENCE_S = 60


class _Screen(pyte.HistoryScreen):
    """A screen that answers where its cursor is, at the moment when it is asked."""

    answer: Callable[[str], object] = staticmethod(lambda text: None)

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class ChatScreen:
    """The chat, or another program, at a terminal of `rows` and `columns`; use it as a context."""

    def __init__(
        self,
        workspace: Path,
        environment: Mapping[str, str],
        rows: int,
        columns: int,
        words: tuple[str, ...] = (),
        program: str = str(REMIT),
    ) -> None:
        self.screen = _Screen(columns, rows, history=20_000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        env = dict(os.environ) | dict(environment) | {"TERM": "xterm-256color"}
        env.pop("NO_COLOR", None) if "NO_COLOR" not in environment else None
        self.child = pexpect.spawn(
            program, list(words), cwd=str(workspace), env=env, dimensions=(rows, columns), timeout=PATIENCE_S
        )
        self.screen.answer = self.child.send

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with suppress(pexpect.ExceptionPexpect):  # it looks only once after each signal; a busy machine takes longer
            self.child.close(force=True)

    def send(self, text: str) -> None:
        """Types the text."""
        self.child.send(text)

    def paste(self, text: str) -> None:
        """Pastes the text, as terminals do."""
        self.child.send(f"\x1b[200~{text}\x1b[201~")

    def resize(self, rows: int, columns: int) -> None:
        """Changes the window's size."""
        self.child.setwinsize(rows, columns)
        self.screen.resize(rows, columns)

    def until(self, pattern: str, wait_s: float = PATIENCE_S) -> str:
        """Waits until the screen shows the pattern; returns the screen's text."""
        end = time.monotonic() + wait_s
        while not re.search(pattern, self.text):
            assert time.monotonic() < end, f"waited for {pattern!r} in vain:\n{self.text}"
            self.pump(0.1)
        return self.text

    def pump(self, seconds: float) -> None:
        """Reads the program's output for this time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                data = self.child.read_nonblocking(65_536, timeout=0.05)
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                time.sleep(0.02)
                continue
            self.raw += data
            self._stream.feed(data)

    def ended(self) -> int:
        """Waits until the program has ended; returns its exit code."""
        end = time.monotonic() + PATIENCE_S
        while self.child.isalive():
            assert time.monotonic() < end, f"it did not leave:\n{self.text}"
            self.pump(0.1)
        self.pump(0.2)
        return int(self.child.exitstatus or 0)

    @property
    def text(self) -> str:
        """What the screen shows, without the blanks at the ends of lines."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def all_text(self) -> str:
        """What the screen shows, and all that was scrolled out of it."""
        above = ["".join(row[x].data for x in range(self.screen.columns)).rstrip() for row in self.screen.history.top]
        return "\n".join([*above, self.text])
