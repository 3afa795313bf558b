"""The main job in a real VS Code, driven by `tests/e2e/vscode/run.mjs` (TOOL-07)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from npm_packages import install_packages

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client-vscode"
DRIVER = ROOT / "tests" / "e2e" / "vscode"
CODE_SERVER = Path(os.environ.get("REMIT_CODE_SERVER") or ROOT / ".cache" / "code-server")
SERVER = Path(sys.executable).with_name("remit")

# A story that is told twice is listed at the end of the run, and is no error yet.
TOLD_TWICE = "a story failed and was told a second time"
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.model,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings(f"default:{TOLD_TWICE}"),
]


@pytest.fixture
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return found or pytest.skip("there is no chromium: apt-get install chromium")


@pytest.fixture
def code_server() -> Path:
    if not any(CODE_SERVER.glob(".complete-*")):
        pytest.skip(f"there is no code-server in {CODE_SERVER}: run scripts/install-code-server.sh")
    return CODE_SERVER


@pytest.fixture(scope="session")
def node() -> str:
    found = shutil.which("npm") and shutil.which("node")
    return found or pytest.skip("there is no Node.js with npm: install version 20 or newer")


@pytest.fixture(scope="session")
def vsix(node: str) -> Path:
    """Packages the extension from the present sources."""
    for folder in (CLIENT, DRIVER):
        install_packages(folder)
    subprocess.run(["npm", "run", "package"], cwd=CLIENT, check=True)
    return CLIENT / "remit.vsix"


def drive(script: str, node: str, chromium: str, code_server: Path, vsix: Path) -> None:
    """Tells one of the stories, and tells it again if it fails, because two programs that we did not write race in it.

    If it fails twice, its output is the message of the failure. If it fails once, the output is a warning of the run.
    """
    shots = ROOT / ".cache" / "shots"
    environment = os.environ | {
        "REMIT_CODE_SERVER": str(code_server),
        "REMIT_CHROMIUM": chromium,
        "REMIT_SERVER": str(SERVER),
        "REMIT_VSIX": str(vsix),
        "REMIT_SHOTS": str(shots),
    }
    environment.pop("REMIT_MODEL", None)
    first, said = _tell(script, node, environment)
    if first == 0:
        return
    warnings.warn(f"{TOLD_TWICE}: {script}\n{said}", stacklevel=2)
    second, said = _tell(script, node, environment)
    assert second == 0, f"{said}\nscreenshots and logs: {shots}"


def _tell(script: str, node: str, environment: dict[str, str]) -> tuple[int, str]:
    """Runs a story; returns its exit code and what it printed."""
    command = [node, str(DRIVER / script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=400)
    return done.returncode, f"{done.stdout}\n{done.stderr}"


def test_a_rename_is_asked_for_seen_and_applied_and_what_goes_wrong_is_said(
    node: str, chromium: str, code_server: Path, vsix: Path
) -> None:
    drive("run.mjs", node, chromium, code_server, vsix)


def test_B11_a_turn_works_in_the_folder_of_the_file_that_is_shown(
    node: str, chromium: str, code_server: Path, vsix: Path
) -> None:
    """There are two folders in one window, and a new file is made in the right one too."""
    drive("run_folders.mjs", node, chromium, code_server, vsix)


def test_SES_02_a_session_goes_from_vscode_to_the_terminal_and_back(
    node: str, chromium: str, code_server: Path, vsix: Path
) -> None:
    drive("run_sessions.mjs", node, chromium, code_server, vsix)


def test_CLI_09_the_chats_commands_work_in_vscode(node: str, chromium: str, code_server: Path, vsix: Path) -> None:
    drive("run_chat_commands.mjs", node, chromium, code_server, vsix)


def test_BG_06_a_dev_server_is_started_edited_under_and_ended_in_vscode(
    node: str, chromium: str, code_server: Path, vsix: Path
) -> None:
    drive("run_background.mjs", node, chromium, code_server, vsix)


def test_BG_08_a_running_command_is_sent_to_the_background_read_and_stopped_in_vscode(
    node: str, chromium: str, code_server: Path, vsix: Path
) -> None:
    drive("run_sent_to_background.mjs", node, chromium, code_server, vsix)


def test_FLW_06_and_FLW_10_strict_mode_from_the_request_to_the_commit_in_vscode(
    node: str, chromium: str, code_server: Path, vsix: Path
) -> None:
    drive("run_workflow.mjs", node, chromium, code_server, vsix)


def test_APP_09_a_hunk_is_left_out_in_vscode_with_words_that_reach_the_model(
    node: str, chromium: str, code_server: Path, vsix: Path
) -> None:
    drive("run_hunks.mjs", node, chromium, code_server, vsix)


def test_EDI_09_to_12_from_no_server_to_a_reviewed_change_in_the_editors_own_ways(
    node: str, chromium: str, code_server: Path, vsix: Path
) -> None:
    """EDI-09, EDI-10, EDI-11 and EDI-12 share one window, because the start of an editor takes as long as a test."""
    drive("run_review.mjs", node, chromium, code_server, vsix)


def test_LSP_11_the_audit_log_and_the_policy_are_views_that_lead_to_the_rule(
    node: str, chromium: str, code_server: Path, vsix: Path
) -> None:
    drive("run_views.mjs", node, chromium, code_server, vsix)


def test_LSP_12_completion_at_the_cursor_and_LSP_13_an_edit_of_its_line_in_vscode(
    node: str, chromium: str, code_server: Path, vsix: Path
) -> None:
    drive("run_inline.mjs", node, chromium, code_server, vsix)


def test_EDI_05_to_EDI_08_the_chat_stays_fluid_takes_things_along_and_leads_somewhere(
    node: str, chromium: str, code_server: Path, vsix: Path
) -> None:
    """Attachments, places, forks, a reload, 5,000 events, a long answer; axe-core checks three themes."""
    drive("run_panel.mjs", node, chromium, code_server, vsix)


def test_MOD_27_a_model_is_connected_in_vscode(node: str, chromium: str, code_server: Path, vsix: Path) -> None:
    drive("run_models.mjs", node, chromium, code_server, vsix)
