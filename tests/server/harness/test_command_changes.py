"""A command's changes reach the workspace only as policy and the person allow, file by file (BOX-05)."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import SHOP, Answering, Bench, call, intent
from messages import SAYS
from threat_bench import own

from remit_governance.audit.record import AuditKind
from remit_governance.intents import IntentState
from remit_governance.permissions.permissions import PermissionConfig, PermissionRule
from remit_governance.values import Intent
from remit_server.harness.calls import ToolCall
from remit_server.harness.commands.classify_changes import KEPT_BY_A_RULE, NOT_IN_GIT
from remit_server.harness.dispatcher import Dispatcher
from remit_server.harness.turn import SessionMemory, Turn
from remit_server.sandbox.ports import CommandOutput, CommandSpec, Isolation

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")

RUN = "capabilities:\n  - { name: run, match: { syscall: process.exec }, action: allow }\n"
READS = "  - { name: reads, match: { syscall: [fs.read, fs.list] }, action: allow }\n"
ALLOW = RUN + READS + "  - { name: w, match: { syscall: fs.write }, action: allow }\n"
REVIEW = RUN + READS + "  - { name: w, match: { syscall: fs.write }, action: require_review }\n"
GENERATOR = "echo '# new' >> a.py; mkdir -p gen/deep; echo x = 1 > gen/deep/made.py; rm old.txt"


async def ran(make_bench: Any, command: str, policy: str, asker: Answering | None = None) -> Bench:
    bench = await ready(make_bench, command, policy)
    await bench.ask("go", asker=asker or Answering())
    return bench


async def ready(make_bench: Any, command: str, policy: str) -> Bench:
    """Returns a bench whose model runs a program of the workspace that does what `command` says, so that policy cannot
    know beforehand what it writes."""
    bench: Bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command="make -s it")]}, {"text": "ok"}, policy=policy
    )
    write(bench.workspace / "old.txt", "old\n")
    write(bench.workspace / "Makefile", "it:\n\tsh work.sh\n")
    write(bench.workspace / "work.sh", command)
    return bench


def write(path: Path, text: str) -> None:
    path.write_text(text)


def files(bench: Bench) -> list[str]:
    found = (p.relative_to(bench.workspace).as_posix() for p in bench.workspace.rglob("*") if p.is_file())
    return sorted(set(found) - {"Makefile", "work.sh"})


def output(bench: Bench) -> str:
    return bench.of("tool_result")[0].output


async def test_what_policy_allows_is_taken_over_without_a_question(make_bench: Any) -> None:
    asker = Answering()
    bench = await ran(make_bench, GENERATOR, ALLOW, asker)
    assert asker.asked == []
    assert files(bench) == ["a.py", "gen/deep/made.py"]
    assert (bench.workspace / "a.py").read_text() == SHOP + "# new\n"
    (result,) = bench.of("tool_result")
    assert result.changed_files == ("a.py", "gen/deep/made.py", "old.txt")
    assert "changed in the workspace: a.py, gen/deep/made.py, old.txt" in result.output


def in_the_machines_own(name: str) -> bool:
    return Path("/tmp", name).exists()


async def test_what_a_command_writes_to_its_scratch_is_its_own_and_gone_with_it(make_bench: Any) -> None:
    here = "echo a > /tmp/remit-scratch && cd /var/tmp && cat ../../tmp/remit-scratch"
    bench: Bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command=here)]}, {"text": "ok"}, policy=RUN
    )
    await bench.ask("go")
    (result,) = bench.of("tool_result")
    assert (result.ok, result.exit_code, result.changed_files) == (True, 0, ())
    assert not in_the_machines_own("remit-scratch")


async def test_what_policy_wants_reviewed_is_one_question_with_every_diff(make_bench: Any) -> None:
    asker = Answering()
    bench = await ran(make_bench, GENERATOR, REVIEW, asker)
    (question,) = asker.asked
    assert question.title.startswith("keep what the command changed: change a.py; create gen/deep/made.py; delete old")
    assert [(d.path, d.created, d.deleted) for d in question.diffs] == [
        ("a.py", False, False),
        ("gen/deep/made.py", True, False),
        ("old.txt", False, True),
    ]
    assert question.scopes == ("once",)
    assert files(bench) == ["a.py", "gen/deep/made.py"]


async def test_a_no_leaves_the_workspace_as_it_was(make_bench: Any) -> None:
    bench = await ran(make_bench, GENERATOR, REVIEW, Answering(decision="deny"))
    assert files(bench) == ["a.py", "old.txt"]
    assert (bench.workspace / "a.py").read_text() == SHOP
    assert "not taken over, because the person said no" in output(bench)
    kinds = [r.event.kind for r in bench.audit()]
    assert AuditKind.MERGE_REJECTED in kinds
    assert AuditKind.MERGE_APPROVED not in kinds


async def test_thr_approvals_a_deny_of_the_persons_own_that_comes_meanwhile_counts(make_bench: Any) -> None:
    """THR-approvals-deny-meanwhile: a yes does not merge what the person's permission file denies by then."""
    bench: Bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command="make -s it")]}, {"text": "ok"}, policy=REVIEW
    )
    write(bench.workspace / "Makefile", "it:\n\tsh work.sh\n")
    write(bench.workspace / "work.sh", "echo '# new' >> a.py; echo x > made.txt")
    rulebook = bench.runtime.dispatcher.parts.rulebook
    denies = PermissionConfig(deny=(PermissionRule(path=("a.py",)),))

    def deny() -> None:
        rulebook.replace(rulebook.policy, denies)

    asker = Answering(before=deny)
    await bench.ask("go", asker=asker)
    assert [diff.path for diff in asker.asked[0].diffs] == ["a.py", "made.txt"]
    assert (bench.workspace / "a.py").read_text() == SHOP
    assert (bench.workspace / "made.txt").read_text() == "x\n"
    assert SAYS.not_taken_over_because in output(bench)


async def test_nobody_to_ask_is_a_no(make_bench: Any) -> None:
    bench = await ran(make_bench, GENERATOR, REVIEW, Answering(style="never"))
    assert files(bench) == ["a.py", "old.txt"]
    assert bench.of("tool_result")[0].ok


PROTECTED = {
    ".git/hooks/pre-commit": "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
    ".vscode/tasks.json": "mkdir .vscode; echo x > .vscode/tasks.json",
    ".remit/policy.yaml": "mkdir .remit; echo 'version: 1' > .remit/policy.yaml",
    ".bashrc": "python3 -c \"open('.bashrc', 'w').write('x')\"",
    "sub/.ssh/id_rsa": "mkdir -p sub/.ssh; cp a.py sub/.ssh/id_rsa",
    ".envrc": "mv a.py .envrc",
}


@pytest.mark.parametrize("path", PROTECTED)
async def test_thr_config_protected_files_do_not_survive_a_command(make_bench: Any, path: str) -> None:
    """THR-config-subprocess: a command may write them in its layer, but they are never merged, whatever policy
    allows."""
    bench = await ran(make_bench, f"{PROTECTED[path]}; echo fine > fine.txt", ALLOW)
    assert path not in files(bench)
    assert {"a.py", "fine.txt"} <= set(files(bench))
    assert "(builtin." in output(bench)
    assert path in output(bench)
    rejected = [r.event for r in bench.audit() if r.event.kind is AuditKind.MERGE_REJECTED]
    assert path in rejected[0].metadata["refused"]


LEADING_OUT = {
    "a link": "ln -s /etc/passwd link.txt",
    "a link over a file": "rm a.py; ln -s /etc/passwd a.py",
    "a pipe": "mkfifo pipe",
    "a folder that becomes a link": "mkdir d; touch d/x; rm -r d; ln -s / d",
}


@pytest.mark.parametrize("how", LEADING_OUT)
async def test_thr_sandbox_nothing_but_regular_files_is_taken_over(make_bench: Any, how: str) -> None:
    """THR-sandbox-links-left: a link that a command leaves could lead the next write out of the workspace."""
    bench = await ran(make_bench, LEADING_OUT[how], ALLOW)
    assert not any(p.is_symlink() or p.is_fifo() for p in bench.workspace.rglob("*"))
    assert SAYS.it_is_a_link_a in output(bench)


async def test_what_the_project_ignores_is_not_asked_about(make_bench: Any) -> None:
    asker = Answering()
    command = "mkdir cache; echo x > cache/x; echo y > deep.log; echo z > z.txt"
    bench: Bench = await make_bench(policy=REVIEW)
    write(bench.workspace / ".gitignore", "cache/\n*.log\n")
    bench = await ran(make_bench, command, REVIEW, asker)
    assert [d.path for d in asker.asked[0].diffs] == ["z.txt"]
    assert "because the project ignores it: cache/x, deep.log" in output(bench)
    assert KEPT_BY_A_RULE in output(bench)
    others = REVIEW.replace("syscall: fs.write", "syscall: fs.write, path_glob: ['**', '!cache/**']")
    kept = "  - { name: caches, match: { syscall: fs.write, path_glob: cache/** }, action: allow }\n"
    bench = await ran(make_bench, command, others + kept, Answering())
    assert (bench.workspace / "cache" / "x").read_text() == "x\n"
    assert not (bench.workspace / "deep.log").exists()


async def test_BOX_08_a_look_at_the_repository_leaves_its_index_as_it_is(make_bench: Any) -> None:
    bench: Bench = await make_bench(policy=ALLOW)
    for words in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *words], cwd=bench.workspace, check=True)
    os.utime(bench.workspace / "a.py", (1, 1))
    bench = await ran(make_bench, "git status --short", ALLOW)
    assert "A  a.py" in output(bench)
    assert SAYS.not_taken_over not in output(bench)
    assert not [record for record in bench.audit() if record.event.kind is AuditKind.MERGE_REJECTED]


@pytest.mark.parametrize(
    ("command", "told"), [("git describe --always --dirty", False), ("echo x > b.py; git add b.py", True)]
)
async def test_BOX_08_an_index_that_stages_the_same_is_no_change(make_bench: Any, command: str, told: bool) -> None:
    bench: Bench = await make_bench(policy=ALLOW)
    committer = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "-A"), (*committer, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=bench.workspace, check=True)
    os.utime(bench.workspace / "a.py", (1, 1))
    bench = await ran(make_bench, command, ALLOW)
    assert bool([record for record in bench.audit() if record.event.kind is AuditKind.MERGE_REJECTED]) is told


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo x > b.py; git add b.py", True),
        ("echo x >> a.py; git -c user.name=a -c user.email=a@b commit -qam more", True),
        ("echo x > .git/hooks/post-commit", False),
    ],
)
async def test_GIT_05_a_command_that_stages_or_commits_is_told_how_a_commit_is_made(
    make_bench: Any, command: str, told: bool
) -> None:
    bench: Bench = await make_bench(policy=ALLOW)
    committer = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "-A"), (*committer, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=bench.workspace, check=True)
    bench = await ran(make_bench, command, ALLOW)
    assert SAYS.not_taken_over in output(bench)
    assert (NOT_IN_GIT in output(bench)) is told


async def test_thr_approvals_a_file_changed_while_the_command_ran_is_not_overwritten(make_bench: Any) -> None:
    """THR-approvals-lost-update: the person's own edit stays, whatever the command wrote."""
    bench = await ready(make_bench, "echo theirs > a.py; echo written; sleep 0.4", ALLOW)
    running = asyncio.create_task(bench.ask("go"))
    await bench.until("tool_output")
    write(bench.workspace / "a.py", "mine\n")
    await running
    assert (bench.workspace / "a.py").read_text() == "mine\n"
    assert SAYS.it_was_changed_while_the in output(bench)


async def test_thr_shell_a_file_that_is_denied_reading_is_neither_seen_nor_replaced(make_bench: Any) -> None:
    """THR-shell-hidden-write: hidden files stay hidden where the workspace can be written to."""
    policy = ALLOW + "  - { name: secret, match: { path_glob: [secret.txt] }, action: deny }\n"
    bench: Bench = await make_bench(
        {
            "calls": [
                intent("EXECUTE"),
                call("run_command", command="cat secret.txt; rm -f secret.txt; echo x > secret.txt"),
            ]
        },
        {"text": "ok"},
        policy=policy,
    )
    write(bench.workspace / "secret.txt", "hush\n")
    await bench.ask("go")
    assert "hush" not in output(bench)
    assert (bench.workspace / "secret.txt").read_text() == "hush\n"


@pytest.mark.slow
async def test_thr_sandbox_a_command_that_fills_the_disk_is_stopped(make_bench: Any) -> None:
    """THR-sandbox-disk-fill: many files of little size are counted too."""
    command = "i=0; while true; do i=$((i+1)); dd if=/dev/zero of=f$i bs=1M count=64 2>/dev/null; done"
    bench = await ran(make_bench, command, ALLOW)
    assert "MiB written" in output(bench) or "stopped" in output(bench)
    assert files(bench) == ["a.py", "old.txt"] or len(files(bench)) < 10


def executable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)


async def test_what_a_command_makes_executable_stays_so(make_bench: Any) -> None:
    command = "printf '#!/bin/sh\\n' > new.sh; chmod +x new.sh; chmod 755 a.py; chmod 644 run.sh; echo x > plain.txt"
    first: Bench = await make_bench(policy=REVIEW)
    write(first.workspace / "run.sh", "run\n")
    (first.workspace / "run.sh").chmod(0o755)
    asker = Answering()
    bench = await ran(make_bench, command, REVIEW, asker)
    (question,) = asker.asked
    assert question.title == (
        "keep what the command changed: change a.py (executable); create new.sh (executable); create plain.txt; "
        "change run.sh (not executable)"
    )
    assert [d.diff for d in question.diffs if "mode" in d.diff] == [
        "(only its mode changes: it becomes executable)\n",
        "(only its mode changes: it becomes not executable)\n",
    ]
    modes = {name: executable(bench.workspace / name) for name in ("a.py", "new.sh", "plain.txt", "run.sh")}
    assert modes == {"a.py": True, "new.sh": True, "plain.txt": False, "run.sh": False}
    assert (bench.workspace / "a.py").read_text() == SHOP


async def test_a_change_of_mode_alone_is_judged_like_any_other(make_bench: Any) -> None:
    bench = await ran(make_bench, "chmod +x a.py", RUN + READS)
    assert not executable(bench.workspace / "a.py")
    assert SAYS.not_taken_over in output(bench)


REDIRECTIONS = {"a redirection": "echo x > made.txt", "tee": "echo x | tee made.txt", "both": "echo x > made.txt; true"}


@pytest.mark.parametrize("how", REDIRECTIONS)
async def test_what_a_command_line_writes_is_reviewed_once_and_as_it_became(make_bench: Any, how: str) -> None:
    asker = Answering()
    bench: Bench = await make_bench(policy=REVIEW)
    await bench.ask(own("run_command", command=REDIRECTIONS[how]), asker=asker)
    assert [question.title for question in asker.asked] == ["keep what the command changed: create made.txt"]
    assert (bench.workspace / "made.txt").read_text() == "x\n"


async def test_thr_shell_a_denied_write_is_denied_beforehand_with_layers_too(make_bench: Any) -> None:
    """THR-shell-held-writes: only the review of a write may wait until after the command; a denied write is denied
    before."""
    policy = REVIEW + "  - { name: no, match: { syscall: fs.write, path_glob: [no.txt] }, action: deny }\n"
    asker = Answering()
    bench: Bench = await make_bench(policy=policy)
    for command in (
        "echo x > no.txt",
        "echo x > a.py; echo y | tee no.txt",
        "echo x > ../out.txt",
        "echo x > .vscode/a",
    ):
        await bench.ask(own("run_command", command=command), asker=asker)
    assert [event.error.code for event in bench.of("tool_result")] == ["denied"] * 4
    assert asker.asked == []
    await bench.ask(own("run_command", command="$X > made.txt"), asker=asker)
    assert "builtin.unclear-command" in [reason.rule for reason in asker.asked[0].reasons]


class Flat:
    """A sandbox without layers, like one where no overlay can be mounted: the workspace is read-only in it."""

    name = "podman"

    def __init__(self, said: bytes = b"") -> None:
        self.said = said
        self.ran: list[CommandSpec] = []

    def isolation(self) -> Isolation:
        return Isolation("bubblewrap", available=True)

    async def run(self, spec: CommandSpec, progress: Any = None) -> CommandOutput:
        self.ran.append(spec)
        return CommandOutput(0, b"", self.said)


@pytest.mark.parametrize(
    ("command", "said", "before", "after"),
    [
        ("echo x > made.txt; true", b"made.txt: Read-only file system\n", True, True),
        ("echo x > /tmp/made.txt", b"", False, False),
        ("make it", b"Makefile:1: a: Read-only file system\n", False, True),
        ("ls", b"", False, False),
    ],
)
async def test_BOX_05_without_layers_a_write_is_said_to_fail_before_it_and_after(
    make_bench: Any, command: str, said: bytes, before: bool, after: bool
) -> None:
    bench: Bench = await make_bench(policy=ALLOW.replace("exec }, action: allow", "exec }, action: require_review"))
    asker = Answering()
    dispatcher = Dispatcher(replace(bench.runtime.dispatcher.parts, sandbox=Flat(said)))
    turn = Turn("t", SessionMemory("s"), bench.events.append, asker, intent=IntentState(Intent.EXECUTE))
    assert (await dispatcher.execute(ToolCall("1", "run_command", {"command": command}), turn)).ok
    (question,) = asker.asked
    assert any("read-only in `podman`" in reason.reason for reason in question.reasons) is before
    (ended,) = bench.of("tool_result")
    assert any("read-only in `podman`" in note for note in ended.data.get("notes", [])) is after


async def test_thr_shell_without_layers_a_write_is_asked_about_beforehand(make_bench: Any) -> None:
    """THR-shell-no-layers: without layers a command's writes are not held back, so they are asked about before it
    runs."""
    bench: Bench = await make_bench(policy=REVIEW)
    flat, asker = Flat(), Answering(decision="deny")
    dispatcher = Dispatcher(replace(bench.runtime.dispatcher.parts, sandbox=flat))
    turn = Turn("t", SessionMemory("s"), bench.events.append, asker, intent=IntentState(Intent.EXECUTE))
    result = await dispatcher.execute(ToolCall("1", "run_command", {"command": "echo x > made.txt"}), turn)
    assert not result.ok
    assert [question.title for question in asker.asked] == ["run echo x > made.txt"]
    assert [reason.rule for reason in asker.asked[0].reasons if reason.rule] == ["w"]
    assert flat.ran == []


@pytest.mark.slow
async def test_a_command_that_is_stopped_leaves_nothing(make_bench: Any) -> None:
    """A file may be half written when the time is over."""
    policy = ALLOW
    bench: Bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command="make -s it", timeout=2)]},
        {"text": "ok"},
        policy=policy,
    )
    write(bench.workspace / "Makefile", "it:\n\techo half > a.py; sleep 30\n")
    await bench.ask("go")
    assert (bench.workspace / "a.py").read_text() == SHOP
    assert "not taken over, because the command was stopped" in output(bench)


@pytest.mark.slow
async def test_of_too_many_files_none_is_taken_over(make_bench: Any) -> None:
    bench = await ran(make_bench, "for i in $(seq 2100); do echo x > f$i; done", ALLOW)
    assert files(bench) == ["a.py", "old.txt"]
    assert "not taken over, because it changed more than 2000 files" in output(bench)


FOLDERS = "mkdir -p src/deep kept/in && rm -r old"


async def folders(make_bench: Any, policy: str, asker: Answering) -> Bench:
    bench = await ready(make_bench, FOLDERS, policy)
    (bench.workspace / "old" / "inner").mkdir(parents=True)
    write(bench.workspace / "old" / "x", "1\n")
    await bench.ask("go", asker=asker)
    return bench


def folders_of(bench: Bench) -> set[str]:
    return {p.relative_to(bench.workspace).as_posix() for p in bench.workspace.rglob("*") if p.is_dir()}


async def test_BOX_05_folders_are_made_and_removed_as_policy_has_it(make_bench: Any) -> None:
    kept = "  - { name: k, match: { syscall: fs.write, path_glob: kept }, action: deny }\n"
    bench = await folders(make_bench, ALLOW + kept, Answering())
    assert folders_of(bench) == {"src", "src/deep"}
    assert "made folders: src/deep\nremoved folders: old/inner, old\nnot taken over" in output(bench)
    (merged, refused) = (of_kind(bench, kind) for kind in (AuditKind.MERGE_APPROVED, AuditKind.MERGE_REJECTED))
    assert merged["changed"] == "old/x, src/deep/, old/inner/, old/"
    assert refused["refused"].startswith("kept/in: ")


def of_kind(bench: Bench, kind: AuditKind) -> dict[str, str]:
    return dict(next(r.event.metadata for r in bench.audit() if r.event.kind is kind))


@pytest.mark.parametrize(
    ("decision", "left"), [("allow", {"src", "src/deep", "kept", "kept/in"}), ("deny", {"old", "old/inner"})]
)
async def test_BOX_05_folders_that_policy_wants_reviewed_are_in_the_question(
    make_bench: Any, decision: str, left: set[str]
) -> None:
    asker = Answering(decision)
    bench = await folders(make_bench, REVIEW, asker)
    (question,) = asker.asked
    assert question.command.splitlines() == [
        *("make the folder kept/in", "make the folder src/deep"),
        *("remove the folder old/inner", "remove the folder old"),
    ]
    assert ([d.path for d in question.diffs], question.by_hunk) == (["old/x"], False)
    assert folders_of(bench) == left


async def test_BOX_05_a_folder_in_which_something_stays_stays(make_bench: Any) -> None:
    kept = "  - { name: k, match: { syscall: fs.write, path_glob: old/x }, action: deny }\n"
    bench = await folders(make_bench, ALLOW + kept, Answering())
    assert folders_of(bench) == {"src", "src/deep", "kept", "kept/in", "old"}


async def test_GIT_05_folders_that_would_make_a_repository_are_not_made(make_bench: Any) -> None:
    bench = await ready(make_bench, "mkdir -p bare/objects bare/refs", ALLOW)
    (bench.workspace / "bare").mkdir()
    write(bench.workspace / "bare" / "HEAD", "ref: refs/heads/main\n")
    await bench.ask("go")
    assert folders_of(bench) == {"bare"}
