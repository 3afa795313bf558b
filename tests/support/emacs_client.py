"""A real Emacs in a terminal of its own: keys go in as a person types them, and its state is read through its
server."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import socket
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from command_line import REMIT, CommandLine

PATIENCE_S = 120.0
META = "\x1b"
SETTINGS = """(progn
  (setq native-comp-deferred-compilation nil native-comp-async-report-warnings-errors (quote silent)
        message-log-max 10000 make-backup-files nil auto-save-default nil
        create-lockfiles nil inhibit-startup-screen t ring-bell-function (quote ignore) server-name %s
        use-short-answers t)
  (defvar minibuffer-asked 0)
  (add-hook (quote minibuffer-setup-hook) (lambda () (setq minibuffer-asked (1+ minibuffer-asked))))
  (defun told () (with-current-buffer (messages-buffer) (buffer-substring-no-properties (point-min) (point-max))))
  (server-start))"""


def quoted(text: str) -> str:
    """Returns a string as Lisp reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def quoted_word(text: str) -> str:
    """Returns a word as the protocol of Emacs's server has it."""
    escaped = text.replace("&", "&&").replace(" ", "&_").replace("\n", "&n")
    return f"&{escaped}" if escaped.startswith("-") else escaped


def unquoted(text: str) -> str:
    """Returns the text of a word that the server quoted."""
    return re.sub(r"&(.)", lambda found: {"_": " ", "n": "\n"}.get(found[1], found[1]), text)


class Emacs:
    """An Emacs in the workspace, with what is installed in `home`."""

    def __init__(self, program: str, remit: CommandLine, model: str, home: Path, place: Path) -> None:
        self._socket = place
        self._workspace = remit.workspace
        environment = {
            **remit.environment,
            "PATH": f"{REMIT.parent}:{remit.environment['PATH']}",
            "HOME": str(home),
            "TERM": "xterm",
            "REMIT_MODEL": model,
        }
        self._terminal, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        settings = SETTINGS % quoted(str(place))
        # `setsid` makes this the controlling terminal, because Emacs opens that by its name.
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", program, "-nw", "-q", "-f", "package-initialize", "--eval", settings],
            cwd=remit.workspace,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        threading.Thread(target=self._look, daemon=True).start()
        self.until("Emacs listens", self._listens)

    def _listens(self) -> bool:
        """Returns whether Emacs answers. Its socket exists before Emacs listens on it."""
        with suppress(FileNotFoundError, ConnectionRefusedError):
            return bool(self.eval("1"))
        return False

    def _look(self) -> None:
        """Reads what Emacs draws, because Emacs stops if nobody reads its terminal."""
        with suppress(OSError):
            while os.read(self._terminal, 65536):
                pass

    def eval(self, code: str) -> Any:
        """Returns the value of an expression, as JSON has it."""
        answer = self._tell(f"(json-encode {code})")
        printed = "".join(word.partition(" ")[2] for word in answer.splitlines() if word.startswith("-print"))
        assert printed, f"{code}\n{unquoted(answer)}"
        return json.loads(unquoted(printed)[1:-1].replace('\\"', '"').replace("\\\\", "\\"))

    def _tell(self, code: str) -> str:
        """Speaks to Emacs as `emacsclient --eval` does; returns the lines of its answer."""
        with closing(socket.socket(socket.AF_UNIX)) as line:
            line.settimeout(PATIENCE_S)
            line.connect(str(self._socket))
            line.sendall(f"-dir {quoted_word(f'{self._workspace}/')} -eval {quoted_word(code)} \n".encode())
            return b"".join(iter(lambda: line.recv(65536), b"")).decode()

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def run(self, command: str, *answers: str) -> None:
        """Calls a command by its name, and answers what it asks for in the minibuffer."""
        self.type(f"{META}x")
        for answer in (command, *answers):
            self.answer(answer)

    def answer(self, line: str) -> None:
        """Types a line into the minibuffer that asks for one."""
        self.until("an empty line", lambda: self.minibuffer == "")
        asked = self.eval("minibuffer-asked")
        self.type(f"{line}\r")
        self.until("it is read", lambda: self.minibuffer is None or self.eval("minibuffer-asked") != asked)

    @property
    def minibuffer(self) -> str | None:
        """The text in the minibuffer; None if it asks nothing."""
        line = "(with-current-buffer (window-buffer (active-minibuffer-window)) (minibuffer-contents))"
        found: str | None = self.eval(f"(and (active-minibuffer-window) {line})")
        return found

    @property
    def prompt(self) -> str:
        """The prompt of the minibuffer; empty if it asks nothing."""
        asked = "(with-current-buffer (window-buffer (active-minibuffer-window)) (minibuffer-prompt))"
        return self.eval(f"(and (active-minibuffer-window) {asked})") or ""

    def until(self, what: str, holds: Callable[[], Any]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < end, f"waited for: {what}\n{self.chat}\n{self.told}"
            time.sleep(0.05)

    def open(self, path: str) -> None:
        self.eval(f"(progn (find-file {quoted(path)}) nil)")

    @property
    def told(self) -> str:
        return str(self.eval("(told)"))

    @property
    def chat(self) -> str:
        return self.text_of("*Remit: ")

    def text_of(self, name: str) -> str:
        """Returns the text of the buffer whose name begins with `name`."""
        found = f"(seq-find (lambda (each) (string-prefix-p {quoted(name)} (buffer-name each))) (buffer-list))"
        return str(
            self.eval(
                f"(let ((found {found})) (if found (with-current-buffer found (buffer-substring-no-properties "
                '(point-min) (point-max))) ""))'
            )
        )

    def state(self, name: str) -> Any:
        """Returns a variable of the chat; nothing if there is no chat yet."""
        chat = '(seq-find (lambda (each) (string-prefix-p "*Remit: " (buffer-name each))) (buffer-list))'
        return self.eval(f"(let ((chat {chat})) (and chat (buffer-local-value '{name} chat) t))")

    def asked(self) -> None:
        self.until("a question", lambda: self.state("remit--questions"))

    def ended(self) -> None:
        self.until("the turn ends", lambda: not self.state("remit--running"))

    def close(self) -> None:
        if self.process.poll() is None:
            self._tell("(kill-emacs)")  # it leaves without an answer, and saves nothing
            self.process.wait(PATIENCE_S)
            os.close(self._terminal)
