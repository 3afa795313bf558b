"""The chat: one prompt line at the bottom, everything else goes up into the terminal's own scrollback (CLI-05)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import textwrap
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from prompt_toolkit import PromptSession
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText

from remit_governance.visible import visible, visible_again
from remit_server.chat.lines import Line, is_command, read_line
from remit_server.chat.replies import Chat
from remit_server.cli.chat.prompt import ChatCompleter, bind_keys, printed_above, typed_before
from remit_server.cli.chat.transcript import Transcript, draw_markdown
from remit_server.cli.commands.session import draw_part
from remit_server.cli.console import draw_details, draw_event, draw_parts, say, style_text
from remit_server.cli.main import STARTING
from remit_server.cli.new_ids import new_session, new_turn
from remit_server.cli.question import BECAUSE, MAX_COMMENT, Question
from remit_server.contract import ApprovalAnswer, ApprovalRequired, ContextPayload, InputPart, RunRequest
from remit_server.errors import RemitError
from remit_server.harness.ports import Asker, AskingStyle
from remit_server.models.choose import is_built_in
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.settings import Settings
from remit_server.sessions.export import parts
from remit_server.workspace.ports import NoDocuments

_STYLED = re.compile(r"\x1b\[[0-9;]*m")
TWICE_S = 2.0
"""Seconds within which a second Ctrl-C leaves the chat."""
LIVE_ROWS = 8
LONG_TURN_S = 30
MOST_WAITING = 3
SHOWN_ON_LOAD = 12
"""Number of a session's last parts that are shown when the session is continued."""
MOST_TOLD = 120
_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "ghostty", "WarpTerminal"})
_TERMS = frozenset({"xterm-kitty", "xterm-ghostty", "wezterm", "foot"})
_MULTIPLEXERS = ("TMUX", "STY")
"""Variables of terminal multiplexers, which may show a sequence that they do not know as text."""


KEYS = "Alt-Enter begins a new line, Ctrl-C stops the turn; press Ctrl-C twice to leave"


async def open_chat(read: Callable[[], Settings], session: str | None, asker: Asker | None = None) -> None:
    """Runs the chat until the person leaves, in the session with this id or in a new one. Raises RemitError."""
    settings = read()
    runtime = await open_runtime(settings, NoDocuments(), read_again=read)
    try:
        now = runtime.status()
        where = f" · sent to {now.sent_to}" if now.sent_to else ""
        here = visible(str(settings.workspace), "show")
        say(f"{style_text('Remit', 'bold')} · {visible(now.model, 'show')}{where} · {here}".ljust(len(STARTING)))
        if is_built_in(settings.config.model.name):
            say("The built-in model does small edits and searches by rules.")
            say("/model connects a language model.")
        say(style_text("/help lists what you can type. Your rules and your answers decide what is done.", "dim"))
        chat = TerminalChat(Chat(runtime, settings, session or new_session(), new_session, keys=KEYS), asker)
        if session is not None:
            await runtime.recall(session)
            await chat.show_session(session)
        await chat.run()
        say(style_text(f"`remit --resume {chat.chat.session}` continues this session", "dim"))
    finally:
        await runtime.close()


@dataclass(frozen=True, slots=True)
class Typed:
    """A typed line: `shown` has a placeholder for each long paste, `text` has the pasted text itself."""

    shown: str
    text: str

    def line(self, width: int) -> str:
        """Returns the beginning of `shown`, on one line of at most `width` characters."""
        one = visible(" ".join(self.shown.split()), "show")
        return one if len(one) <= width else f"{one[: max(1, width - 1)]}…"


@dataclass(slots=True)
class TerminalChat:
    """The chat in this terminal. It asks the questions unless another asker is given, and the keys act on it."""

    chat: Chat
    asker: Asker | None = None
    style: AskingStyle = "callback"
    turn: asyncio.Task[None] | None = None
    question: Question | None = None
    waiting: deque[Typed] = field(default_factory=deque["Typed"])
    pastes: dict[str, str] = field(default_factory=dict[str, str])
    transcript: Transcript = field(init=False)
    session: PromptSession[str] = field(init=False)
    _answer: asyncio.Future[ApprovalAnswer] | None = None
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _draft: str = ""
    _interrupted_at: float = -TWICE_S
    _leaving: bool = False
    _began: float = 0.0

    def __post_init__(self) -> None:
        self.transcript = Transcript(say, self._redraw, lambda: shutil.get_terminal_size().columns)
        self.session = PromptSession(
            message=self._message,
            bottom_toolbar=self._toolbar,
            multiline=True,
            key_bindings=bind_keys(self),
            completer=ChatCompleter(self.chat),
            complete_while_typing=Condition(self._completes),
            history=typed_before(self.chat.settings.state),
            enable_history_search=False,
            prompt_continuation="  ",
            mouse_support=False,
            enable_suspend=True,
            erase_when_done=True,  # `_take` prints the line when it is sent, which may be later
        )

    async def run(self, first: str | None = None) -> None:
        """Takes messages until the person leaves; `first` is sent at once."""
        with printed_above():
            if first:
                await self._take(Typed(first, first))
            while not self._leaving:
                try:
                    text = await self.session.prompt_async(default=self._draft)
                except EOFError:
                    break
                if self.telling:
                    self._deny_because(text)
                else:
                    self._draft = ""
                    await self._take(Typed(text, self._expand(text)))
            await self._end_turn()

    async def show_session(self, session_id: str) -> None:
        """Shows the first part and the last parts of a session that is continued."""
        folder = self.chat.runtime.sessions
        records = await asyncio.to_thread(lambda: folder.read(folder.find(session_id)))
        shown = [part for part in parts(records) if (part.text or part.kind != "model") and not part.to_model]
        for part in [*shown[:1], *shown[1:][-SHOWN_ON_LOAD:]]:
            if part.kind == "model":
                say(style_text(visible_again(part.heading, "show"), "green"))
                say(draw_markdown(part.text, self.transcript.columns()))
            else:
                for line in draw_part(part, whole=False):
                    say(line)

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Shows a question, page by page if it is long, and waits for the key that answers it."""
        lines = [line for text in draw_event(question) for line in text.split("\n")]
        async with self._one_at_a_time:
            details = list(draw_details(question))
            self.question = Question(question, lines, time.monotonic(), draw_parts(question), details)
            self._answer = asyncio.get_running_loop().create_future()
            self._show_page(self._rows())
            self._call_back(f"asks: {question.title}")
            try:
                return await self._answer
            finally:
                if self.question.words and self._answer.cancelled():
                    self._give_draft_back()
                self.question = self._answer = None
                self._redraw()

    @property
    def asking(self) -> bool:
        """Whether a question waits for a key."""
        return self.question is not None and not self.question.words

    @property
    def telling(self) -> bool:
        """Whether the person is typing why they answer no."""
        return self.question is not None and self.question.words

    def press(self, key: str) -> None:
        """Takes a key while a question waits."""
        question, now = self.question, time.monotonic()
        if question is None or self._answer is None or self._answer.done():
            return
        if question.unseen and key in {" ", "g"}:
            self._show_page(self._rows() if key == " " else len(question.unseen))
            self._redraw()
            return
        unseen = question.unseen
        if (answer := question.press(key, now)) is not None:
            self._answer.set_result(answer)
        elif question.words:
            self._set_draft_aside()
        elif question.unseen is not unseen:
            self._show_page(self._rows())
        self._redraw()

    def _set_draft_aside(self) -> None:
        """Saves the message that the person had begun, so that they can type why they say no."""
        self._draft = self.session.default_buffer.text
        self.session.default_buffer.reset()

    def _deny_because(self, words: str) -> None:
        """Answers the question with a no, and with the typed words as its comment."""
        if self.question is not None and self._answer is not None and not self._answer.done():
            self._answer.set_result(self.question.answer(None, " ".join(words.split())[:MAX_COMMENT] or None))

    def _give_draft_back(self) -> None:
        """Restores the saved message, because the question ended while the person typed why they say no."""
        self.session.default_buffer.reset(Document(self._draft))
        self._draft = ""

    def interrupt(self, typed: bool) -> bool:
        """Takes Ctrl-C: it stops the turn, else clears what was typed; the second one within two seconds leaves."""
        now = time.monotonic()
        again, self._interrupted_at = now - self._interrupted_at < TWICE_S, now
        running = self.turn is not None
        if again and not typed:
            self._leaving = True
            self.session.app.exit(exception=EOFError)
        elif running:
            self.chat.runtime.cancel(self.chat.session)
            say(style_text("stopping; press Ctrl-C again to leave", "dim"))
        elif not typed:
            say(style_text("press Ctrl-C again or Ctrl-D to leave", "dim"))
        return typed and not running

    def keep_paste(self, text: str) -> str:
        """Keeps a long paste; returns the word that stands for it in the prompt line."""
        word = f"[pasted {len(self.pastes) + 1}: {text.count(chr(10)) + 1:,} lines]"
        self.pastes[word] = text
        return word

    def _expand(self, text: str) -> str:
        for word, pasted in self.pastes.items():
            text = text.replace(word, pasted)
        self.pastes.clear()
        return text

    async def _take(self, typed: Typed) -> None:
        if not typed.text.strip():
            return
        if self.turn is not None and not is_command(typed.text):
            self.waiting.append(typed)
            self._redraw()
            return
        say(style_text("❯ ", "bold") + visible(typed.shown).replace("\n", "\n  "))
        try:
            await self._follow(await read_line(self.chat, typed.text))
        except RemitError as error:
            _complain(error)

    async def _follow(self, line: Line) -> None:
        """Carries out what a line asks for."""
        if line.text:
            say(draw_markdown(line.text, self.transcript.columns()))
        if line.shows is not None:
            await self.show_session(line.shows)
        if line.parts:
            if self.turn is not None:
                say(style_text("a turn is running: Ctrl-C stops it", "yellow"))
                return
            self._begin(line.parts)
        self._leaving = self._leaving or line.leaves

    def _begin(self, message: Sequence[InputPart]) -> None:
        self.turn = asyncio.get_running_loop().create_task(self._run_turn(message))

    async def _run_turn(self, message: Sequence[InputPart]) -> None:
        self._began = time.monotonic()
        chat = self.chat
        try:
            request = RunRequest(
                session_id=chat.session,
                turn_id=new_turn(),
                input=tuple(message),
                model=chat.model,
                context=ContextPayload(workspace_folder=str(chat.settings.workspace)),
            )
            for notice in await chat.runtime.reload():
                say(style_text(visible(notice.message, "show"), "dim" if notice.good else "yellow"))
            await chat.runtime.run(request, self.transcript.take, self.asker or self)
        except RemitError as error:
            _complain(error)
        finally:
            if time.monotonic() - self._began > LONG_TURN_S:
                self._call_back("has finished")
            self.turn = None
            self._redraw()
        if self.waiting and not self._leaving:
            await self._take(self.waiting.popleft())

    async def _end_turn(self) -> None:
        if self.turn is not None:
            self.chat.runtime.cancel(self.chat.session)
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([self.turn], timeout=10)

    def _show_page(self, rows: int) -> None:
        if self.question is not None:
            for line in self.question.next_page(rows, self._height, time.monotonic()):
                say(line)

    def _height(self, line: str) -> int:
        return 1 + (len(_STYLED.sub("", line)) - 1) // max(1, self.transcript.columns())

    def _rows(self) -> int:
        return max(5, shutil.get_terminal_size().lines - 2)

    def _call_back(self, words: str) -> None:
        """Notifies the person, who may look elsewhere, by the terminal's bell and, if possible, on the desktop."""
        output = self.session.app.output
        output.bell()
        output.write_raw(notification(words, os.environ))
        output.flush()

    def _redraw(self) -> None:
        if self.session.app.is_running:
            self.session.app.invalidate()

    def _completes(self) -> bool:
        """Returns whether completions show while the person types: commands do, files only after Tab."""
        return self.session.default_buffer.text.startswith("/")

    def _message(self) -> AnyFormattedText:
        if self.question is not None:
            words = BECAUSE if self.question.words else f"{self.question.line} "
            return ANSI(style_text(words, "yellow"))
        rows = min(LIVE_ROWS, shutil.get_terminal_size().lines - 4)
        waiting = [style_text(f"  then: {each.line(self.transcript.columns() - 10)}", "dim") for each in self.waiting]
        return ANSI("\n".join([*self.transcript.live(rows), *waiting[:MOST_WAITING], style_text("❯ ", "bold")]))

    def _toolbar(self) -> AnyFormattedText:
        """Returns the line with the state of the work and what a key does now; parts that do not fit are left out."""
        now = self.chat.runtime.status(self.chat.session, self.chat.model)
        running = f"running {time.monotonic() - self._began:.0f} s, Ctrl-C stops"
        return fit_bar(
            [
                (0, f"{now.mode}: {now.state}"),
                (0, "edits allowed" if now.edits == "allow" else ""),
                (2, f"[{self.transcript.intent}]" if self.transcript.intent else ""),
                (1, visible(now.model, "show") + (f" → {now.sent_to}" if now.sent_to else "")),
                (3, f"{self.transcript.context:,} tokens in context" if self.transcript.context else ""),
                (4, self.chat.session),
                (0, running if self.turn is not None else "/help"),
                (0, f"{len(self.waiting)} waiting" if self.waiting else ""),
            ],
            self.transcript.columns(),
        )


def fit_bar(parts: Sequence[tuple[int, str]], columns: int) -> str:
    """Returns the parts on one line of at most `columns`: drops the parts of the highest rank first, never rank 0."""
    kept = [(rank, text) for rank, text in parts if text]
    while len(line := " · ".join(text for _, text in kept)) > columns and any(rank for rank, _ in kept):
        kept.remove(max(kept, key=lambda part: part[0]))
    return line


def _complain(error: RemitError) -> None:
    payload = error.payload()
    say(style_text(f"{visible_again(payload.what)}: {visible_again(payload.why)}", "red"))
    say(f"  fix: {visible_again(payload.fix)}")


def notification(words: str, environment: Mapping[str, str]) -> str:
    """Returns the OSC 9 sequence for a terminal that is known to take it, or an empty string."""
    known = environment.get("TERM_PROGRAM") in _PROGRAMS or environment.get("TERM") in _TERMS
    if not known or any(environment.get(name) for name in _MULTIPLEXERS):
        return ""
    text = textwrap.shorten(visible(f"Remit {words}", "show"), MOST_TOLD, placeholder=" …")
    return f"\x1b]9;{text}\x07"
