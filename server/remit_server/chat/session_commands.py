"""Chat commands about sessions, about undoing changes, and about the workflow: its mode, its review, its budget
(FLW-07).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from pydantic import JsonValue

from remit_governance.values import Intent
from remit_governance.visible import visible_again
from remit_governance.workflow.states import Mode, State
from remit_server.chat.replies import Chat, NotUnderstood, Reply
from remit_server.contract import CallInput, SessionSummary
from remit_server.counted import counted
from remit_server.errors import os_reason
from remit_server.machine.wall_clock import timestamp, utc_now
from remit_server.sessions.export import to_html, to_markdown
from remit_server.tools.edit.undo_changes import UNDO_CHANGES
from remit_server.tools.workflow.review_work import REVIEW_WORK
from remit_server.tools.workflow.set_mode import SET_MODE

SHOWN = 10


async def sessions(chat: Chat, words: str) -> Reply:
    """Lists the sessions, or only those whose name or title has the words."""
    found = list(await asyncio.to_thread(chat.runtime.sessions.list))
    lines = [
        _line(number, each, current=each.session_id == chat.session)
        for number, each in enumerate(found, 1)
        if words.casefold() in f"{each.name or ''} {each.title}".casefold()
    ]
    more = [f"\nand {len(lines) - SHOWN} more: `remit session list`"] if len(lines) > SHOWN else []
    return Reply("\n".join([*lines[:SHOWN], *more]) or "This folder has no sessions yet.")


async def load(chat: Chat, words: str) -> Reply:
    """Continues another session."""
    if not words:
        raise NotUnderstood("no session was loaded", "none was named", "type `/load 2`; `/sessions` lists them")
    found = await asyncio.to_thread(chat.runtime.sessions.find, words)
    chat.session = found.session_id
    await chat.runtime.recall(chat.session)
    return Reply(shows=found.session_id)


async def new(chat: Chat, words: str) -> Reply:
    """Begins another session."""
    del words
    chat.session = chat.new_id()
    return Reply("This is a new session; `/sessions` lists the earlier ones.", clears=True)


async def save(chat: Chat, words: str) -> Reply:
    """Gives the session a name. Sessions are saved even without a name."""
    folder = chat.runtime.sessions
    found = await asyncio.to_thread(folder.find, chat.session)
    await asyncio.to_thread(folder.rename, found, words, timestamp(utc_now()))
    return Reply(f"This session is now called `{' '.join(words.split())}`.")


async def session(chat: Chat, words: str) -> Reply:
    """Shows the session, and where its file is."""
    del words
    folder = chat.runtime.sessions
    found = await asyncio.to_thread(folder.find, chat.session)
    return Reply(f"{_line(0, found, current=True)}\n- file: `{folder.path / found.file}`")


async def fork(chat: Chat, words: str) -> Reply:
    """Copies the session and continues in the copy. A number says which message is the last that is copied."""
    if words and not words.isdecimal():
        raise NotUnderstood("the session was not copied", f"no message has the number `{words}`", "try `/fork 3`")
    folder = chat.runtime.sessions
    found, copy = await asyncio.to_thread(folder.find, chat.session), chat.new_id()
    await asyncio.to_thread(folder.fork, found, copy, timestamp(utc_now()), int(words) if words else None)
    chat.session = copy
    return Reply(f"You are now in a copy. `{found.session_id}` does not change.")


async def export(chat: Chat, words: str) -> Reply:
    """Writes the session to a new file, as HTML if its name ends in `.html` or `.htm`, else as Markdown."""
    if not words:
        raise NotUnderstood("nothing was exported", "no file was named", "try `/export talk.md`, or `talk.html`")
    folder = chat.runtime.sessions

    def write() -> None:
        records, path = folder.read(folder.find(chat.session)), Path(words).expanduser()
        text = to_html(records) if path.suffix.lower() in {".html", ".htm"} else to_markdown(records)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)

    try:
        await asyncio.to_thread(write)
    except OSError as error:
        why = f"{words}: {os_reason(error)}"
        raise NotUnderstood("nothing was exported", why, "name a new file") from error
    return Reply(f"The session was written to `{words}`.")


async def undo(chat: Chat, words: str) -> Reply:
    """Undoes what the last turn changed, or only its changes of the named file."""
    del chat
    return Reply(call=_take_back("undo", words))


async def redo(chat: Chat, words: str) -> Reply:
    """Redoes what was undone, or only the changes of the named file."""
    del chat
    return Reply(call=_take_back("redo", words))


def _take_back(direction: str, words: str) -> CallInput:
    arguments: dict[str, JsonValue] = {"direction": direction}
    if words:
        arguments["paths"] = [words]
    return CallInput(tool=UNDO_CHANGES.name, arguments=arguments, intent=Intent.CODE)


def _line(number: int, each: SessionSummary, *, current: bool) -> str:
    called = f"**{visible_again(each.name, 'show')}** · " if each.name else ""
    here = " · this one" if current else ""
    when = each.last_used[:16].replace("T", " ")
    mark = f"{number}." if number else "-"
    title = visible_again(each.title, "show") or "Untitled"
    return f"{mark} {called}{title} ({when}, {counted(each.turns, 'turn')}{here})"


def switch_to(mode: Mode) -> Callable[[Chat, str], Awaitable[Reply]]:
    """Returns the command that switches to a mode. It makes a call, so that it is judged and audited like any other."""

    async def switch(chat: Chat, words: str) -> Reply:
        del chat, words
        return Reply(call=mode_call(mode))

    return switch


async def budget(chat: Chat, words: str) -> Reply:
    """Shows the coverage budget, and what unlocks explore mode if it is locked (FLW-08)."""
    del words
    return Reply("\n".join(f"- {line}" for line in chat.runtime.budget()))


async def approve(chat: Chat, words: str) -> Reply:
    """Approves the work under review, and has it committed (FLW-10)."""
    await _need_review(chat)
    said = "The review is approved: commit the work with git_commit, and change nothing before."
    return Reply(call=_review_call("approve"), message=f"{said} {words}".strip())


async def reject(chat: Chat, words: str) -> Reply:
    """Sends the work under review back to the model, with a message that says what to do, if there is one (FLW-10)."""
    await _need_review(chat)
    return Reply(call=_review_call("reject"), message=words or None)


async def tests(chat: Chat, words: str) -> Reply:
    """Asks for tests of the work under review before it is committed (FLW-14)."""
    await _need_review(chat, "; to have some written, ask for them in a message")
    said = "Tests come before this commit: write tests of what was changed, and nothing else, then run all tests."
    return Reply(call=_review_call("tests"), message=f"{said} {words}".strip())


async def _need_review(chat: Chat, otherwise: str = "") -> None:
    """Raises NotUnderstood if nothing is under review. `otherwise` says what else the person may have meant."""
    await chat.runtime.recall(chat.session)
    state = chat.runtime.status(chat.session).state
    if state not in {State.REVIEWING, State.COMMITTING, State.RETROACTIVE_TESTING}:
        fix = (
            f"review begins once all tests pass, or when a commit needs your yes{otherwise}; `/status` shows the state"
        )
        raise NotUnderstood("there is nothing to review", f"the work is in state `{state}`", fix)


def _review_call(answer: str) -> CallInput:
    return CallInput(tool=REVIEW_WORK.name, arguments={"answer": answer}, intent=Intent.PLAN)


def mode_call(mode: Mode) -> CallInput:
    """Returns the person's own call that switches to a mode."""
    return CallInput(tool=SET_MODE.name, arguments={"mode": mode.value}, intent=Intent.PLAN)
