"""The Emacs package in a real Emacs, installed as its page says, and used by keys (EMA-01)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench_runtime import call, intent
from command_line import CommandLine
from emacs_client import Emacs, quoted
from messages import SAYS

PACKAGE = Path(__file__).parents[2] / "client-emacs"
INSTALL = f"(package-install-file {quoted(str(PACKAGE))})"
LINES = [f"line {n}\n" for n in range(40)]
LONG = "".join(f"line {number:03d} of a file\n" for number in range(300))

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(240)]

Start = Callable[[str], Emacs]


def changed(*numbers: int) -> str:
    return "".join(f"new {n}\n" if n in numbers else line for n, line in enumerate(LINES))


@pytest.fixture(scope="module")
def home(emacs: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person's home with the package installed; the file `installed` has what the installation printed."""
    made = tmp_path_factory.mktemp("home")
    done = subprocess.run(
        [emacs, "-q", "--batch", "-f", "package-initialize", "--eval", INSTALL],
        env={**os.environ, "HOME": str(made)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    (made / "installed").write_text(done.stdout + done.stderr)
    return made


@pytest.fixture
def start(emacs: str, home: Path, remit: CommandLine, tmp_path: Path) -> Iterator[Start]:
    subprocess.run(["git", "init", "-q"], cwd=remit.workspace, check=True)
    (remit.workspace / "b.txt").write_text("".join(LINES))
    started: list[Emacs] = []

    def run(model: str) -> Emacs:
        started.append(Emacs(emacs, remit, model, home, tmp_path / f"{len(started)}.sock"))
        return started[-1]

    yield run
    for each in started:
        each.close()


@pytest.fixture
def three(script: Callable[..., str]) -> str:
    """Returns a model that changes three places of a file."""
    step = {"calls": [intent("CODE"), call("write_file", path="b.txt", content=changed(2, 20, 37))]}
    return script(step, {"text": "Two are new.\nThe third is not."})


def drawn(editor: Emacs) -> list[str]:
    """Returns what is drawn in b.txt beside its text, in order."""
    shown = "(concat (overlay-get each 'before-string) (overlay-get each 'after-string))"
    ours = "(seq-filter (lambda (each) (overlay-get each 'remit-part)) (overlays-in (point-min) (point-max)))"
    first = "(lambda (one other) (< (overlay-start one) (overlay-start other)))"
    code = f"(vconcat (mapcar (lambda (each) (substring-no-properties {shown})) (sort {ours} {first})))"
    return list(editor.eval(f'(with-current-buffer "b.txt" {code})'))


def current(editor: Emacs) -> str:
    return str(editor.eval("(buffer-name (window-buffer (selected-window)))"))


def told_to_the_model(remit: CommandLine) -> list[str]:
    """Returns the results that the model got of its calls, as the session keeps them."""
    records = [json.loads(line) for path in remit.state.rglob("*.jsonl") for line in path.read_text().splitlines()]
    return [record["output"] for record in records if record.get("type") == "tool_result"]


def test_EMA_01_the_package_is_installed_without_a_warning_and_loads_nothing_by_itself(
    start: Start, home: Path
) -> None:
    assert "warning" not in (home / "installed").read_text().lower()
    editor = start("built-in")
    assert not editor.eval("(featurep 'remit-server)")
    assert editor.eval("(and (commandp 'remit-ask) (commandp 'remit-review) t)")


def test_EMA_02_hunks_are_drawn_left_out_with_words_and_the_rest_allowed(
    start: Start, three: str, remit: CommandLine
) -> None:
    editor = start(three)
    editor.open("b.txt")
    editor.run("remit-ask", "make it new")
    editor.asked()
    assert drawn(editor) == [f"hunk {n} of 3\n+ new {line}\n" for n, line in ((1, 2), (2, 20), (3, 37))]
    assert editor.eval('(with-current-buffer "b.txt" (remit-word))') == " Remit: asks"
    assert current(editor) == "b.txt", "the cursor stays where it was"
    editor.run("remit-review")
    assert current(editor) == "*Remit asks: change b.txt*"
    editor.type("\x1bn\x1bn")  # M-n
    editor.type("c")
    editor.answer("the twentieth stays")
    editor.until("it is left out", lambda: "hunk 2 of 3, left out\n+ new 20\n" in drawn(editor))
    editor.type("y")
    editor.ended()
    assert "2 accepted, 1 left out" in editor.chat
    assert "Two are new.\nThe third is not." in editor.chat
    assert (editor.text_of("b.txt"), drawn(editor)) == (changed(2, 37), [])
    assert current(editor) == "b.txt", "the question went away with its answer"
    assert (remit.workspace / "b.txt").read_text() == "".join(LINES), "the person saves it"
    assert any("the twentieth stays" in each for each in told_to_the_model(remit))
    editor.type("\x1f")  # C-_
    editor.until("it is undone", lambda: editor.text_of("b.txt") == "".join(LINES))
    log = remit("audit", "log", "--json").lines
    assert [r["metadata"].get("left_out") for r in log if r["kind"] == "approval_resolved"] == ["b.txt hunk 2"]


def test_EMA_02_no_yes_before_the_end_of_the_question_was_seen(
    start: Start, script: Callable[..., str], remit: CommandLine
) -> None:
    write = {"calls": [intent("CODE"), call("write_file", path="long.txt", content=LONG)]}
    say_no = {"calls": [intent("CODE"), call("write_file", path="b.txt", content=changed(2))]}
    editor = start(script(write, say_no, {"text": "Done."}))
    editor.open("b.txt")
    editor.run("remit-ask", "write it")
    editor.asked()
    editor.run("remit-review")
    editor.type("y")
    editor.until("the refusal", lambda: "Scroll to the end" in editor.told)
    assert editor.state("remit--questions")
    assert not (remit.workspace / "long.txt").exists()
    editor.type("\x1b>")  # to the end of the buffer
    editor.type("y")
    editor.until("the next question", lambda: "change b.txt" in editor.chat)
    assert (remit.workspace / "long.txt").read_text() == LONG
    editor.run("remit-review")
    editor.type("N")
    editor.answer("not today")
    editor.ended()
    assert any("the person said no: not today" in each for each in told_to_the_model(remit))
    assert editor.text_of("b.txt") == "".join(LINES)


def test_EMA_03_lines_of_the_chat_and_tasks_at_the_cursor(start: Start, script: Callable[..., str]) -> None:
    editor = start(script({"text": "It adds."}, {"text": "Simpler now."}, {"text": "Better so."}))
    editor.open("src/cart.py")
    editor.run("remit-ask", "/status")
    editor.until("the status", lambda: "it stays on this machine" in editor.chat)
    editor.run("remit-ask")
    editor.until("the minibuffer", lambda: editor.minibuffer == "")
    editor.type("see @src/c\t")
    editor.until("the completion", lambda: editor.minibuffer == "see @src/cart.py")
    editor.type("\x1b\x1b\x1b")  # C-g would interrupt whatever Emacs does just then, perhaps the test's own question
    editor.until("it is left", lambda: editor.minibuffer is None)
    many = '(let ((inhibit-read-only t)) (insert (apply (quote concat) (make-list 11000 "a line\\n"))) nil)'
    editor.eval(f"(with-current-buffer (cdr (remit--here)) {many})")
    editor.run("remit-ask", "/nothing")
    editor.until("the error", lambda: "there is no command" in editor.chat)
    assert editor.chat.startswith("… earlier lines are in the session")
    assert len(editor.chat.splitlines()) < 10_100
    editor.eval('(with-current-buffer "cart.py" (goto-char (point-min)) (search-forward "total") nil)')
    editor.run("remit-explain")
    editor.until("the answer", lambda: "It adds." in editor.chat)
    assert "❯ explain total in src/cart.py" in editor.chat
    editor.ended()
    editor.type("\x1b<\x00\x05")  # marks the first line
    editor.run("remit-edit", "make it clearer")
    editor.until("the answer", lambda: "Simpler now." in editor.chat)
    assert "❯ make it clearer (lines 1-1 of src/cart.py)" in editor.chat


def test_EMA_03_what_is_wrong_in_a_line_is_fixed_where_it_is_shown(
    start: Start, script: Callable[..., str], remit: CommandLine
) -> None:
    step = {"calls": [intent("CODE"), call("write_file", path="b.py", content="y = 1\n")]}
    editor = start(script(step, {"text": "Mended."}))
    (remit.workspace / "b.py").write_text("x = 1\n")
    editor.open("b.py")
    editor.run("remit-start")
    editor.until("it is shown the file", lambda: editor.eval('(with-current-buffer "b.py" (eglot-managed-p))'))
    backend = """(progn
      (setq-local flymake-diagnostic-functions
                  (list (lambda (report &rest _)
                          (funcall report (list (flymake-make-diagnostic (current-buffer) 1 2 :error "`x' is no name"))))))
      (flymake-mode 1) (flymake-start) nil)"""
    editor.eval(f'(with-current-buffer "b.py" {backend})')
    editor.until("it is shown", lambda: editor.eval('(with-current-buffer "b.py" (length (flymake-diagnostics)))') == 1)
    editor.run("remit-fix")
    editor.asked()
    assert "❯ fix what the editor shows at line 1 of b.py" in editor.chat
    editor.run("remit-review")
    editor.type("y")
    editor.ended()
    assert editor.text_of("b.py") == "y = 1\n"


def test_EMA_03_what_a_command_printed_is_shown(bwrap: str, start: Start, script: Callable[..., str]) -> None:
    step = {"calls": [intent("EXECUTE"), call("run_command", command="echo first; echo second; exit 3")]}
    editor = start(script(step, {"text": "So it was."}))
    editor.open("b.txt")
    editor.run("remit-ask", "run it")
    editor.asked()
    assert "  $ echo first; echo second; exit 3\n" in editor.text_of("*Remit asks")
    editor.run("remit-review")
    editor.type("y")
    editor.ended()
    assert "\nfirst\nsecond\n✗ exit code 3" in editor.chat
    assert "So it was." in editor.chat


def test_EMA_04_a_session_is_taken_up_again_and_a_turn_undone(
    start: Start, script: Callable[..., str], remit: CommandLine
) -> None:
    step = {"calls": [intent("CODE"), call("write_file", path="fresh.txt", content="hello\n")]}
    model = script(step, {"text": "Wrote it."})
    first = start(model)
    first.open("b.txt")
    first.run("remit-ask", "write it")
    first.asked()
    first.run("remit-review")
    first.type("y")
    first.ended()
    assert (remit.workspace / "fresh.txt").read_text() == "hello\n"
    first.close()
    second = start(model)
    second.open("b.txt")
    second.run("remit-sessions")
    second.answer("\t")
    second.until("the session", lambda: "Wrote it." in second.chat)
    assert "❯ write it" in second.chat
    second.run("remit-undo")
    second.until("it is undone", lambda: not (remit.workspace / "fresh.txt").exists())


def test_MOD_29_a_key_says_yes_until_anything_else_is_sent(start: Start, remit: CommandLine) -> None:
    path = remit.workspace / "c.txt"
    path.write_text("# FIXME: round\nkept\n")
    first = start("built-in")
    first.open("b.txt")
    first.run("remit-ask", "get rid of that FIXME in c.txt")
    first.until("the key is told", lambda: "  RET yes" in first.chat)
    first.run("remit-ask", "/status")
    first.until("nothing is offered", lambda: not first.state("remit--suggestion"))
    first.run("remit-ask", "get rid of that FIXME in c.txt")
    first.until("the key is told again", lambda: first.chat.count("  RET yes") == 2)
    first.close()
    second = start("built-in")
    second.open("b.txt")
    second.run("remit-sessions")
    second.answer("\t")
    second.until("the key is told once more", lambda: "  RET yes" in second.chat)
    second.run("remit-chat")
    second.type("\r")
    second.asked()
    second.run("remit-review")
    second.type("y")
    second.ended()
    second.until("the line is gone", lambda: "kept\n" in (path.read_text(), second.text_of("c.txt")))


def test_MOD_27_a_model_is_chosen_from_the_list_tried_and_kept(
    start: Start, script: Callable[..., str], remit: CommandLine
) -> None:
    editor = start(script({"text": "done"}))
    editor.open("b.txt")
    editor.run("remit-model", "built-in")
    kept = remit.config / "config.yaml"
    editor.until("it is kept", lambda: kept.is_file() and "built-in" in kept.read_text())
    editor.until("it is told", lambda: SAYS.messages_to_it_stay_on in editor.told)


def test_EMA_04_a_turn_is_stopped_and_a_lost_server_is_said(start: Start, script: Callable[..., str]) -> None:
    editor = start(script({"hang": True}, {"hang": True}))
    editor.open("b.txt")
    editor.run("remit-ask", "wait")
    editor.until("it runs", lambda: editor.state("remit--running"))
    editor.run("remit-ask", "another")
    editor.until("it is said", lambda: "still working" in editor.told)
    editor.run("remit-ask", "/background")  # BG-08: this is about the running turn, so it does not wait
    editor.until("it is answered", lambda: "no command runs now" in editor.chat)
    editor.run("remit-stop")
    editor.ended()
    assert "cancelled" in editor.chat
    editor.run("remit-ask", "wait")
    editor.until("it runs", lambda: editor.state("remit--running"))
    editor.eval("(progn (delete-process (jsonrpc--process (car remit--servers))) nil)")
    editor.until("it is said", lambda: "the server ended" in editor.chat)
    assert not editor.state("remit--running")
    editor.run("remit-chat")
    editor.run("remit-ask", "/status")
    editor.until("it runs again", lambda: "it stays on this machine" in editor.chat)


def test_EMA_05_what_is_missing_is_said(start: Start) -> None:
    editor = start("built-in")
    editor.run("remit-stop")
    editor.until("it is said", lambda: "M-x remit-start starts it" in editor.told)
    editor.run("remit-start")
    editor.until("it is said", lambda: "Open a file of a project first" in editor.told)
    editor.open("b.txt")
    editor.eval('(setq remit-command \'("no-such-program" "serve"))')
    editor.run("remit-start")
    editor.until("it is said", lambda: "There is no program ‘no-such-program’" in editor.told)


@pytest.mark.parametrize("started_in", ["~/", "/", "~/../"])
def test_EMA_06_a_whole_home_or_disk_is_no_workspace(start: Start, home: Path, started_in: str) -> None:
    editor = start("built-in")
    (home / "notes.txt").write_text("a note\n")
    editor.eval(f'(progn (setq command-line-default-directory (file-truename "{started_in}")) nil)')
    editor.open(str(home / "notes.txt"))
    editor.run("remit-start")
    editor.until("it is said", lambda: "whole home folder or disk" in editor.told)


def test_EMA_06_all_files_below_where_emacs_was_started_have_one_server(start: Start, remit: CommandLine) -> None:
    shutil.rmtree(remit.workspace / ".git")
    for name in ("one/a.txt", "two/b.txt"):
        (remit.workspace / name).parent.mkdir(exist_ok=True)
        (remit.workspace / name).write_text("x\n")
    editor = start("built-in")
    editor.open("one/a.txt")
    editor.run("remit-start")
    root = "(mapcar (lambda (each) (remit--server-root each)) remit--servers)"
    editor.until("it runs", lambda: editor.eval(root) == [f"{remit.workspace.resolve()}/"])
    editor.open("two/b.txt")
    editor.until("it is managed", lambda: editor.eval("(and (eglot-current-server) t)"))
    assert editor.eval("(project-current)") is None, "for others nothing has changed"
    assert editor.eval("(length remit--servers)") == 1
