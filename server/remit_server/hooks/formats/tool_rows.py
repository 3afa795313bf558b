"""What each agent's tools do and where their arguments are (HOK-02): one row a tool, as the vendors' pages name them.

A tool that is in no row is not known, so a person is asked about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ToolKind = Literal["shell", "foreign_shell", "read", "view", "list", "search", "write", "patch", "fetch", "note"]
"""`foreign_shell` is a shell whose language is not read here; `view` reads a file and lists a folder; `note` changes
nothing outside the agent itself."""

BESIDE = frozenset(
    {
        *(
            "description",
            "explanation",
            "instruction",
            "justification",
            "purpose",
            "reason",
            "prompt",
            "goal",
            "intent",
        ),
        *("content", "file_text", "contents", "code", "language", "new_source", "cell_id", "cell_type", "edit_mode"),
        *("old_string", "new_string", "oldString", "newString", "old_str", "new_str", "insert_text", "edits"),
        *("pattern", "query", "output_mode", "type", "exclude", "exclude_pattern", "ignore", "sort", "regex"),
        *("mode", "shellId", "view_range", "offset", "limit", "pages", "timeout", "file_filtering_options", "matches"),
    }
)
"""Arguments that do not say where a tool looks or writes. A person is asked about a text under any other name that the
tool's row lacks, because an agent's next version may have given a tool a second path."""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool: its kind, and the names that an argument may have: `text` for its command, path, patch or address,
    `folder` for the folder that a shell runs in, `narrows` for what narrows a search.
    """

    kind: ToolKind
    text: tuple[str, ...] = ()
    folder: tuple[str, ...] = ()
    narrows: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of the arguments that are looked at."""
        return frozenset((*self.text, *self.folder, *self.narrows))


ToolRows = Mapping[str, ToolRow]

_NOTE = ToolRow("note")


def _notes(*names: str) -> dict[str, ToolRow]:
    return dict.fromkeys(names, _NOTE)


CLAUDE_TOOLS: ToolRows = {
    "Bash": ToolRow("shell", ("command",)),
    "Monitor": ToolRow("shell", ("command",)),
    "PowerShell": ToolRow("foreign_shell", ("command",)),
    "Read": ToolRow("read", ("file_path",)),
    "NotebookRead": ToolRow("read", ("notebook_path",)),
    "Write": ToolRow("write", ("file_path",)),
    "Edit": ToolRow("write", ("file_path",)),
    "MultiEdit": ToolRow("write", ("file_path",)),
    "NotebookEdit": ToolRow("write", ("notebook_path",)),
    "LS": ToolRow("list", ("path",)),
    "Glob": ToolRow("list", ("path",), narrows=("pattern",)),
    "Grep": ToolRow("search", ("path",), narrows=("glob",)),
    "WebFetch": ToolRow("fetch", ("url",)),
    **_notes("Agent", "Task", "TodoRead", "TodoWrite", "TaskCreate", "TaskGet", "TaskUpdate", "TaskList"),
    **_notes("BashOutput", "TaskOutput", "KillShell", "TaskStop", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode"),
    **_notes("ToolSearch", "ListMcpResourcesTool"),
}

CODEX_TOOLS: ToolRows = {
    "Bash": ToolRow("shell", ("command",)),
    "apply_patch": ToolRow("patch", ("command",)),
    "view_image": ToolRow("read", ("path",)),
    **_notes("update_plan"),
}

GEMINI_TOOLS: ToolRows = {
    "run_shell_command": ToolRow("shell", ("command",), ("dir_path", "directory")),
    "read_file": ToolRow("read", ("file_path", "absolute_path")),
    "read_many_files": ToolRow("search", ("dir_path",), narrows=("include", "paths")),
    "write_file": ToolRow("write", ("file_path",)),
    "replace": ToolRow("write", ("file_path",)),
    "list_directory": ToolRow("list", ("dir_path", "path")),
    "glob": ToolRow("list", ("dir_path", "path"), narrows=("pattern",)),
    "search_file_content": ToolRow("search", ("dir_path", "path"), narrows=("include",)),
    "grep_search": ToolRow("search", ("dir_path", "path"), narrows=("include", "include_pattern")),
    **_notes("write_todos", "ask_user", "enter_plan_mode", "exit_plan_mode", "update_topic"),
    **_notes("list_background_processes", "read_background_output"),
}

COPILOT_TOOLS: ToolRows = {
    "bash": ToolRow("shell", ("command",)),
    "powershell": ToolRow("foreign_shell", ("command",)),
    "view": ToolRow("view", ("path",)),
    "create": ToolRow("write", ("path",)),
    "edit": ToolRow("write", ("path",)),
    "glob": ToolRow("list", ("paths", "path"), narrows=("pattern",)),
    "grep": ToolRow("search", ("paths", "path"), narrows=("glob",)),
    "rg": ToolRow("search", ("paths", "path"), narrows=("glob",)),
    "web_fetch": ToolRow("fetch", ("url",)),
    **_notes("task", "ask_user", "report_intent", "update_todo", "read_bash", "stop_bash", "list_bash"),
    **_notes("read_agent", "list_agents", "write_agent", "fetch_copilot_cli_documentation"),
    # The same agent in VS Code.
    "run_in_terminal": ToolRow("shell", ("command",)),
    "read_file": ToolRow("read", ("filePath",)),
    "create_file": ToolRow("write", ("filePath",)),
    "replace_string_in_file": ToolRow("write", ("filePath",)),
    "insert_edit_into_file": ToolRow("write", ("filePath",)),
    "apply_patch": ToolRow("patch", ("input",)),  # on the command line the arguments are the bare patch
    "list_dir": ToolRow("list", ("path",)),
    "file_search": ToolRow("list", narrows=("query",)),
    "grep_search": ToolRow("search", narrows=("includePattern",)),
    "fetch_webpage": ToolRow("fetch", ("urls",)),
    **_notes("manage_todo_list"),
}

CURSOR_TOOLS: ToolRows = {
    "Shell": ToolRow("shell", ("command",), ("working_directory", "cwd")),
    "Read": ToolRow("read", ("file_path", "path", "target_file")),
    "Write": ToolRow("write", ("file_path", "path", "target_file")),
    "Delete": ToolRow("write", ("file_path", "path", "target_file")),
    "Grep": ToolRow("search", ("path",), narrows=("glob",)),
    **_notes("Task", "TodoWrite"),
}
