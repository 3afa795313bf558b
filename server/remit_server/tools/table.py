"""The table of tools, in the order in which a model is told of them (TOOL-01)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from remit_governance.values import Effect
from remit_server.tools.background.list_processes import LIST_PROCESSES
from remit_server.tools.background.publish_port import PUBLISH_PORT
from remit_server.tools.background.read_process import READ_PROCESS
from remit_server.tools.background.start_process import START_PROCESS
from remit_server.tools.background.stop_process import STOP_PROCESS
from remit_server.tools.code.get_definition import GET_DEFINITION
from remit_server.tools.code.get_diagnostics import GET_DIAGNOSTICS
from remit_server.tools.code.get_references import GET_REFERENCES
from remit_server.tools.code.get_symbols import GET_SYMBOLS
from remit_server.tools.code.repo_map import REPO_MAP
from remit_server.tools.delegation.delegate import DELEGATE
from remit_server.tools.edit.apply_diff import APPLY_DIFF
from remit_server.tools.edit.delete_file import DELETE_FILE
from remit_server.tools.edit.edit_file import EDIT_FILE
from remit_server.tools.edit.move_file import MOVE_FILE
from remit_server.tools.edit.replace_lines import REPLACE_LINES
from remit_server.tools.edit.undo_changes import UNDO_CHANGES
from remit_server.tools.edit.write_file import WRITE_FILE
from remit_server.tools.files.list_files import LIST_FILES
from remit_server.tools.files.read_file import READ_FILE
from remit_server.tools.git.git_commit import GIT_COMMIT
from remit_server.tools.git.git_diff import GIT_DIFF
from remit_server.tools.git.git_status import GIT_STATUS
from remit_server.tools.run.run_command import RUN_COMMAND
from remit_server.tools.run.run_tests import RUN_TESTS
from remit_server.tools.search.search_files import SEARCH_FILES
from remit_server.tools.spec import AnyTool, Follows
from remit_server.tools.web.web_fetch import WEB_FETCH
from remit_server.tools.workflow.plan_complete import PLAN_COMPLETE
from remit_server.tools.workflow.review_work import REVIEW_WORK
from remit_server.tools.workflow.revise_tests import REVISE_TESTS
from remit_server.tools.workflow.set_mode import SET_MODE
from remit_server.tools.workflow.workflow_request_exemption import WORKFLOW_REQUEST_EXEMPTION

TOOLS: Mapping[str, AnyTool] = MappingProxyType(
    {
        "read_file": READ_FILE,
        "list_files": LIST_FILES,
        "search_files": SEARCH_FILES,
        "repo_map": REPO_MAP,
        "write_file": WRITE_FILE,
        "edit_file": EDIT_FILE,
        "replace_lines": REPLACE_LINES,
        "apply_diff": APPLY_DIFF,
        "delete_file": DELETE_FILE,
        "move_file": MOVE_FILE,
        "undo_changes": UNDO_CHANGES,
        "run_command": RUN_COMMAND,
        "start_process": START_PROCESS,
        "read_process": READ_PROCESS,
        "stop_process": STOP_PROCESS,
        "list_processes": LIST_PROCESSES,
        "publish_port": PUBLISH_PORT,
        "git_status": GIT_STATUS,
        "git_diff": GIT_DIFF,
        "run_tests": RUN_TESTS,
        "git_commit": GIT_COMMIT,
        "get_diagnostics": GET_DIAGNOSTICS,
        "get_symbols": GET_SYMBOLS,
        "get_definition": GET_DEFINITION,
        "get_references": GET_REFERENCES,
        "web_fetch": WEB_FETCH,
        "plan_complete": PLAN_COMPLETE,
        "revise_tests": REVISE_TESTS,
        "workflow_request_exemption": WORKFLOW_REQUEST_EXEMPTION,
        "set_mode": SET_MODE,
        "review_work": REVIEW_WORK,
        "delegate": DELEGATE,
    }
)

TOOL_TAGS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        name: frozenset({"core_plugin", "trusted_write"} if tool.effect is Effect.WRITE else {"core_plugin"})
        for name, tool in TOOLS.items()
    }
)
"""The tags of each tool, for policy (POL-19). What a command of `run_command` writes is no trusted write, because it is
only known after the command has run."""

TEST_RUNS = frozenset(name for name, tool in TOOLS.items() if tool.workflow.follows is Follows.TESTS)
"""The tools that run tests."""

FILE_ARGUMENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: (tool.file_argument,) for name, tool in TOOLS.items() if tool.file_argument is not None}
)
"""The argument of each tool that names a file that must exist."""

ALL_FILE_ARGUMENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        name: named
        for name, tool in TOOLS.items()
        if (named := tuple(each for each in (tool.file_argument, tool.new_file_argument) if each is not None))
    }
)
"""The arguments of each tool that name a file that must exist or that the call creates."""
