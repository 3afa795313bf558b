"""Files that start programs or steer agents without being called, and folders that git takes for repositories
(POL-04): each such write is asked about or refused."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest
from rows import rows
from running_server import RunningServer

from remit_governance.policy.decision.builtin import BUILTIN
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.decision.implicit import IMPLICIT_FILES
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.values import Action, Verdict

ALLOW_ALL = compile_policy([Source("p", "capabilities: [{ name: all, match: {}, action: allow }]")])
TAKEN_OVER = [
    ".eslintrc.js",
    "node_modules/.bin/tsc",
    "web/node_modules/left-pad/index.js",
    ".venv/bin/activate",
    "lefthook.yml",
    ".pdbrc",
    ".lvimrc",
    ".nvim/init.lua",
    ".helix/languages.toml",
    "mise.toml",
    ".bazelrc",
    "gradlew",
    ".yarn/plugins/evil.cjs",
    "AGENTS.md",
    "docs/CLAUDE.md",
    ".cursorrules",
    ".clinerules",
    ".kiro/steering/x.md",
    ".github/copilot-instructions.md",
    ".devcontainer/devcontainer.json",
    ".irbrc",
    ".tool-versions",
    "Makefile",
    "Rakefile",
    "requirements-dev.txt",
    "requirements/base.txt",
    "package-lock.json",
    "uv.lock",
    ".m2/settings.xml",
    ".config/environment.d/path.conf",
    "bin/git",
]
SIBLINGS = [
    *(".merlin", "rspack.config.js", "web/rsbuild.config.ts", ".parcelrc", "prisma.config.ts", ".actrc"),
    *(".amp/settings.json", "AMP.md", "bin/hermit", "android/local.properties"),
]
ORDINARY = [
    "src/workspace/trees/path_globs.py",
    "src/config.py",
    "config/settings.py",
    "objects/ball.py",
    "docs/agents-overview.md",
    "tests/test_claude.py",
    # These are only run by their name; no program reads them by itself.
    "justfile",
    "Taskfile.yml",
    "Dockerfile",
    "bin/mytool",
    "docs/requirements.md",
    "src/index.js",
    "lib/info/head.py",
    "README.md",
    "main.tf",
    "style.css",
]
EVIL = '[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ".."\nfsmonitor = "touch {marker}; false"\n'
LAYOUT = {"HEAD": "ref: refs/heads/main\n", "config": EVIL, "objects/info/x": "", "refs/heads/.keep": ""}


@pytest.mark.slow
@pytest.mark.parametrize("path", TAKEN_OVER)
def test_THR_implicit_files_are_asked_about_each_time(path: str, server: RunningServer) -> None:
    """By a tool, by a command, with another case of letters, and through a link to the file."""
    for spelled in (path, path.upper() if "/" not in path else path):
        called = server.call("write_file", "deny", path=spelled, content="evil")
        assert called.code == "approval_denied", spelled
        assert called.questions[0]["scopes"] == ["once"]
    name = path.rpartition("/")[2]
    command = f"mkdir -p {Path(path).parent} && echo evil > '{path}'"
    assert server.call("run_command", "deny", command=command).questions, path
    assert not (server.workspace / path).exists()
    (server.workspace / "plain").mkdir(exist_ok=True)
    (server.workspace / path).parent.mkdir(parents=True, exist_ok=True)
    (server.workspace / path).write_text("mine\n")
    link = server.workspace / "plain" / f"notes-{name.strip('.')}.txt"
    link.symlink_to(server.workspace / path)
    called = server.call("write_file", "deny", path=f"plain/{link.name}", content="evil")
    assert called.code in {"approval_denied", "invalid_arguments", "stale"}
    assert (server.workspace / path).read_text() == "mine\n"


def test_THR_implicit_table_names_its_sources_and_each_row_asks() -> None:
    """Every row of the table says which program reads the file and where that is documented."""
    assert len(IMPLICIT_FILES) >= 120
    for row in IMPLICIT_FILES:
        assert row.source.startswith("https://"), row
        assert row.reader
        for glob in row.globs:
            assert glob == glob.lower(), glob
            path = glob.removeprefix("**/").replace("/**", "/x").replace("*", "a")
            for spelled in (path, f"sub/{path}", path.upper()):
                if spelled != f"sub/{path}" or not ("/" in glob and not glob.startswith("**/")):
                    verdict = evaluate(ALLOW_ALL, Action("fs.write", path=spelled)).verdict
                    assert verdict in {Verdict.REQUIRE_REVIEW, Verdict.DENY}, (glob, spelled)


@rows("path", SIBLINGS)
def test_THR_implicit_files_like_those_of_other_tools_are_asked_about(path: str) -> None:
    assert evaluate(ALLOW_ALL, Action("fs.write", path=path)).verdict is Verdict.REQUIRE_REVIEW


@rows("path", ORDINARY)
def test_ordinary_files_are_not_asked_about(path: str) -> None:
    assert evaluate(ALLOW_ALL, Action("fs.write", path=path)).verdict is Verdict.ALLOW


def test_the_built_in_rules_are_found_by_what_a_path_is_called() -> None:
    """All built-in rules but one are indexed by file name, so that a write is not matched against every glob."""
    assert all("any" not in rule.keys for rule in BUILTIN.rules if rule.name != "builtin.policy-update")


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Returns the file that git would create if it read the hostile settings."""
    return tmp_path / "started"


def _status(folder: Path) -> None:
    """Runs `git status`, as a person does in any folder."""
    subprocess.run(["git", "status"], cwd=folder, capture_output=True, check=False)


@pytest.mark.slow
def test_THR_implicit_the_attack_works_where_nobody_stops_it(tmp_path: Path, marker: Path) -> None:
    folder = tmp_path / "x"
    for name, text in LAYOUT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.format(marker=marker))
    _status(folder)
    assert marker.exists()


@pytest.mark.slow
@pytest.mark.parametrize("order", list(itertools.permutations(LAYOUT))[::3], ids="-".join)
def test_THR_implicit_no_repository_is_laid_out_file_by_file(
    order: tuple[str, ...], server: RunningServer, marker: Path
) -> None:
    folder = server.workspace / f"laid-{abs(hash(order))}"
    answers = [
        server.call("write_file", "allow", path=f"{folder.name}/{n}", content=LAYOUT[n].format(marker=marker)).code
        for n in order
    ]
    assert "denied" in answers
    _status(folder)
    assert not marker.exists()


@pytest.mark.slow
def test_THR_implicit_no_command_lays_out_a_repository(server: RunningServer) -> None:
    config = EVIL.format(marker="x").replace("\n", "\\n")
    lay = f"mkdir -p y/objects/a y/refs/a && printf '{config}' > y/config && echo > y/objects/a/a && echo > y/refs/a/a"
    called = server.call("run_command", "allow", command=f"{lay} && echo 'ref: refs/heads/main' > y/HEAD")
    assert called.code is None
    assert "builtin.git-internals" in called.output
    assert not (server.workspace / "y").exists()
    # Git itself creates a repository in one step, also with its objects in another folder.
    called = server.call("run_command", "allow", command="git init -q --bare z.git")
    assert not (server.workspace / "z.git" / "config").exists()
    server.call("run_command", "allow", command="mkdir -p w && echo ../z > w/commondir")
    assert (server.workspace / "w" / "commondir").exists()
    assert server.call("write_file", "allow", path="w/HEAD", content="ref: refs/heads/main\n").code == "denied"


@pytest.mark.slow
def test_THR_implicit_one_call_of_several_files_lays_out_no_repository(server: RunningServer, marker: Path) -> None:
    patch = ""
    for name, text in LAYOUT.items():
        lines = (text or "x\n").format(marker=marker).splitlines()
        added = "".join(f"+{line}\n" for line in lines)
        patch += f"--- /dev/null\n+++ b/v/{name}\n@@ -0,0 +1,{len(lines)} @@\n{added}"
    called = server.call("apply_diff", "allow", diff=patch)
    assert called.code == "denied", called.output
    assert not (server.workspace / "v").exists()


@pytest.mark.slow
def test_THR_implicit_the_files_of_a_repository_without_its_name_are_denied(server: RunningServer) -> None:
    """A bare repository inside a checkout, such as one for its tests; files beside git's own ones can be written."""
    bare = server.workspace / "fixtures" / "repo"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    for name in ("config", "hooks/post-checkout", "info/attributes", "CONFIG", "objects/info/alternates"):
        called = server.call("write_file", "allow", path=f"fixtures/repo/{name}", content=EVIL)
        assert (called.code, called.questions) == ("denied", ()), name
    assert (
        server.call("edit_file", "allow", path="fixtures/repo/config", old_text="bare", new_text="b").code == "denied"
    )
    server.call("run_command", "allow", command="printf '\\n[core]\\nfsmonitor=x\\n' >> fixtures/repo/config")
    assert "fsmonitor" not in (bare / "config").read_text()
    assert server.call("write_file", "allow", path="fixtures/repo/README", content="x").code is None
