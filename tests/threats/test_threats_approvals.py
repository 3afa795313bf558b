"""Tests what a person is shown in an approval, and what their answer allows (APP-01)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from bench_runtime import SHOP, Answering, Bench, call, intent
from messages import SAYS
from threat_bench import own, result

from remit_governance.audit.record import AuditKind
from remit_server.contract import ApprovalAnswer, ApprovalRequired, Scope

ASKS = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list], path_glob: ["**"] }, action: allow }
  - { name: writes, match: { syscall: fs.write, path_glob: ["**"] }, action: require_review }
  - { name: runs, match: { syscall: process.exec }, action: require_review }
"""
STREAM = Answering(style="stream")


async def _question(bench: Bench, number: int = 1) -> ApprovalRequired:
    async with asyncio.timeout(30):
        found: ApprovalRequired = (await bench.until("approval_required", number))[number - 1]
    return found


def _yes(question: ApprovalRequired, **more: Any) -> ApprovalAnswer:
    return ApprovalAnswer(approval_id=question.approval_id, decision="allow", digest=question.digest, **more)


SCRIPTS = [
    ("sh run.sh;true", "", "run.sh"),
    ("true&&sh run.sh", "", "run.sh"),
    ("cd tools && sh run.sh", "", "tools/run.sh"),
    ("(cd tools;./run.sh)", "", "tools/run.sh"),
    ("F=run.sh; sh $F", "", "run.sh"),
    ('sh "run.sh"', "tools", "tools/run.sh"),
    ("sh<run.sh", "", "run.sh"),
    ("cat run.sh|sh", "", "run.sh"),
    ("python3 -m tools.build", "", "tools/build.py"),
    ("python3 -m tools", "", "tools/__main__.py"),
    ("make test", "", "Makefile"),
    ("cd tools; npm test", "", "tools/package.json"),
    ("pytest -q", "", "conftest.py"),
    ("sh link", "", "run.sh"),
    ("sh big.sh", "", "big.sh"),
]


@pytest.mark.parametrize(("command", "folder", "script"), SCRIPTS)
async def test_THR_approvals_a_script_rewritten_while_its_approval_is_pending_does_not_run(
    make_bench: Any, command: str, folder: str, script: str
) -> None:
    bench: Bench = await make_bench(policy=ASKS)
    (bench.workspace / "tools").mkdir()
    place = bench.workspace / script
    rest = "#\n" * (6_000_000 if script == "big.sh" else 0)
    place.write_text("echo good\n" + rest)
    (bench.workspace / "link").symlink_to("run.sh")
    asker = Answering(before=lambda: place.write_text("echo evil\n" + rest) and None)
    answer = await result(bench, "run_command", asker=asker, command=command, working_dir=folder or ".")
    assert len(asker.asked) == 1
    assert answer.error is not None
    assert answer.error.code == "stale"


@pytest.mark.parametrize("command", ["a" * 300, "x" * 20_000, "a b " * 4_000, "'", "../" * 1000, "\t\t'x'"])
async def test_THR_approvals_odd_words_of_a_command_are_no_defect(make_bench: Any, command: str) -> None:
    bench: Bench = await make_bench(policy=ASKS)
    answer = await result(bench, "run_command", asker=Answering("deny"), command=command)
    assert answer.error.code == "approval_denied"


@pytest.mark.usefixtures("sandbox")
async def test_THR_approvals_a_session_answer_about_a_command_holds_in_its_folder_only(make_bench: Any) -> None:
    bench: Bench = await make_bench(policy=ASKS)
    for folder in ("safe", "evil"):
        (bench.workspace / folder).mkdir()
        (bench.workspace / folder / "run.sh").write_text(f"echo {folder}\n")
    asker = Answering(scope="session")
    for folder in ("safe", "safe", "evil"):
        await result(bench, "run_command", asker=asker, command="sh run.sh", working_dir=folder)
    assert [question.cwd for question in asker.asked] == [str(bench.workspace / "safe"), str(bench.workspace / "evil")]
    assert "in `safe`" in (asker.asked[0].session_rule or "")


async def test_THR_approvals_a_no_for_the_session_is_not_asked_again(make_bench: Any) -> None:
    bench: Bench = await make_bench(policy=ASKS)
    asker = Answering("deny", scope="session")
    for _ in range(3):
        answer = await result(bench, "write_file", asker=asker, path="b.py", content="x")
        assert answer.error is not None
    assert len(asker.asked) == 1
    await result(bench, "write_file", asker=asker, path="c.py", content="x")
    assert len(asker.asked) == 2


async def test_THR_approvals_an_always_is_written_exactly_as_it_was_shown(make_bench: Any) -> None:
    """THR-approvals-always-exact: the permission file gets exactly the rule that was shown, and that rule allows no
    other file."""
    bench: Bench = await make_bench(policy=ASKS)
    file = bench.settings.person_permissions
    asker = Answering(scope="always")
    for path in ("b *.py", "b *.py", "b x.py", "sub/b *.py"):
        await result(bench, "write_file", asker=asker, path=path, content=f"{len(bench.events)}")
    assert [question.title for question in asker.asked] == ["create b *.py", "create b x.py", "create sub/b *.py"]
    shown = [question.always_rule for question in asker.asked]
    assert file.read_text() == "allow:\n" + "".join(f"  - {rule}\n" for rule in shown)
    records = [r.event for r in bench.audit()]
    assert [r.metadata["rule"] for r in records if r.kind is AuditKind.POLICY_UPDATE] == shown
    answers = [r.metadata for r in records if r.kind is AuditKind.APPROVAL_RESOLVED]
    assert [(a["by"], a["scope"]) for a in answers[:2]] == [("person", "always"), ("standing_answer", "always")]
    assert answers[0]["rule"] == shown[0]


@pytest.mark.parametrize("state", ["broken", "json", "folder"])
async def test_THR_approvals_an_always_that_cannot_be_written_holds_for_the_session_and_says_so(
    make_bench: Any, state: str
) -> None:
    bench: Bench = await make_bench(policy=ASKS)
    file = bench.settings.person_permissions
    match state:
        case "broken":
            file.write_text("allow: [{tol: x}]\n")
        case "json":
            file.write_text('{"allow": []}\n')
        case "folder":
            file.mkdir()
    before = file.read_text() if file.is_file() else None
    asker = Answering(scope="always")
    for _ in range(2):
        assert (await result(bench, "write_file", asker=asker, path="b.py", content=f"{len(bench.events)}")).ok
    assert len(asker.asked) == 1
    (warning,) = bench.of("warning")
    assert warning.message.startswith("your answer holds for this session only: ")
    assert (file.read_text() if file.is_file() else None) == before
    assert sorted(p.name for p in file.parent.iterdir()) == ["permissions.yaml", "policy.yaml"]


async def test_THR_approvals_a_link_is_followed_and_the_file_keeps_its_mode(make_bench: Any, tmp_path: Any) -> None:
    bench: Bench = await make_bench(policy=ASKS)
    real = tmp_path / "dotfiles" / "answers.yaml"
    real.parent.mkdir()
    real.write_text("# mine\n")
    real.chmod(0o640)
    bench.settings.person_permissions.symlink_to(real)
    await result(bench, "write_file", asker=Answering(scope="always"), path="b.py", content="x")
    assert bench.settings.person_permissions.is_symlink()
    assert real.read_text().startswith(
        "# mine\nallow:\n  - {tool: write_file, syscall: fs.write, path: b.py, workspace: "
    )
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "sabotage",
    [
        lambda place: place.write_text(SHOP + "# more\n"),
        lambda place: place.unlink(),
        lambda place: (place.unlink(), place.symlink_to("/etc/passwd")),
        lambda place: (place.unlink(), place.mkdir()),
    ],
    ids=["rewritten", "removed", "linked", "folder"],
)
async def test_THR_approvals_bytes_changed_while_pending_are_not_overwritten(
    make_bench: Any, sabotage: Callable[[Any], Any]
) -> None:
    bench: Bench = await make_bench(policy=ASKS)
    place = bench.workspace / "a.py"
    seen: list[Any] = []

    def act() -> None:
        if not seen:
            sabotage(place)
        seen.append(place.is_dir() or (place.exists() and place.read_bytes()))

    asker = Answering(before=act, later="deny")
    answer = await result(bench, "edit_file", asker=asker, path="a.py", old_text="total = 0", new_text="total = 9")
    assert answer.error is not None
    assert len({question.digest for question in asker.asked}) == len(asker.asked)
    assert (place.is_dir() or (place.exists() and place.read_bytes())) == seen[0]


async def test_THR_approvals_a_file_that_appears_while_its_creation_is_pending_is_kept(make_bench: Any) -> None:
    bench: Bench = await make_bench(policy=ASKS)
    asker = Answering(before=lambda: (bench.workspace / "new.py").write_text("mine\n") and None, later="deny")
    answer = await result(bench, "write_file", asker=asker, path="new.py", content="theirs\n")
    assert answer.error is not None
    assert answer.error.code == "approval_denied"
    assert [question.title for question in asker.asked] == ["create new.py", "change new.py"]
    assert (bench.workspace / "new.py").read_text() == "mine\n"


async def test_THR_approvals_ids_are_good_once_in_time_and_for_their_own_question(make_bench: Any) -> None:
    """An answer with another question's digest, an unknown id or a used id is refused and audited, and changes
    nothing."""
    bench: Bench = await make_bench(policy=ASKS)
    running = [
        asyncio.create_task(bench.ask(own("write_file", path=f"{name}.py", content=name), asker=STREAM, session=name))
        for name in ("one", "two")
    ]
    first, second = await _question(bench, 1), await _question(bench, 2)
    answer = bench.runtime.answer
    crossed = ApprovalAnswer(approval_id=first.approval_id, decision="allow", digest=second.digest)
    assert answer(crossed).reason == SAYS.this_answer_belongs_to_another
    guessed = ApprovalAnswer(approval_id=first.approval_id.swapcase(), decision="allow")
    assert answer(guessed).reason == SAYS.there_is_no_such_question
    denied = ApprovalAnswer(approval_id=first.approval_id, decision="deny", digest=first.digest)
    assert answer(denied).accepted
    assert not answer(_yes(first)).accepted
    assert answer(_yes(second)).accepted
    assert not answer(_yes(second)).accepted
    await asyncio.gather(*running)
    assert [p.name for p in sorted(bench.workspace.iterdir())] == ["a.py", f"{second.title.removeprefix('create ')}"]
    refused = [r.event for r in bench.audit() if r.event.kind is AuditKind.APPROVAL_REFUSED]
    assert [event.deny_reason for event in refused] == ["crossed", "unknown", "used", "used"]


async def test_THR_approvals_a_wider_scope_than_was_offered_is_refused(make_bench: Any) -> None:
    """For a file that takes effect by itself the person is asked every time, whichever scope the client answers
    with."""
    bench: Bench = await make_bench(policy=ASKS)
    running = asyncio.create_task(bench.ask(own("write_file", path="conftest.py", content="x"), asker=STREAM))
    question = await _question(bench)
    assert question.scopes == (Scope.ONCE,)
    assert bench.runtime.answer(_yes(question, scope=Scope.SESSION)).reason == SAYS.this_scope_was_not_on
    assert bench.runtime.answer(_yes(question)).accepted
    await running


async def test_THR_approvals_an_expired_answer_changes_nothing(make_bench: Any) -> None:
    bench: Bench = await make_bench(policy=ASKS, approval_timeout_s=0.3)
    running = asyncio.create_task(bench.ask(own("write_file", path="b.py", content="x"), asker=STREAM))
    question = await _question(bench)
    await running
    assert not bench.runtime.answer(_yes(question)).accepted
    assert not (bench.workspace / "b.py").exists()


async def test_THR_approvals_a_lost_client_and_a_broken_prompt_are_a_no(make_bench: Any) -> None:
    class Breaking(Answering):
        async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
            raise ConnectionResetError

    class Closing(Answering):
        async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
            return None

    for asker in (Breaking(), Closing()):
        bench: Bench = await make_bench(policy=ASKS)
        answer = await result(bench, "write_file", asker=asker, path="b.py", content="x")
        assert answer.error.code == "approval_denied"
        assert not (bench.workspace / "b.py").exists()


HIDING = {
    "line feed": ("ls\nrm -rf x", "U+000A"),
    "carriage return": ("rm -rf x\rls   ", "U+000D"),
    "escape": ("ls\x1b[2K\x1b[1Arm -rf x", "U+001B"),
    "backspace": ("rm -rf x\b\b\b\b\b\b\b\bls", "U+0008"),
    "bidi override": ("ls \u202ex fr- mr", "U+202E"),
    "bidi isolate": ("ls \u2066x\u2069", "U+2066"),
    "zero width": ("r\u200bm x", "U+200B"),
    "joiner": ("r\u200dm", "U+200D"),
    "byte order mark": ("\ufeffrm", "U+FEFF"),
    "tag": ("ls \U000e0072\U000e006d", "U+E0072"),
    "no-break space": ("rm\u00a0-rf", "U+00A0"),
    "line separator": ("ls\u2028rm", "U+2028"),
    "hangul filler": ("rm\u3164x", "U+3164"),
    "variation selector": ("rm\ufe0f", "U+FE0F"),
    "soft hyphen": ("r\u00adm", "U+00AD"),
}


@pytest.mark.parametrize("name", HIDING)
async def test_THR_approvals_hidden_characters_are_spelled_out_in_every_field_that_is_shown(
    make_bench: Any, name: str
) -> None:
    command, mark = HIDING[name]
    bench: Bench = await make_bench(policy=ASKS)
    (bench.workspace / "a.py").write_text(f"x = '{command}'\nold\n", newline="")
    asker = Answering("deny")
    await result(bench, "run_command", asker=asker, command=command)
    await result(bench, "write_file", asker=asker, path="b.py", content=f"x{command}\n")
    await result(bench, "edit_file", asker=asker, path="a.py", old_text="old", new_text="new")
    raw = [c for c in command if not (c.isascii() and c.isprintable())]
    run, write, edit = asker.asked
    for text in (
        run.title,
        run.command,
        run.session_rule,
        run.always_rule or "",
        *(run.argv or ()),
        write.diffs[0].diff,
        edit.diffs[0].diff,
    ):
        assert text is not None
        assert not set(raw) & (set(text) - {"\n"})
    if name == "line feed":  # the title says how many characters follow, and the command is shown below it line by line
        assert "9 characters more, shown below" in run.title
        assert (run.command or "").split("\n") == command.split("\n")
    else:
        assert mark in run.title
        assert mark in (run.command or "")
        assert mark in write.diffs[0].diff
        assert mark in edit.diffs[0].diff


async def test_THR_approvals_one_no_leaves_the_other_calls_of_the_step(make_bench: Any) -> None:
    writes = [call("write_file", path=f"{n}.py", content="x") for n in range(3)]
    bench: Bench = await make_bench({"calls": [intent("CODE"), *writes]}, {"text": "done"}, policy=ASKS)

    class OnlyTheFirstIsRefused(Answering):
        async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
            self.decision = "allow" if self.asked else "deny"
            return await super().ask(question)

    await bench.ask("go", asker=OnlyTheFirstIsRefused())
    assert [event.ok for event in bench.of("tool_result")] == [False, True, True]


@pytest.mark.slow
async def test_THR_approvals_a_diff_too_long_to_compare_still_shows_every_changed_line(make_bench: Any) -> None:
    """A comparison of all lines with all others would block the server for hours before the person is asked."""
    bench: Bench = await make_bench(policy=ASKS)
    lines = [f"{n * 7919 % 110}" for n in range(150_000)]
    (bench.workspace / "many.txt").write_text("\n".join(lines) + "\n")
    asker = Answering("deny")
    async with asyncio.timeout(60):
        await result(bench, "edit_file", asker=asker, path="many.txt", old_text="7", new_text="77", replace_all=True)
    shown = asker.asked[0].diffs[0].diff.splitlines()
    first = max(0, next(n for n, line in enumerate(lines) if "7" in line) - 3)
    before = [line[1:] for line in shown if line.startswith((" ", "-")) and not line.startswith("---")]
    after = [line[1:] for line in shown if line.startswith((" ", "+")) and not line.startswith("+++")]
    assert before == lines[first : first + len(before)]
    assert after == [line.replace("7", "77") for line in before]
    assert not any("7" in line for line in lines[first + len(before) :])
