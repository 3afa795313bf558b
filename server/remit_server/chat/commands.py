"""The commands of a chat, as a table that every transport serves (CLI-05)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from remit_governance.workflow.states import Mode
from remit_server.chat import about_commands as about
from remit_server.chat import session_commands as kept
from remit_server.chat.prompts import Prompt, fill_prompt, find_prompts, is_untrusted
from remit_server.chat.replies import Chat, ChatCommand, NotUnderstood, Reply
from remit_server.chat.session_commands import approve, budget, reject, switch_to, tests


async def help_(chat: Chat, words: str) -> Reply:
    """Lists the commands, or says what one does. Raises NotUnderstood if there is no command of that name."""
    prompts, name = find_prompts(chat.settings), words.removeprefix("/")
    row = COMMANDS.get(ALIASES.get(name, name))
    if row is not None:
        return Reply(_help_line(name, row))
    if name in prompts:
        return Reply(f"- `/{name}`: {prompts[name].title}")
    if name:
        raise _no_command(chat, name, prompts)
    lines = ["**Commands**", *(_help_line(name, COMMANDS[name]) for name in _offered(chat))]
    if prompts:
        lines += ["", "**Your prompts**", *(f"- `/{name}`: {each.title}" for name, each in sorted(prompts.items()))]
    lines += [
        "",
        "**In a message**",
        "- `@path` sends a file, `@folder/` what is in a folder, `@symbol:name` where a name is defined,",
        "  `@diagnostics` what is wrong, `@diff` what is changed in git",
        "- `!command` runs a command of yours in the sandbox; `!--timeout SECONDS --host HOST command`",
        *([f"- {chat.keys}"] if chat.keys else []),
    ]
    return Reply("\n".join(lines))


async def leave(chat: Chat, words: str) -> Reply:
    """Ends the chat of a terminal."""
    del words
    return Reply(leaves=True) if chat.keys else Reply("This chat is a view of your editor: close it there.")


def _sessions(chat: Chat) -> Sequence[str]:
    return [each.name or each.session_id for each in chat.runtime.sessions.list()]


COMMANDS: Mapping[str, ChatCommand] = {
    "help": ChatCommand("what you can type here", help_, "[COMMAND]"),
    "tools": ChatCommand("the tools that each intent opens", about.tools),
    "reload-tools": ChatCommand("look for tools of your own again", about.reload_tools),
    "skills": ChatCommand("the skills that the model can read", about.skills),
    "model": ChatCommand("the models you can use, or switch to one", about.model, "[NAME]", about.models),
    "edits": ChatCommand("show or set when you are asked about edits", about.edits, "[each|turn|allow]", about.times),
    "processes": ChatCommand(
        "what runs in the background; end one, or reach a port of it",
        about.processes,
        "[stop ID|publish ID PORT]",
        about.process_choices,
    ),
    "background": ChatCommand("send the command that runs now to the background", about.background),
    "status": ChatCommand("the model, policy, sandbox and audit log in force", about.status),
    "context": ChatCommand("how much is sent to the model", about.context),
    "pin": ChatCommand("send a file that is kept when the conversation is condensed", about.pin, "FILE"),
    "stats": ChatCommand("tokens, cost, tools and time of this session", about.stats),
    "sessions": ChatCommand("the sessions of this folder", kept.sessions, "[WORDS]"),
    "load": ChatCommand("continue another session", kept.load, "SESSION", _sessions),
    "new": ChatCommand("begin another session", kept.new),
    "save": ChatCommand("give this session a name", kept.save, "NAME"),
    "session": ChatCommand("this session, and where its file is", kept.session),
    "fork": ChatCommand("copy this session, up to a message, and continue in the copy", kept.fork, "[MESSAGE]"),
    "export": ChatCommand("write this session to a file", kept.export, "FILE"),
    "undo": ChatCommand("undo what the last turn changed", kept.undo, "[FILE]"),
    "redo": ChatCommand("redo what was undone", kept.redo, "[FILE]"),
    "strict": ChatCommand("strict mode: a failing test must come before code", switch_to(Mode.STRICT)),
    "explore": ChatCommand("explore mode: code may come before tests", switch_to(Mode.EXPLORE)),
    "debug": ChatCommand("like explore, and an editor shows the state of the workflow", switch_to(Mode.DEBUG)),
    "approve": ChatCommand("approve the work under review and let the model commit it", approve, "[WORDS]"),
    "reject": ChatCommand("send the work under review back to the model", reject, "[WORDS]"),
    "tests": ChatCommand("require tests before the commit (explore, debug)", tests, "[WORDS]"),
    "budget": ChatCommand("the test coverage that explore mode has lost and may lose", budget),
    "policy": ChatCommand("which policy is in force, and where its files are", about.policy),
    "audit": ChatCommand("verify the audit log", about.audit),
    "quit": ChatCommand("leave", leave),
}


ALIASES: Mapping[str, str] = {"provider": "model", "exit": "quit"}
"""Names that other agents use for the same commands."""


async def run_command(chat: Chat, line: str) -> Reply:
    """Runs the command that was typed after a slash. Raises RemitError; if no such command exists, the error names the
    nearest one."""
    name, _, words = line.removeprefix("/").partition(" ")
    row = COMMANDS.get(ALIASES.get(name, name))
    if row is not None:
        if words.strip() and not row.takes:
            fix = f"type `/{name}` alone; `/help {name}` says what it does"
            raise NotUnderstood("nothing was done", f"`/{name}` takes no words", fix)
        return await row.run(chat, words.strip())
    prompts = find_prompts(chat.settings)
    if name in prompts:
        return _use_prompt(prompts[name], words.strip())
    raise _no_command(chat, name, prompts)


def _no_command(chat: Chat, name: str, prompts: Mapping[str, Prompt]) -> NotUnderstood:
    what = f"there is no command `/{name}`"
    if is_untrusted(chat.settings, name):
        why = "this folder has a prompt of this name, and you have not said that you trust it"
        return NotUnderstood(what, why, "run `remit config trust` if you do")
    near = get_close_matches(name, [*COMMANDS, *prompts], n=1, cutoff=0.5)
    fix = f"the nearest is `/{near[0]}`" if near else "`/help` lists them"
    return NotUnderstood(what, "neither a command nor a prompt has this name", fix)


def complete_command(chat: Chat, line: str) -> Sequence[str]:
    """Returns the completions of a line that begins with a slash: names of commands, or what the command takes."""
    name, space, words = line.removeprefix("/").partition(" ")
    if not space:
        return [each for each in (*_offered(chat), *sorted(find_prompts(chat.settings))) if each.startswith(name)]
    row = COMMANDS.get(ALIASES.get(name, name))
    return [] if row is None else [each for each in row.choices(chat) if each.startswith(words)]


def _use_prompt(prompt: Prompt, words: str) -> Reply:
    if prompt.is_new():
        prompt.note_shown()
        says = f"`{prompt.path}` comes with this project and reads:\n\n```\n{prompt.text}\n```"
        return Reply(f"{says}\n\nType it again to send it.")
    return Reply(message=fill_prompt(prompt.text, words))


def _offered(chat: Chat) -> Sequence[str]:
    """Returns the names of the commands that are of use in this chat."""
    return [name for name in COMMANDS if chat.keys or name != "quit"]


def _help_line(name: str, row: ChatCommand) -> str:
    return f"- `/{name}{' ' + row.takes if row.takes else ''}`: {row.summary}"
