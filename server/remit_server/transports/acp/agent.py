"""The requests that a client can send to the agent: a table of short handlers (TRN-10)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, cast

from acp import schema
from acp.exceptions import RequestError
from acp.meta import AGENT_METHODS, PROTOCOL_VERSION

from remit_governance.visible import visible_again
from remit_governance.workflow.states import Mode
from remit_server import __version__
from remit_server.chat.commands import ALIASES, COMMANDS
from remit_server.chat.lines import is_command, read_line
from remit_server.chat.prompts import find_prompts
from remit_server.chat.session_commands import mode_call
from remit_server.contract import ErrorCode, InputPart, RunResult
from remit_server.errors import RemitError
from remit_server.machine.wall_clock import timestamp, utc_now
from remit_server.transports.acp import options, sessions
from remit_server.transports.acp.client_files import Access
from remit_server.transports.acp.folders import Folder, Folders
from remit_server.transports.acp.prompts import as_parts, read_blocks
from remit_server.transports.acp.replayed import Replaying
from remit_server.transports.acp.sdk import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    AcpClient,
    Lines,
    Method,
    refusal,
)
from remit_server.transports.acp.sessions import AcpSession, begin_session, find_kept, info_of, list_page, no_session
from remit_server.transports.acp.turns import FollowedTurn, Telling, begin_turn
from remit_server.transports.acp.updates import said

NOT_HERE = frozenset({"load", "new", "fork", "quit", "edits"})
"""Commands of the chat that are not offered, because a client has its own way or an option for them."""
ENDED_S = 10.0
"""The seconds that a cancelled turn may take to end."""


class Agent:
    """The agent of one client. `lost` says whether the client has stopped reading."""

    def __init__(self, folders: Folders, access: Access, lines: Lines) -> None:
        self._folders, self._access, self._lines = folders, access, lines
        self._open: dict[str, AcpSession] = {}
        self._begun = False
        self.lost = False
        self.client = AcpClient(lines, self._requests(), self._notifications())
        self._telling = Telling(self.client)

    def _requests(self) -> Mapping[str, Method]:
        name = AGENT_METHODS
        return {
            name["initialize"]: Method(schema.InitializeRequest, self.initialize),
            name["authenticate"]: Method(schema.AuthenticateRequest, self.authenticate),
            name["logout"]: Method(schema.LogoutRequest, self.logout),
            name["session_new"]: Method(schema.NewSessionRequest, self.new),
            name["session_load"]: Method(schema.LoadSessionRequest, self.load),
            name["session_resume"]: Method(schema.ResumeSessionRequest, self.resume),
            name["session_fork"]: Method(schema.ForkSessionRequest, self.fork),
            name["session_list"]: Method(schema.ListSessionsRequest, self.list),
            name["session_close"]: Method(schema.CloseSessionRequest, self.close),
            name["session_delete"]: Method(schema.DeleteSessionRequest, self.delete),
            name["session_set_mode"]: Method(schema.SetSessionModeRequest, self.set_mode, holds=False),
            name["session_set_config_option"]: Method(
                schema.SetSessionConfigOptionSelectRequest, self.set_config_option, holds=False
            ),
            name["session_prompt"]: Method(schema.PromptRequest, self.prompt, holds=False),
        }

    def _notifications(self) -> Mapping[str, Method]:
        return {AGENT_METHODS["session_cancel"]: Method(schema.CancelNotification, self.cancel)}

    async def initialize(self, asked: schema.InitializeRequest) -> schema.InitializeResponse:
        """Returns what this agent can do. The version is always the agent's own, whatever the client speaks."""
        self._begun = True
        able = asked.client_capabilities
        if able is not None and able.fs is not None:
            self._access.reads, self._access.writes = bool(able.fs.read_text_file), bool(able.fs.write_text_file)
        self._telling.every = _own(able.field_meta if able is not None else None).get("events") is True
        can = schema.SessionCapabilities(
            list=schema.SessionListCapabilities(),
            delete=schema.SessionDeleteCapabilities(),
            fork=schema.SessionForkCapabilities(),
            resume=schema.SessionResumeCapabilities(),
            close=schema.SessionCloseCapabilities(),
        )
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=False, audio=False, embedded_context=True),
                mcp_capabilities=schema.McpCapabilities(http=False, sse=False),
                session_capabilities=can,
            ),
            agent_info=schema.Implementation(name="remit", title="Remit", version=__version__),
            auth_methods=[],
        )

    async def authenticate(self, asked: schema.AuthenticateRequest) -> None:
        """Raises RequestError, because no method of authentication was offered."""
        del asked
        raise RequestError(INVALID_PARAMS, "no authentication is needed")

    async def logout(self, asked: schema.LogoutRequest) -> schema.LogoutResponse:
        """Does nothing, because nobody is logged in."""
        del asked
        return schema.LogoutResponse()

    async def new(self, asked: schema.NewSessionRequest) -> schema.NewSessionResponse:
        """Begins a session in a folder."""
        session = self._keep(begin_session(await self._folder(asked.cwd, asked.additional_directories)), asked)
        return schema.NewSessionResponse(session_id=session.id, **self._chosen(session))

    async def load(self, asked: schema.LoadSessionRequest) -> schema.LoadSessionResponse:
        """Opens a kept session, after sending the client all of it."""
        session = self._keep(await self._kept(asked), asked)
        folder, kept = session.runtime.sessions, await find_kept(session.runtime.sessions, session.id)
        records = await asyncio.to_thread(folder.read, kept) if kept is not None else ()
        for update in Replaying(session.id, session.folder.root, folder.contents).all(records):
            await self._telling.update(session.id, update)
        return schema.LoadSessionResponse(**self._chosen(session))

    async def resume(self, asked: schema.ResumeSessionRequest) -> schema.ResumeSessionResponse:
        """Opens a kept session that the client shows already."""
        return schema.ResumeSessionResponse(**self._chosen(self._keep(await self._kept(asked), asked)))

    async def fork(self, asked: schema.ForkSessionRequest) -> schema.ForkSessionResponse:
        """Copies a kept session, and opens the copy."""
        folder = await self._folder(asked.cwd, asked.additional_directories)
        kept, new_id = await find_kept(folder.runtime.sessions, asked.session_id), sessions.new_id()
        if kept is None:
            raise no_session()
        await asyncio.to_thread(folder.runtime.sessions.fork, kept, new_id, timestamp(utc_now()))
        await folder.runtime.recall(new_id)
        session = self._keep(begin_session(folder, new_id), asked)
        return schema.ForkSessionResponse(session_id=new_id, **self._chosen(session))

    async def list(self, asked: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
        """Lists the sessions of a folder, or of all folders named so far and the one that the agent was started in."""
        self._require_begun()
        folders = await self._folders.kept(asked.cwd)
        kept = [each for folder in folders for each in await asyncio.to_thread(folder.list)]
        return list_page(kept, asked.cursor)

    async def close(self, asked: schema.CloseSessionRequest) -> schema.CloseSessionResponse:
        """Ends the running turns of a session and closes the session, which stays on disk."""
        session = self._find(asked.session_id)
        del self._open[session.id]
        await _end_turns(session)
        return schema.CloseSessionResponse()

    async def delete(self, asked: schema.DeleteSessionRequest) -> schema.DeleteSessionResponse:
        """Deletes a session. It is no error if the session does not exist."""
        self._require_begun()
        if (session := self._open.pop(asked.session_id, None)) is not None:
            await _end_turns(session)
        for folder in await self._folders.kept():
            if (kept := await find_kept(folder, asked.session_id)) is not None:
                await asyncio.to_thread(folder.delete, kept)
        return schema.DeleteSessionResponse()

    async def set_mode(self, asked: schema.SetSessionModeRequest) -> schema.SetSessionModeResponse:
        """Switches the mode, in the older way that newer clients do not need."""
        await self._switch(self._find(asked.session_id), asked.mode_id)
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, asked: schema.SetSessionConfigOptionSelectRequest
    ) -> schema.SetSessionConfigOptionResponse:
        """Sets the mode, the model, or when the person is asked about edits."""
        session = self._find(asked.session_id)
        if asked.config_id == options.MODE:
            await self._switch(session, asked.value)
        elif asked.config_id == options.MODEL:
            await options.choose_model(session, asked.value)
        elif asked.config_id == options.EDITS:
            options.choose_edits(session, asked.value)
        else:
            raise RequestError(INVALID_PARAMS, "there is no such option")
        return schema.SetSessionConfigOptionResponse(config_options=[*options.config_options(session)])

    async def prompt(self, asked: schema.PromptRequest) -> schema.PromptResponse:
        """Runs a prompt: a command of the chat, or a message for the model."""
        session = self._find(asked.session_id)
        named = _own(asked.field_meta).get("turn_id")
        turn_id = named if isinstance(named, str) and 0 < len(named) <= 128 else uuid.uuid4().hex[:12]
        if session.untold:
            await self._say(session, session.untold)
            session.untold = ""
        text, attached = read_blocks(asked.prompt, session.folder.root)
        parts = await self._read(session, text)
        if not parts:
            return schema.PromptResponse(stop_reason="end_turn")
        result, following = await self._run(session, as_parts(parts, attached), turn_id)
        answer = await self._answer(session, result, following)
        if not session.titled:
            await self._tell_title(session)
        return answer

    async def cancel(self, asked: schema.CancelNotification) -> None:
        """Cancels the running turns of a session."""
        if (session := self._open.get(asked.session_id)) is not None:
            session.runtime.cancel(session.id)

    async def _folder(self, cwd: str, more: Sequence[str] | None = None) -> Folder:
        self._require_begun()
        if more:
            raise RequestError(INVALID_PARAMS, "a session has one folder: `additionalDirectories` was not offered")
        return await self._folders.open(cwd)

    async def _kept(self, asked: schema.LoadSessionRequest | schema.ResumeSessionRequest) -> AcpSession:
        folder = await self._folder(asked.cwd, asked.additional_directories)
        if asked.session_id not in self._open and await find_kept(folder.runtime.sessions, asked.session_id) is None:
            raise no_session()
        await folder.runtime.recall(asked.session_id)
        return begin_session(folder, asked.session_id)

    def _keep(self, session: AcpSession, asked: Any) -> AcpSession:
        """Adds a session to the open ones, and tells its commands and models once the request is answered."""
        if asked.mcp_servers:
            session.untold = (
                f"⚠ Remit starts no MCP servers that an editor names: {len(asked.mcp_servers)} were not started. "
                "Add those that you want with `remit mcp add`, once you have looked at their tools.\n\n"
            )
        self._open[session.id] = session
        self._access.session = session.id
        self._lines.after_answer(lambda: self._introduce(session))
        return session

    async def _introduce(self, session: AcpSession) -> None:
        await self._telling.update(session.id, _commands(session))
        session.models = await options.find_models(session)
        await self._tell_options(session)

    def _find(self, session_id: str) -> AcpSession:
        """Returns an open session. Raises RemitError."""
        self._require_begun()
        if (session := self._open.get(session_id)) is None:
            raise no_session()
        self._access.session = session.id
        return session

    def _require_begun(self) -> None:
        if not self._begun:
            raise RequestError(INVALID_REQUEST, "`initialize` comes first")

    def _chosen(self, session: AcpSession) -> dict[str, Any]:
        return {"modes": options.mode_state(session), "config_options": options.config_options(session)}

    async def _read(self, session: AcpSession, text: str) -> Sequence[InputPart]:
        """Returns the parts that a prompt asks to run. The answer of a chat command is sent to the client at once."""
        name = text.strip().removeprefix("/").partition(" ")[0]
        if is_command(text.strip()) and ALIASES.get(name, name) in NOT_HERE:
            await self._say(
                session, f"`/{name}` belongs to your editor here: use its list of sessions, or its options."
            )
            return ()
        before = session.model
        try:
            line = await read_line(session.chat, text.strip())
        except RemitError as error:
            await self._say(session, f"{error.what}: {error.why}\n\n{error.fix}")
            return ()
        if line.text:
            await self._say(session, line.text + "\n\n")
        if session.model != before:
            session.models = tuple(dict.fromkeys((*session.models, session.model)))
            await self._tell_options(session)
        return line.parts

    async def _run(
        self, session: AcpSession, parts: tuple[InputPart, ...], turn_id: str
    ) -> tuple[RunResult, FollowedTurn]:
        """Runs a turn to its end. Returns its result, and the object that followed it."""
        mode = session.runtime.status(session.id).mode
        await session.runtime.reload()
        following = FollowedTurn(self._telling, session, begin_turn(session, parts, turn_id))
        task = asyncio.create_task(following.run())
        session.running.add(task)
        task.add_done_callback(session.running.discard)
        try:
            result = await asyncio.shield(task)
        except asyncio.CancelledError:
            session.runtime.cancel(session.id, turn_id)
            await asyncio.wait({task}, timeout=0 if self.lost else ENDED_S)
            task.cancel()
            raise
        if session.runtime.status(session.id).mode != mode:
            await self._tell_options(session)
        return result, following

    async def _answer(self, session: AcpSession, result: RunResult, following: FollowedTurn) -> schema.PromptResponse:
        """Returns the answer to a prompt, after sending what the client was not told yet. Raises RequestError if the
        turn failed.
        """
        if result.status in {"failed", "timed_out"} and result.error is not None:
            raise refusal(RemitError(result.error.what, result.error.why, result.error.fix, code=result.error.code))
        words = [] if following.shown.spoke or not result.final_output else [result.final_output]
        words += [f"∅ {result.reason}"] if result.reason else []
        if words:
            text = "\n\n".join(words)
            await self._say(session, f"\n\n{text}" if following.shown.spoke else text)
        told: dict[str, Any] = {"status": result.status, "turn_id": result.turn_id}
        if result.suggestion is not None:
            told["suggestion"] = result.suggestion
        if self._telling.every:
            told |= {**following.last, "result": result.model_dump(mode="json")}
        return schema.PromptResponse(
            stop_reason="cancelled" if result.status == "cancelled" else "end_turn",
            usage=_usage(result),
            field_meta={"remit": told},
        )

    async def _switch(self, session: AcpSession, wanted: str) -> None:
        """Switches the mode by a call of the person's own, as every client does. Raises RequestError if it stays."""
        if wanted not in set(Mode):
            raise RequestError(INVALID_PARAMS, "there is no such mode")
        result, _ = await self._run(session, (mode_call(Mode(wanted)),), uuid.uuid4().hex[:12])
        if session.runtime.status(session.id).mode != wanted:
            why = result.reason or (result.error.message if result.error else "it was refused")
            fix = "`/status` says where the session stands"
            raise refusal(RemitError("the mode is still the same", why, fix, code=ErrorCode.DENIED))

    async def _say(self, session: AcpSession, text: str) -> None:
        await self._telling.update(session.id, said(text, str(uuid.uuid4())))

    async def _tell_title(self, session: AcpSession) -> None:
        """Sends the title that a session has in lists, which it has once something was said in it."""
        if (kept := await find_kept(session.runtime.sessions, session.id)) is not None:
            info = info_of(kept)
            session.titled = info.title is not None
            update = schema.SessionInfoUpdate(
                session_update="session_info_update", title=info.title, updated_at=info.updated_at
            )
            await self._telling.update(session.id, update)

    async def _tell_options(self, session: AcpSession) -> None:
        update = schema.ConfigOptionUpdate(
            session_update="config_option_update", config_options=[*options.config_options(session)]
        )
        await self._telling.update(session.id, update)


async def _end_turns(session: AcpSession) -> None:
    """Cancels the running turns of a session, and waits at most `ENDED_S` seconds for their end."""
    session.runtime.cancel(session.id)
    if session.running:
        await asyncio.wait(tuple(session.running), timeout=ENDED_S)


def _own(meta: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Returns the part of a message's metadata that is meant for Remit."""
    own = (meta or {}).get("remit")
    return cast("Mapping[str, Any]", own) if isinstance(own, dict) else {}


def _usage(result: RunResult) -> schema.Usage | None:
    used = result.usage
    if used is None:
        return None
    return schema.Usage(
        input_tokens=used.prompt_tokens,
        output_tokens=used.completion_tokens,
        cached_read_tokens=used.cached_tokens,
        total_tokens=used.prompt_tokens + used.completion_tokens,
    )


def _commands(session: AcpSession) -> schema.AvailableCommandsUpdate:
    """Returns the commands that a prompt can consist of: those of the chat, and the person's own prompts."""
    rows = {name: (row.summary, row.takes) for name, row in COMMANDS.items() if name not in NOT_HERE}
    own = find_prompts(session.folder.settings)
    rows |= {name: (each.title or "your prompt", "[WORDS]") for name, each in own.items() if name not in COMMANDS}
    return schema.AvailableCommandsUpdate(
        session_update="available_commands_update",
        available_commands=[
            schema.AvailableCommand(
                name=name,
                description=visible_again(about, "show"),
                input=schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=takes)) if takes else None,
            )
            for name, (about, takes) in rows.items()
        ],
    )
