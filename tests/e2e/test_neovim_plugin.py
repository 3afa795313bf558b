"""The Neovim plugin in the oldest supported and in a newer Neovim, which the test controls over msgpack-RPC
(NVI-01)."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pynvim
import pytest
from bench_runtime import call, intent
from command_line import REMIT, CommandLine
from messages import SAYS

from remit_governance.workflow.states import Mode
from remit_server.cli.commands.turns.demo import sample_workspace
from remit_server.cli.tdd_scenario import REQUEST, make_repository, script_of

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "client-neovim"
PATIENCE_S = 60.0
RULES = """\
version: 1
capabilities:
  - name: no-secrets
    match: { syscall: fs.read, path_glob: ["secret.txt"] }
    action: deny
  - name: the-rest
    match: { syscall: fs.read, path_glob: ["**"] }
    action: allow
"""
LINES = [f"line {n}\n" for n in range(40)]

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def changed(*numbers: int) -> str:
    return "".join(f"new {n}\n" if n in numbers else line for n, line in enumerate(LINES))


def attach(socket: Path) -> pynvim.Nvim:
    """Connects to a Neovim that has just been started, whose socket exists a moment before Neovim listens."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return pynvim.attach("socket", path=str(socket))
        except (FileNotFoundError, ConnectionRefusedError):
            assert time.monotonic() < end, "Neovim does not listen"
            time.sleep(0.02)


class Editor:
    """A Neovim in the workspace, with the plugin and nothing else."""

    def __init__(self, nvim: str, remit: CommandLine, model: str, home: Path, settings: str, **told: str) -> None:
        homes = {n: str(home / n) for n in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
        told = {**remit.environment, **homes, **({"REMIT_MODEL": model} if model else {}), **told}
        told["PATH"] = f"{REMIT.parent}:{remit.environment['PATH']}"
        socket = home / f"{len(list(home.glob('*.sock')))}.sock"
        command = [nvim, "--clean", "--headless", "-n", "-i", "NONE", "--listen", str(socket)]
        loaded = ["--cmd", f"set rtp^={PLUGIN}", "--cmd", f"let g:remit = #{{trusted: v:true{settings}}}"]
        self.process = subprocess.Popen(
            [*command, *loaded],
            cwd=remit.workspace,
            env=told,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.nvim = attach(socket)
        self.nvim.command("set columns=160 lines=60 noswapfile shortmess+=AFTI")
        self.nvim.exec_lua(
            """told = {}
            vim.notify = function(text) table.insert(told, text) end
            vim.ui.input = function(options, done) done(vim.g.typed) end
            vim.ui.select = function(items, options, done) done(items[1], 1) end"""
        )

    def open(self, path: str) -> None:
        self.nvim.command(f"edit {path}")
        self.until(
            "the server runs",
            lambda: self.lua("local it = require('remit.server').client() return it and it.initialized"),
        )

    def lua(self, code: str, *given: Any) -> Any:
        return self.nvim.exec_lua(code, *given)

    def until(self, what: str, holds: Callable[[], Any]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < end, f"waited for: {what}\n{self.chat}\n{self.told}"
            time.sleep(0.05)

    def remit(self, words: str) -> None:
        self.nvim.command(f"Remit {words}")

    def asked(self) -> None:
        self.until("a question", lambda: self.lua("return require('remit.turn').question ~= nil"))

    def ended(self) -> None:
        self.until("the turn ends", lambda: not self.lua("return require('remit.turn').running"))

    @property
    def chat(self) -> str:
        code = """for _, each in ipairs(vim.api.nvim_list_bufs()) do
          if vim.api.nvim_buf_get_name(each):find('remit://chat', 1, true) then
            return table.concat(vim.api.nvim_buf_get_lines(each, 0, -1, false), '\\n')
          end
        end return ''"""
        return str(self.lua(code))

    @property
    def told(self) -> list[str]:
        return list(self.lua("return told"))

    @property
    def text(self) -> str:
        return "\n".join(self.nvim.current.buffer[:]) + "\n"

    @property
    def virtual(self) -> list[str]:
        """What is drawn in the current buffer beside its text."""
        code = """local space = vim.api.nvim_get_namespaces()['remit.review']
        local found = {}
        for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })) do
          for _, line in ipairs(mark[4].virt_lines or {}) do table.insert(found, line[1][1]) end
          for _, part in ipairs(mark[4].virt_text or {}) do table.insert(found, part[1]) end
        end return found"""
        return list(self.lua(code))

    @property
    def ghost(self) -> list[str]:
        """The completion that the model suggests, as it is drawn."""
        code = """local space = vim.api.nvim_get_namespaces()['remit.ghost']
        local found = {}
        for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })) do
          table.insert(found, mark[4].virt_text[1][1])
          for _, line in ipairs(mark[4].virt_lines or {}) do table.insert(found, line[1][1]) end
        end return found"""
        return list(self.lua(code))

    def close(self) -> None:
        if self.process.poll() is None:
            with suppress(OSError, EOFError):  # Neovim leaves without an answer
                self.nvim.command("qa!")
            self.process.wait(PATIENCE_S)
            self.nvim.close()


@pytest.fixture
def start(nvim: str, remit: CommandLine, tmp_path: Path) -> Iterator[Callable[..., Editor]]:
    (remit.workspace / "b.txt").write_text("".join(LINES))
    started: list[Editor] = []

    def run(model: str, settings: str = "", **told: str) -> Editor:
        started.append(Editor(nvim, remit, model, tmp_path, settings, **told))
        return started[-1]

    yield run
    for each in started:
        each.close()


@pytest.fixture
def three(script: Callable[..., str]) -> str:
    """Returns a model that changes three places of a file."""
    step = {"calls": [intent("CODE"), call("write_file", path="b.txt", content=changed(2, 20, 37))]}
    return script(step, {"text": "Two are new.\nThe third is not."})


def test_NVI_01_nothing_is_loaded_before_the_first_use(start: Callable[[str], Editor]) -> None:
    editor = start("built-in")
    assert editor.lua("for name in pairs(package.loaded) do if name:find('^remit') then return name end end") is None
    assert editor.nvim.exec_lua("return require('remit').status()") == ""


def test_NVI_02_hunks_are_drawn_left_out_with_words_and_the_rest_allowed(
    start: Callable[[str], Editor], three: str, remit: CommandLine
) -> None:
    editor = start(three)
    editor.open("b.txt")
    editor.remit("make it new")
    editor.asked()
    assert sorted(editor.virtual) == [
        *(" hunk 1 of 3", " hunk 2 of 3", " hunk 3 of 3"),
        *("+ new 2", "+ new 20", "+ new 37"),
    ]
    assert editor.lua("return require('remit').status()") == "Remit: asks"
    editor.remit("next")
    editor.remit("next")
    assert editor.nvim.current.window.cursor[0] == 21
    editor.nvim.vars["typed"] = "the twentieth stays"
    editor.remit("comment")
    assert " hunk 2 of 3, left out" in editor.virtual
    editor.remit("previous")
    assert editor.nvim.current.window.cursor[0] == 3
    editor.remit("review")
    assert "remit://chat" in editor.nvim.current.buffer.name
    editor.nvim.input("y")
    editor.ended()
    assert "2 accepted, 1 left out" in editor.chat
    assert "Two are new.\nThe third is not." in editor.chat
    editor.nvim.command("wincmd p")
    assert (editor.text, editor.virtual) == (changed(2, 37), [])
    assert (remit.workspace / "b.txt").read_text() == "".join(LINES), "the person saves it"
    editor.nvim.command("silent undo")
    assert editor.text == "".join(LINES)
    log = remit("audit", "log", "--json").lines
    assert [r["metadata"].get("left_out") for r in log if r["kind"] == "approval_resolved"] == ["b.txt hunk 2"]


def test_FLW_06_strict_mode_from_the_request_to_the_commit_in_neovim(
    start: Callable[[str], Editor], script: Callable[..., str], remit: CommandLine, bwrap: str
) -> None:
    shutil.rmtree(remit.workspace)
    make_repository(sample_workspace(remit.workspace, "tdd"))
    *work, run, commit, done = script_of(Mode.STRICT)
    editor = start(script(*work, run, {"text": "It fails."}, run, {"text": "Please review."}, commit, done))
    status = "return require('remit').status()"
    editor.open("config.py")
    editor.remit("/strict")
    editor.until("the mode is shown", lambda: editor.lua(status) == "Remit [strict: idle]")
    editor.remit(REQUEST)
    answered = set[str]()
    question = "local it = require('remit.turn').question return it and it.event.approval_id"
    for state in ("test_writing", "test_writing", "code_writing", "code_writing"):
        editor.until("the next question", lambda: editor.lua(question) not in {None, *answered})
        answered.add(editor.lua(question))
        assert editor.lua(status) == f"Remit: asks [strict: {state}]"
        editor.lua("require('remit.turn').answer('allow', 'once')")
    editor.ended()
    assert "not saved in the editor: config.py; the person saves it" in editor.chat
    editor.nvim.command("silent write")
    editor.remit("it is saved")
    editor.until("the next question", lambda: editor.lua(question) not in {None, *answered})
    editor.lua("require('remit.turn').answer('allow', 'once')")
    editor.until("it waits for the review", lambda: editor.lua(status) == "Remit [strict: reviewing]")
    assert "state reviewing: nothing may be written. To committing: the person's /approve" in editor.chat
    editor.remit("/approve")
    editor.until("it is committed", lambda: editor.lua(status) == "Remit [strict: idle]")
    assert "allowed once: the review of exactly these files was approved" in editor.chat
    assert "committed 2 files" in editor.chat
    editor.remit("/new")
    editor.until("a new session is as it is configured", lambda: editor.lua(status) == "Remit")


def test_NVI_02_no_yes_before_the_end_of_the_question_was_seen(
    start: Callable[[str], Editor], script: Callable[..., str], remit: CommandLine
) -> None:
    content = "".join(f"line {n} of a new file\n" for n in range(200))
    editor = start(
        script({"calls": [intent("CODE"), call("write_file", path="long.txt", content=content)]}, {"text": "Done."})
    )
    editor.open("b.txt")
    editor.nvim.command("Remit open")
    editor.nvim.command("wincmd p")
    editor.remit("write it")
    editor.asked()
    editor.nvim.command("Remit open")
    editor.nvim.command("normal! gg")
    editor.nvim.input("y")
    editor.until("the refusal", lambda: any("scroll to the end" in each for each in editor.told))
    assert editor.lua("return require('remit.turn').question ~= nil")
    editor.nvim.command("normal! G")
    editor.nvim.input("y")
    editor.ended()
    assert (remit.workspace / "long.txt").read_text() == content


def test_NVI_02_a_no_with_words_reaches_the_model(
    start: Callable[[str], Editor], three: str, remit: CommandLine
) -> None:
    editor = start(three)
    editor.open("b.txt")
    editor.remit("make it new")
    editor.asked()
    editor.remit("review")
    editor.nvim.vars["typed"] = "not today"
    editor.nvim.input("N")
    editor.ended()
    assert "you said no: not today" in editor.chat
    editor.nvim.command("wincmd p")
    assert editor.text == "".join(LINES)


def test_NVI_03_the_lines_of_the_chat_and_their_completion(start: Callable[[str], Editor]) -> None:
    editor = start("built-in")
    editor.open("src/cart.py")
    # Completion does not wait long for a server that is still starting, so try again.
    wanted = ["/status", "/stats"]
    editor.until("the lines", lambda: editor.nvim.funcs.getcompletion("Remit /sta", "cmdline") == wanted)
    assert editor.nvim.funcs.getcompletion("Remit see @src/c", "cmdline") == ["@src/cart.py"]
    assert editor.nvim.funcs.getcompletion("Remit re", "cmdline") == ["redo", "refactor", "review"]
    editor.remit("/status")
    editor.until("the status", lambda: "it stays on this machine" in editor.chat)
    editor.remit("/nothing")
    editor.until("the error", lambda: "there is no command" in editor.chat)


def test_NVI_03_a_rename_by_the_code_action_and_by_words(start: Callable[[str], Editor], remit: CommandLine) -> None:
    before = (remit.workspace / "src/cart.py").read_text()
    editor = start("built-in")
    editor.open("src/cart.py")
    editor.nvim.funcs.search(r"\<total\>")
    editor.nvim.vars["typed"] = "subtotal"
    editor.nvim.command("lua vim.lsp.buf.code_action()")
    editor.asked()
    editor.remit("review")
    editor.nvim.input("y")
    editor.ended()
    editor.nvim.command("wincmd p")
    assert editor.text == before.replace("total", "subtotal")


def test_NVI_03_tasks_at_the_cursor_and_for_lines(start: Callable[[str], Editor], script: Callable[..., str]) -> None:
    editor = start(script({"text": "It adds."}, {"text": "Simpler now."}))
    editor.open("src/cart.py")
    editor.nvim.funcs.search(r"\<total\>")
    editor.remit("explain")
    editor.until("the answer", lambda: "It adds." in editor.chat)
    assert "❯ explain total in src/cart.py" in editor.chat
    editor.ended()
    editor.nvim.command("2,3Remit refactor")
    editor.until("the answer", lambda: "Simpler now." in editor.chat)
    assert "❯ refactor lines 2-3 of src/cart.py" in editor.chat


def test_LSP_13_lines_are_edited_as_words_say_and_go_along(
    start: Callable[[str], Editor], script: Callable[..., str], remit: CommandLine
) -> None:
    editing = {"path": "b.txt", "old_text": "line 2\n", "new_text": "LINE 2\n"}
    traffic = remit.workspace.parent / "traffic.jsonl"
    remit.environment["REMIT_RECORD"] = str(traffic)
    editor = start(script({"calls": [intent("CODE"), call("edit_file", **editing)]}, {"text": "Louder now."}))
    editor.open("b.txt")
    editor.nvim.command("3,4Remit edit make it louder")
    editor.asked()
    editor.until("the hunk is drawn", lambda: any("LINE 2" in each for each in editor.virtual))
    editor.remit("review")
    editor.nvim.input("y")
    editor.until("the answer", lambda: "Louder now." in editor.chat)
    assert "❯ make it louder" in editor.chat
    said = traffic.read_text()
    assert "Selected in b.txt, lines 3-4 (data, not a request):\\nline 2\\nline 3" in said


def test_LSP_12_what_the_model_would_write_is_drawn_and_accepted_or_gone_with_the_next_key(
    start: Callable[[str], Editor], script: Callable[..., str]
) -> None:
    editor = start(script({"at_cursor": True, "text": "three()\nfour()"}))
    editor.nvim.command("let g:remit = #{trusted: v:true, inline_completion: v:true}")
    if not editor.nvim.funcs.has("nvim-0.10"):
        editor.open("b.txt")
        assert editor.told == ["remit: inline_completion needs Neovim 0.10"]
        return
    editor.nvim.command("imap <C-l> <Plug>(RemitAccept)")
    editor.open("b.txt")
    drawn = "local it = require('remit.ghost').shown return it and it.column"
    editor.nvim.input("gg")
    editor.nvim.input("A + ")
    editor.until("it is drawn", lambda: editor.lua(drawn))
    assert editor.ghost == ["three()", "four()"]
    assert editor.text.startswith("line 0 + \n")
    editor.nvim.input("x")
    editor.until("the key took it away, and another one came", lambda: editor.lua(drawn) == 10)
    editor.nvim.input("<C-l>")
    editor.until("it is in the text", lambda: editor.text.startswith("line 0 + xthree()\nfour()\nline 1\n"))
    assert editor.ghost == []
    editor.nvim.input("<Esc>")
    editor.until("the text is left alone", lambda: editor.lua(drawn) is None)


def test_NVI_04_a_session_is_taken_up_again_and_a_turn_undone(
    start: Callable[[str], Editor], script: Callable[..., str], remit: CommandLine
) -> None:
    step = {"calls": [intent("CODE"), call("write_file", path="fresh.txt", content="hello\n")]}
    model = script(step, {"text": "Wrote it."})
    first = start(model)
    first.open("b.txt")
    first.remit("write it")
    first.asked()
    first.remit("review")
    first.nvim.input("y")
    first.ended()
    assert (remit.workspace / "fresh.txt").read_text() == "hello\n"
    first.close()
    second = start(model)
    second.open("b.txt")
    second.remit("sessions")
    second.until("the session", lambda: "Wrote it." in second.chat)
    assert "❯ write it" in second.chat
    second.nvim.command("wincmd p")
    fresh = remit.workspace / "fresh.txt"
    second.remit("undo")
    second.until("it is taken back", lambda: not fresh.exists())
    second.ended()
    assert ":Remit redo takes it back" in second.chat
    second.remit("redo")
    second.until("it is there again", fresh.exists)


def test_MOD_29_a_key_says_yes_until_anything_else_is_sent(start: Callable[[str], Editor], remit: CommandLine) -> None:
    path = remit.workspace / "c.txt"
    path.write_text("# FIXME: round\nkept\n")
    first = start("built-in")
    first.open("b.txt")
    first.remit("get rid of that FIXME in c.txt")
    first.until("the key is told", lambda: "  Enter yes" in first.chat)
    first.remit("/status")
    first.until("the answer", lambda: "❯ /status" in first.chat)
    first.remit("open")
    first.nvim.input("<CR>")
    first.remit("get rid of that FIXME in c.txt")
    first.until("the key is told again", lambda: first.chat.count("  Enter yes") == 2)
    assert "❯ yes" not in first.chat
    first.close()
    second = start("built-in")
    second.open("b.txt")
    second.remit("sessions")
    second.until("the key is told once more", lambda: "  Enter yes" in second.chat)
    second.nvim.input("<CR>")
    second.asked()
    second.nvim.input("y")
    second.ended()
    second.nvim.command("wall")
    second.until("the line is gone", lambda: path.read_text() == "kept\n")


def test_MOD_27_a_model_is_chosen_from_the_list_tried_and_kept(
    start: Callable[[str], Editor], script: Callable[..., str], remit: CommandLine
) -> None:
    model = script({"text": "done"})
    editor = start(model)
    editor.open("b.txt")
    editor.remit("model")  # the first of the list is the configured one
    kept = remit.config / "config.yaml"
    editor.until("it is kept", lambda: kept.is_file() and json.dumps(model) in kept.read_text())
    editor.until("it is told", lambda: any(SAYS.messages_to_it_stay_on in line for line in editor.told))


def test_MOD_27_from_an_empty_home_to_a_first_accepted_change_on_a_served_model(
    start: Callable[..., Editor], remit: CommandLine, first_change: tuple[str, str]
) -> None:
    """The person types three commands and an address, and presses one key."""
    reference, changed = first_change
    editor = start("")
    editor.nvim.exec_lua("vim.ui.select = function(items, _, done) done(items[#items], #items) end")
    editor.nvim.vars["typed"] = reference
    editor.open("src/cart.py")
    editor.remit("model")
    editor.until("it is told", lambda: any(SAYS.messages_to_it_stay_on in line for line in editor.told))
    editor.remit("call the total subtotal")
    editor.asked()
    editor.remit("review")
    editor.nvim.input("y")
    editor.until("the answer", lambda: "It is called subtotal." in editor.chat)
    editor.nvim.command("wall")
    assert (remit.workspace / "src/cart.py").read_text() == changed


def test_NVI_04_a_turn_is_stopped_and_a_lost_server_is_said_and_started_again(
    start: Callable[[str], Editor], script: Callable[..., str]
) -> None:
    editor = start(script({"hang": True}, {"hang": True}))
    editor.open("b.txt")
    editor.remit("wait")
    editor.until("it runs", lambda: editor.lua("return require('remit.turn').running"))
    editor.remit("another")
    assert any("still working" in each for each in editor.told)
    editor.remit("/background")  # BG-08: this is about the running turn, so it does not wait
    editor.until("it is answered", lambda: "no command runs now" in editor.chat)
    editor.remit("stop")
    editor.ended()
    assert "cancelled" in editor.chat
    editor.remit("wait")
    editor.until("it runs", lambda: editor.lua("return require('remit.turn').running"))
    editor.lua("vim.lsp.stop_client(require('remit.server').client().id, true)")
    editor.until("it is said", lambda: "the server ended" in editor.chat)
    editor.remit("/status")  # NVI-07: this starts the server again
    editor.until("it runs again", lambda: "it stays on this machine" in editor.chat)


def test_NVI_06_what_was_decided_leads_to_its_rule_and_policy_files_are_completed(
    start: Callable[..., Editor], script: Callable[..., str], remit: CommandLine
) -> None:
    policy = remit.config / "policy.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_text(RULES)
    steps = [{"calls": [intent("READ_FILE"), call("read_file", path=path)]} for path in ("b.txt", "secret.txt")]
    editor = start(script(*steps, {"text": "One is secret."}))
    editor.open("b.txt")
    editor.remit("read both")
    editor.until("the answer", lambda: "One is secret." in editor.chat)
    editor.ended()
    editor.remit("denied")
    editor.until("the list", lambda: editor.nvim.current.buffer.name.endswith("remit://audit"))
    (line,) = editor.nvim.current.buffer[:]
    assert all(word in line for word in ("denied", "read_file", "secret.txt", "(no-secrets)"))
    editor.nvim.input("<CR>")
    editor.until("the rule", lambda: editor.nvim.current.buffer.name == str(policy))
    assert editor.nvim.current.line == "  - name: no-secrets"
    editor.nvim.command("normal! G")
    editor.nvim.input("$ciw<C-x><C-o>")
    offered = "return vim.tbl_map(function(each) return each.word end, vim.fn.complete_info({ 'items' }).items)"
    editor.until("the completion", lambda: {"allow", "deny", "require_review"} <= set(editor.lua(offered)))


def test_NVI_07_a_question_that_nobody_answers_in_time_is_over(start: Callable[..., Editor], three: str) -> None:
    editor = start(three, REMIT_APPROVAL_TIMEOUT_S="2")
    editor.open("b.txt")
    editor.remit("make it new")
    editor.asked()
    editor.ended()
    assert "denied: nobody answered in time" in editor.chat
    assert (editor.text, editor.virtual) == ("".join(LINES), [])
    editor.remit("review")
    assert "Remit is not asking anything" in editor.told


def test_NVI_08_of_a_long_chat_the_first_lines_go(start: Callable[..., Editor], script: Callable[..., str]) -> None:
    lines = [f"line-{n}" for n in range(10_500)]
    editor = start(script({"text": "\n".join(lines)}, {"text": "Short."}))
    editor.open("b.txt")
    last = "return vim.fn.getbufline(vim.fn.bufnr('remit://chat'), '$')[1]"
    editor.remit("say much")
    done = "completed · 0 calls, no file changed"
    editor.until("the end", lambda: editor.lua(last) == done)
    editor.ended()
    assert editor.chat.splitlines()[-10_501:] == [*lines, done]
    editor.remit("and now")
    editor.until("the answer", lambda: editor.chat.endswith(f"Short.\n{done}"))
    assert editor.chat.startswith("… earlier lines are in the session")
    assert editor.chat.endswith(f"line-10499\n{done}\n\n❯ and now\nShort.\n{done}")
    assert len(editor.chat.splitlines()) < 10_010


def test_NVI_03_what_a_language_server_finds_is_fixed(
    start: Callable[..., Editor], script: Callable[..., str], remit: CommandLine
) -> None:
    (remit.workspace / "a.py").write_text("import os\n\nx = 1\n")
    step = {"calls": [intent("CODE"), call("write_file", path="a.py", content="x = 1\n")]}
    editor = start(script(step, {"text": "Mended."}))
    editor.open("a.py")
    other = """local id = vim.lsp.start_client({ name = 'ruff', cmd = { ... }, root_dir = vim.fn.getcwd() })
    vim.lsp.buf_attach_client(0, id)"""
    editor.lua(other, str(REMIT.with_name("ruff")), "server")
    found = "return vim.tbl_map(function(each) return each.message end, vim.diagnostic.get(0))"
    editor.until("what is wrong", lambda: any("`os` imported but unused" in each for each in editor.lua(found)))
    editor.remit("fix")
    editor.asked()
    assert "❯ fix what the editor shows at line 1 of a.py" in editor.chat
    editor.remit("review")
    editor.nvim.input("y")
    editor.ended()
    editor.nvim.command("wincmd p")
    assert editor.text == "x = 1\n"


def test_NVI_01_newer_versions_start_it_by_their_own_table(nvim: str, start: Callable[..., Editor]) -> None:
    editor = start("built-in", ", auto: v:false")
    if not editor.lua("return vim.lsp.enable ~= nil"):
        pytest.skip("this Neovim has no vim.lsp.enable")
    editor.lua("vim.lsp.enable('remit')")
    editor.open("b.txt")
    editor.remit("/status")
    editor.until("the status", lambda: "it stays on this machine" in editor.chat)


def test_NVI_05_checkhealth_says_what_is_missing_and_settings_are_checked(start: Callable[[str], Editor]) -> None:
    editor = start("built-in")
    editor.open("b.txt")
    editor.nvim.command("checkhealth remit")
    said = editor.text
    assert "the server runs" in said
    assert "remit 0." in said
    editor.lua("require('remit').setup({ cmd = { 'no-such-program' } })")
    editor.nvim.command("checkhealth remit")
    assert "there is no program `no-such-program`" in editor.text
    with pytest.raises(pynvim.NvimError, match="there is no setting `colour`"):
        editor.lua("require('remit').setup({ colour = 1 }) require('remit.config').get()")
    editor.nvim.command(f"helptags {PLUGIN}/doc")
    for topic in ("remit", ":Remit", "remit-settings", "remit-maps"):
        editor.nvim.command(f"help {topic}")


def test_B11_a_second_folder_is_a_workspace_of_its_own(
    start: Callable[[str], Editor], script: Callable[..., str], remit: CommandLine, tmp_path: Path
) -> None:
    """A request from a file of the second folder works in that folder, and does not touch the first one."""
    second = tmp_path / "second"
    second.mkdir()
    (second / "only.txt").write_text("before\n")
    (remit.workspace / "only.txt").write_text("the first folder's\n")
    step = {"calls": [intent("CODE"), call("write_file", path="only.txt", content="after\n")]}
    editor = start(script(step, {"text": "Wrote it."}))
    editor.open("b.txt")
    editor.lua("vim.lsp.buf.add_workspace_folder(...)", str(second))
    editor.open(f"{second}/only.txt")
    editor.remit("write it")
    editor.asked()
    assert "+ after" in editor.virtual
    editor.remit("review")
    editor.nvim.input("y")
    editor.ended()
    editor.nvim.command("wincmd p")
    assert editor.text == "after\n"
    assert (remit.workspace / "only.txt").read_text() == "the first folder's\n"


def test_NVI_03_what_a_command_printed_is_shown(
    bwrap: str, start: Callable[[str], Editor], script: Callable[..., str]
) -> None:
    step = {"calls": [intent("EXECUTE"), call("run_command", command="echo first; echo second; exit 3")]}
    editor = start(script(step, {"text": "So it was."}))
    editor.open("b.txt")
    editor.remit("run it")
    editor.asked()
    editor.remit("review")
    editor.nvim.input("y")
    editor.ended()
    assert "  $ echo first; echo second; exit 3" in editor.chat
    assert "\nfirst\nsecond\n✗ exit code 3" in editor.chat
    assert "So it was." in editor.chat


@pytest.mark.parametrize("open_file", ["edit fresh.txt", "enew | file fresh.txt"], ids=["new file", "named later"])
def test_NVI_01_a_new_file_is_attached_and_written_in_its_buffer(
    open_file: str, start: Callable[[str], Editor], remit: CommandLine, script: Callable[..., str]
) -> None:
    step = {"calls": [intent("CODE"), call("write_file", path="fresh.txt", content="hello\nworld\n")]}
    editor = start(script(step, {"text": "Wrote it."}))
    editor.open("b.txt")
    editor.nvim.command(open_file)
    editor.remit("write it")
    editor.asked()
    editor.remit("review")
    editor.nvim.input("y")
    editor.ended()
    editor.nvim.command("wincmd p")
    assert editor.text == "hello\nworld\n"
    assert not (remit.workspace / "fresh.txt").exists(), "the person saves it"
