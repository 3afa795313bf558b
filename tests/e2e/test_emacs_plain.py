"""A real Emacs with eglot but without Remit's package: questions in the minibuffer, answers as messages (LSP-05)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench_runtime import call, intent
from command_line import CommandLine
from emacs_client import Emacs
from messages import SAYS

LONG = "".join(f"line {number:03d} of a file\n" for number in range(300))

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(240)]

# Emacs sends changes when it has been idle for this many seconds, so never, unless the test triggers it.
CONFIGURED = """(progn (require 'eglot)
  (setq eglot-send-changes-idle-time 3600 eglot-confirm-server-initiated-edits nil)
  (add-to-list 'eglot-server-programs '(python-mode . ("remit" "serve"))) nil)"""
ASK = """(progn (jsonrpc-async-request (eglot-current-server) :workspace/executeCommand
  '(:command "remit.ask" :arguments ["go"]) :timeout 900 :success-fn #'ignore) nil)"""


@pytest.fixture
def editor(emacs: str, remit: CommandLine, script: Callable[..., str], tmp_path: Path) -> Iterator[Emacs]:
    subprocess.run(["git", "init", "-q"], cwd=remit.workspace, check=True)
    write = {"calls": [intent("CODE"), call("write_file", path="long.txt", content=LONG)]}
    rename = {"path": "src/cart.py", "old_text": "total", "new_text": "subtotal", "replace_all": True}
    edit = {"calls": [intent("CODE"), call("edit_file", **rename)]}
    home = tmp_path / "home"
    home.mkdir()
    made = Emacs(emacs, remit, script(write, edit, {"text": "Both are done."}), home, tmp_path / "emacs.sock")
    yield made
    made.close()


def test_LSP_05_eglot_alone_is_asked_whole_and_an_edit_that_it_tells_late_is_not_said_to_be_none(
    editor: Emacs, remit: CommandLine
) -> None:
    before = (remit.workspace / "src/cart.py").read_text()
    editor.eval(CONFIGURED)
    editor.open("src/cart.py")
    editor.run("eglot")
    editor.until("it is managed", lambda: editor.eval('(with-current-buffer "cart.py" (eglot-managed-p))'))
    editor.eval(f'(with-current-buffer "cart.py" {ASK})')
    editor.until("a question", lambda: editor.minibuffer is not None)
    shown = editor.told.splitlines()
    assert all(f"+{line}" in shown for line in LONG.splitlines())
    assert "(the end of the question sha256:" in editor.told
    editor.type("\r")
    editor.until("the next question", lambda: "+    subtotal = 0.0" in editor.prompt)
    assert (remit.workspace / "long.txt").read_text() == LONG
    editor.type("\r")
    editor.until("it is not known", lambda: "it is not known whether" in editor.told)
    # Do what eglot does when Emacs is idle.
    editor.eval('(with-current-buffer "cart.py" (eglot--signal-textDocument/didChange) nil)')
    editor.until("it is known", lambda: "has arrived after all" in editor.told)
    assert editor.text_of("cart.py") == before.replace("total", "subtotal")
    assert SAYS.nothing_was_changed not in editor.told
