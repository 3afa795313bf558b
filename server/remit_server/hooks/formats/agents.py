"""The agents, one row each (HOK-01): what they call events and fields, how they want an answer, where hooks are set.

Names are the vendors': `tests/cases/hooks/` cites the page of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from remit_server.hooks.formats.tool_rows import (
    CLAUDE_TOOLS,
    CODEX_TOOLS,
    COPILOT_TOOLS,
    CURSOR_TOOLS,
    GEMINI_TOOLS,
    ToolRows,
)

AgentName = Literal["claude-code", "codex", "gemini", "copilot", "cursor"]
EventKind = Literal["before", "permission", "after", "failed", "prompt", "start", "end", "other"]
Style = Literal["claude", "codex", "gemini", "copilot", "cursor"]


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event: its kind, its tool if the event names none itself, and whether its answer may be *ask*."""

    kind: EventKind
    tool: str | None = None
    asks: bool = True


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent.

    `events` has its events by name; `root` is the environment variable that names the project's folder. If the agent
    does not know `asks`, what would be asked is denied. `failed` is the exit code for an event that could not be
    judged: 2 stops a call; it is 0 for an agent that ignores a hook that fails, which only a regular *deny* stops.
    `settings` is its file below the person's home, `project_settings` that of a project.
    """

    name: AgentName
    title: str
    style: Style
    events: Mapping[str, EventRow]
    tools: ToolRows
    asks: bool
    failed: Literal[0, 2]
    root: str
    settings: str
    project_settings: str


_BEFORE, _AFTER, _PROMPT, _OTHER = EventRow("before"), EventRow("after"), EventRow("prompt"), EventRow("other")
_START, _END, _FAILED = EventRow("start"), EventRow("end"), EventRow("failed")


def _others(*names: str) -> dict[str, EventRow]:
    return dict.fromkeys(names, _OTHER)


_CLAUDE_EVENTS: Mapping[str, EventRow] = {
    "PreToolUse": _BEFORE,
    "PreSkillShellCommand": _BEFORE,
    "PermissionRequest": EventRow("permission"),
    "PostToolUse": _AFTER,
    "PostToolUseFailure": _FAILED,
    "UserPromptSubmit": _PROMPT,
    "SessionStart": _START,
    "SessionEnd": _END,
    **_others("Notification", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact"),
    **_others("Setup", "ConfigChange", "CwdChanged", "PostToolBatch", "PermissionDenied", "InstructionsLoaded"),
}

_CURSOR_EVENTS: Mapping[str, EventRow] = {
    "preToolUse": EventRow("before", asks=False),
    "beforeShellExecution": EventRow("before", "Shell"),
    "beforeMCPExecution": EventRow("before"),
    "beforeReadFile": EventRow("before", "Read", asks=False),
    "postToolUse": _AFTER,
    "postToolUseFailure": _FAILED,
    "afterShellExecution": EventRow("after", "Shell"),
    "afterMCPExecution": _AFTER,
    "afterFileEdit": EventRow("after", "Write"),
    "beforeSubmitPrompt": _PROMPT,
    "sessionStart": _START,
    "sessionEnd": _END,
    **_others("stop", "subagentStart", "subagentStop", "preCompact", "afterAgentResponse", "afterAgentThought"),
}

AGENTS: Mapping[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent(
            name="claude-code",
            title="Claude Code",
            style="claude",
            events=_CLAUDE_EVENTS,
            tools=CLAUDE_TOOLS,
            asks=True,
            failed=2,
            root="CLAUDE_PROJECT_DIR",
            settings=".claude/settings.json",
            project_settings=".claude/settings.json",
        ),
        Agent(
            name="codex",
            title="Codex",
            style="codex",
            events=_CLAUDE_EVENTS,
            tools=CODEX_TOOLS,
            asks=False,
            failed=2,
            root="",
            settings=".codex/hooks.json",
            project_settings=".codex/hooks.json",
        ),
        Agent(
            name="gemini",
            title="Gemini CLI",
            style="gemini",
            events={
                "BeforeTool": _BEFORE,
                "AfterTool": _AFTER,
                "BeforeAgent": _PROMPT,
                "SessionStart": _START,
                "SessionEnd": _END,
                **_others("AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "Notification"),
                **_others("PreCompress"),
            },
            tools=GEMINI_TOOLS,
            asks=False,
            failed=2,
            root="GEMINI_PROJECT_DIR",
            settings=".gemini/settings.json",
            project_settings=".gemini/settings.json",
        ),
        Agent(
            name="copilot",
            title="GitHub Copilot",
            style="copilot",
            events={
                "preToolUse": _BEFORE,
                "postToolUse": _AFTER,
                "postToolUseFailure": _FAILED,
                "userPromptSubmitted": _PROMPT,
                "sessionStart": _START,
                "sessionEnd": _END,
                **_others("agentStop", "subagentStart", "subagentStop", "errorOccurred", "notification", "preCompact"),
                **_CLAUDE_EVENTS,
            },
            tools=COPILOT_TOOLS,
            asks=True,
            failed=0,
            root="",
            settings=".copilot/hooks/remit.json",
            project_settings=".github/hooks/remit.json",
        ),
        Agent(
            name="cursor",
            title="Cursor",
            style="cursor",
            events=_CURSOR_EVENTS,
            tools=CURSOR_TOOLS,
            asks=True,
            failed=2,
            root="CURSOR_PROJECT_DIR",
            settings=".cursor/hooks.json",
            project_settings=".cursor/hooks.json",
        ),
    )
}
"""The agents, by their name on the command line."""
