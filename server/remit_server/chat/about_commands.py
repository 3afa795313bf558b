"""Chat commands that show or set something: tools, processes, model, edits, policy, audit, the session's figures."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from remit_governance.intents import allowed_tools
from remit_governance.values import Intent
from remit_governance.visible import visible_again
from remit_server.chat.figures import describe_statistics
from remit_server.chat.mentions import kind_of_path
from remit_server.chat.replies import Chat, NotUnderstood, Reply
from remit_server.contract import (
    AssistantSaid,
    CallInput,
    EditsAsked,
    ErrorCode,
    FileAttachment,
    PrefixSent,
    SessionRecord,
    StatusResult,
)
from remit_server.errors import RemitError
from remit_server.models.built_in.provider import BUILT_IN_MODEL
from remit_server.models.check import why_not_there
from remit_server.models.finding import advice, find_choices
from remit_server.models.remote.engines import sent_to
from remit_server.runtime.connecting import where_messages_go, whole
from remit_server.sessions.statistics import count
from remit_server.tools.background.publish_port import PUBLISH_PORT
from remit_server.tools.background.stop_process import STOP_PROCESS
from remit_server.tools.skills.skill_file import SKILL_OF
from remit_server.tools.table import TOOLS

EDITS: Mapping[str, EditsAsked] = {"each": "each", "turn": "turn", "allow": "allow"}
SAID: Mapping[EditsAsked, str] = {
    "each": "You are asked before each edit.",
    "turn": "From the next message on, edits are collected, and you are asked about them when the turn ends.",
    "allow": "Edits of files in this workspace are made without asking, until this session ends. "
    "You are still asked about commands, and about edits that always need a question.",
}


async def tools(chat: Chat, words: str) -> Reply:
    """Lists for each intent the tools that it opens."""
    del words
    lines, there = list[str](), chat.runtime.tools
    effects = {each.name: each.effect for each in there.own}
    for intent in chat.runtime.matrix:
        opened = allowed_tools(intent, chat.runtime.matrix, effects)
        if names := [name for name in opened if name in there and not there[name].person_only]:
            lines.append(f"**{intent}**")
            lines += [f"- `{name}`: {visible_again(there[name].summary)}" for name in names]
            lines.append("")
    return Reply("\n".join([*lines, *there.problems]))


async def reload_tools(chat: Chat, words: str) -> Reply:
    """Looks for the person's own tools again, and reads each one's description anew."""
    del words
    tools = chat.runtime.tools
    await tools.reload(anew=True)
    told = [f"- `{each.name}`: {visible_again(each.summary)}" for each in tools.own]
    count = f"{len(TOOLS)} built-in tools, {len(told)} of your own"
    return Reply("\n".join([count, *told, *tools.problems]))


async def skills(chat: Chat, words: str) -> Reply:
    """Lists the skills that can be used, and the problems of those that cannot."""
    del words
    await chat.runtime.tools.reload()
    found = chat.runtime.tools.skills
    lines = [f"- `{each.name}` ({SKILL_OF[each.of]}): {visible_again(each.description)}" for each in found.skills]
    none = "there are no skills here: docs/skills.md says where they lie"
    return Reply("\n".join([*(lines or [none]), *map(visible_again, found.problems)]))


async def processes(chat: Chat, words: str) -> Reply:
    """Lists the processes in the background, ends one, or publishes a port of one on this machine (BG-06, BG-07)."""
    if words:
        return Reply(call=_process_call(words.split()))
    await chat.runtime.recall(chat.session)
    found = chat.runtime.status(chat.session).processes
    lines = [f"- {visible_again(each.means, 'show')}" for each in found]
    return Reply("\n".join(lines) or "Nothing was started in the background.")


async def background(chat: Chat, words: str) -> Reply:
    """Sends the command that runs now to the background (BG-08)."""
    del words
    process = chat.runtime.send_to_background(chat.session)
    fix = f"`/processes stop {process}` ends it"
    return Reply(f"It goes on as {process}; what it has written and writes is thrown away. {fix}.")


def _process_call(words: Sequence[str]) -> CallInput:
    match words:
        case ["stop", process]:
            return CallInput(tool=STOP_PROCESS.name, arguments={"process": process}, intent=Intent.EXECUTE)
        case ["publish", process, port] if port.isdecimal():
            arguments: dict[str, JsonValue] = {"process": process, "port": int(port)}
            return CallInput(tool=PUBLISH_PORT.name, arguments=arguments, intent=Intent.EXECUTE)
        case _:
            fix = "type `/processes`, `/processes stop p1` or `/processes publish p1 8000`"
            said = " ".join(words)
            raise NotUnderstood("nothing was done", f"`/processes` does not take `{said}`", fix)


def process_choices(chat: Chat) -> Sequence[str]:
    """Returns what may follow `/processes`."""
    running = [each for each in chat.runtime.status(chat.session).processes if each.running]
    stops = [f"stop {each.process}" for each in running]
    return (*stops, *(f"publish {each.process} {port}" for each in running for port in each.ports))


async def status(chat: Chat, words: str) -> Reply:
    """Shows the session's model, policy, workflow state, audit log and sandbox."""
    del words
    await chat.runtime.recall(chat.session)
    now = chat.runtime.status(chat.session, chat.model)
    rows = {
        "workspace": str(chat.settings.workspace),
        "session": chat.session,
        "model": f"{now.model} ({now.model_state})",
        "sent to": now.sent_to or "nowhere: it stays on this machine",
        "edits": SAID[now.edits],
        "workflow": (now.state_means or f"{now.mode} mode, {now.state}").removeprefix("workflow: "),
        "policy": _policy_in_force(now),
        "audit": now.audit_problem or "fine",
        "sandbox": now.sandbox,
    }
    return Reply("\n".join(f"- {name}: {visible_again(value, 'show')}" for name, value in rows.items()))


async def model(chat: Chat, words: str) -> Reply:
    """Lists the models that can be used, or switches to one from the next message on."""
    if not words:
        return Reply("\n".join(await _models(chat)))
    if (problem := await why_not_there(whole(words))) is not None:
        raise NotUnderstood(f"the model is still `{_model_of(chat)}`", f"{problem.what}: {problem.why}", problem.fix)
    chat.model = words
    return Reply(f"From your next message on, the model is `{words}`. {where_messages_go(sent_to(words))}")


def _model_of(chat: Chat) -> str:
    return chat.model or chat.runtime.status().model


async def _models(chat: Chat) -> Sequence[str]:
    """Returns the lines of the list of models. Looks for model servers at the usual ports of this machine, which it may
    do because the person asked for the list."""
    now, choices = _model_of(chat), await find_choices(os.environ, chat.settings.config.model.name)
    host = sent_to(chat.model) if chat.model else chat.runtime.status().sent_to
    chat.found = tuple(each.reference for each in choices if each.problem is None)
    rows = [
        f"- `/model {each.reference}{'' if each.whole else 'NAME'}`: {visible_again(each.about, 'show')}"
        + (f", sent to {each.sent_to}" if each.sent_to else "")
        + (f"; cannot be used: {visible_again(each.problem, 'show')}" if each.problem else "")
        for each in choices
    ]
    keep = "`remit model use NAME` in a terminal sets it for all sessions."
    more = advice(choices) or keep
    return [f"The model is `{now}`. {where_messages_go(host)}", "", *rows, "", more]


def models(chat: Chat) -> Sequence[str]:
    """Returns the models that `/model` listed last in this chat, and the built-in one."""
    return chat.found or (BUILT_IN_MODEL,)


async def edits(chat: Chat, words: str) -> Reply:
    """Shows or sets when the session asks about edits (APP-10, APP-15)."""
    if words and words not in EDITS:
        fix = "type `/edits each`, `/edits turn` (one review at the end) or `/edits allow` (no question)"
        raise NotUnderstood("nothing was changed", f"`/edits` does not take `{words}`", fix)
    now = chat.runtime.edits(chat.session, EDITS.get(words))
    others = " or ".join(f"`/edits {other}`" for other in EDITS if other != now)
    return Reply(f"{SAID[now]} {others} changes that.")


def times(chat: Chat) -> Sequence[str]:
    """Returns what may follow `/edits`."""
    del chat
    return tuple(EDITS)


async def stats(chat: Chat, words: str) -> Reply:
    """Shows the session's figures: tokens, cost, tools and time."""
    del words
    lines = list[str]()
    for heading, told in describe_statistics(count(await _records(chat))):
        lines += [f"**{heading}**", *(f"- {visible_again(line.strip(), 'show')}" for line in told), ""]
    return Reply("\n".join(lines))


async def context(chat: Chat, words: str) -> Reply:
    """Shows how much the model was sent for its last answer, and how often the conversation was condensed."""
    del words
    records = await _records(chat)
    answers = [each for each in records if isinstance(each, AssistantSaid)]
    if not answers:
        return Reply("Nothing has been sent to the model in this session.")
    last = answers[-1].tokens
    condensed = sum(isinstance(each, PrefixSent) for each in records)
    lines = [
        f"- the model was sent {last.context or last.input:,} tokens at once for its last answer",
        f"- that answer took {last.input:,} tokens in ({last.cached:,} of them cached), {last.output:,} out",
        f"- condensed {condensed} times; all of it is kept in the session",
        f"- pinned for the next message: {', '.join(f'`{each.path}`' for each in chat.pinned) or 'nothing'}",
    ]
    return Reply("\n".join(lines))


async def pin(chat: Chat, words: str) -> Reply:
    """Attaches a file to the next message; the file's text stays when the conversation is condensed."""
    if not words:
        raise NotUnderstood("nothing was pinned", "no file was named", "try `/pin docs/style.md`")
    if kind_of_path(chat.settings.workspace, words) != "file":
        raise NotUnderstood("nothing was pinned", f"`{words}` is not a file", "name one by its path in this folder")
    chat.pinned.append(FileAttachment(path=words, pinned=True))
    return Reply(f"`{words}` goes with the next message, and stays when the conversation is condensed.")


async def policy(chat: Chat, words: str) -> Reply:
    """Shows which policy is in force, and where its files are."""
    del words
    now, settings = chat.runtime.status(), chat.settings
    lines = [
        f"- in force: {_policy_in_force(now)}",
        f"- yours: `{settings.person_policy}`{_missing(settings.person_policy)}",
        f"- the project's, which may only tighten: `{settings.project_policy}`{_missing(settings.project_policy)}",
        "- `remit policy show` lists every rule, `remit policy explain` says what they would decide",
    ]
    return Reply("\n".join(lines))


def _policy_in_force(now: StatusResult) -> str:
    """Returns what the policy in force is made of, what of it on disk is not in force, and its version."""
    broken = f"; what is on disk is not in force: {now.policy_problem.why}" if now.policy_problem else ""
    return f"{', '.join(now.policy_layers)}{broken}; version {now.policy}"


def _missing(path: Path) -> str:
    return "" if path.exists() else " (missing)"


async def audit(chat: Chat, words: str) -> Reply:
    """Verifies the audit log."""
    del words
    holds, said = await chat.runtime.verify_audit()
    return Reply(f"{'✓' if holds else '✗'} {said}")


async def _records(chat: Chat) -> tuple[SessionRecord, ...]:
    folder = chat.runtime.sessions

    def read() -> tuple[SessionRecord, ...]:
        return tuple(folder.read(folder.find(chat.session)))

    try:
        return await asyncio.to_thread(read)
    except RemitError as error:
        if error.code is ErrorCode.NOT_FOUND:  # a session gets its file with its first message
            return ()
        raise
