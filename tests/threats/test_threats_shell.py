"""Commands that do more than they seem to, under policies that allow some commands and deny others (CMD-02)."""

from __future__ import annotations

from typing import Any

import pytest
from bench_runtime import Answering, Bench
from rows import rows
from threat_bench import LAX, result, script

from remit_governance.permissions.permissions import Override, PermissionConfig, PermissionRule, Standing, decide
from remit_governance.policy.decision.evaluate import evaluate
from remit_governance.policy.language.action_form import parse_action
from remit_governance.policy.language.compile import Source, compile_policy
from remit_governance.values import Verdict

RULES = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: [fs.read, fs.list], path_glob: ["**"] }, action: allow }
  - { name: tests, match: { syscall: process.exec, command: ["pytest", "git status"] }, action: allow }
  - { name: no-rm, match: { syscall: process.exec, command: [rm] }, action: deny }
"""
ANYTHING = RULES + "  - { name: anything, match: { syscall: process.exec }, action: allow }\n"
A_SHELL = RULES + "  - { name: shells, match: { syscall: process.exec, command: [sh, bash] }, action: allow }\n"

MORE_THAN_WORDS = [
    "pytest; rm -rf x",
    "pytest && rm -rf x",
    "pytest || rm -rf x",
    "pytest | rm -rf x",
    "pytest & rm -rf x",
    "pytest\nrm -rf x",
    "pytest\r\nrm -rf x",
    "pytest $(rm -rf x)",
    "pytest `rm -rf x`",
    'pytest "$(rm -rf x)"',
    "$(echo rm) -rf x",
    "`echo rm` -rf x",
    "pytest <(rm x)",
    "$'\\x72m' -rf x",
    'r"m" -rf $X',
    "r\\m -rf x",
    "${RM:-rm} -rf x",
    "{rm,-rf,x}",
    "(rm -rf x)",
    "{ rm -rf x; }",
    "! rm x",
    "FOO=1 rm -rf x",
    "PATH=. pytest",
    "FOO+=1 pytest",
    "IFS=m;r$IFS",
    "if true; then rm x; fi",
    "if rm",
    "time rm x",
    "eval rm -rf x",
    "eval 'rm -rf x'",
    "exec rm x",
    "command rm x",
    "builtin eval rm",
    ". ./a.sh",
    "source a.sh",
    "trap 'rm -rf x' EXIT",
    "alias pytest=rm",
    "~root/x",
    "pytest 'open",
    'pytest "open',
    "pytest \\\n; rm x",
    "pytest\x00rm",
    "pytest\x0brm",
    "pytest \u00a0; rm",
    "\u202epytest",
]


@pytest.mark.parametrize("policy", [RULES, ANYTHING, A_SHELL], ids=["some", "anything", "a-shell"])
@pytest.mark.parametrize("command", MORE_THAN_WORDS)
def test_THR_shell_what_is_more_than_plain_words_is_never_allowed_by_itself(policy: str, command: str) -> None:
    judged = evaluate(
        compile_policy([Source("p", policy)]), parse_action({"syscall": "process.exec", "command": command})
    )
    assert judged.verdict in {Verdict.DENY, Verdict.REQUIRE_REVIEW}


@rows("command", ["r''m x", 'r"m" x', "'rm' x", "rm\tx", '"rm" "-rf" x', "rm"])
def test_THR_shell_quotes_do_not_hide_a_denied_program(command: str) -> None:
    judged = evaluate(
        compile_policy([Source("p", ANYTHING)]), parse_action({"syscall": "process.exec", "command": command})
    )
    assert judged.verdict is Verdict.DENY
    assert judged.rules == ("no-rm",)


@pytest.mark.parametrize("command", ["pytest; rm -rf x", "$(pytest)", "eval pytest"])
@pytest.mark.parametrize(
    "config",
    [
        PermissionConfig(allow=(PermissionRule(tool=("run_command",)),)),
        PermissionConfig(allow=(PermissionRule(command=("sh",)),)),
        PermissionConfig(overrides=(Override(tool=("run_command",), answer="allow"),)),
        PermissionConfig(default_action="allow"),
    ],
    ids=["by-tool", "by-shell", "override", "default"],
)
def test_THR_shell_no_standing_answer_covers_what_is_more_than_plain_words(
    command: str, config: PermissionConfig
) -> None:
    action = parse_action({"syscall": "process.exec", "command": command, "tool": "run_command"})
    decision = evaluate(compile_policy([Source("p", ANYTHING)]), action)
    assert decide(config, Standing(), action, decision).word in {"ask", "deny"}


@pytest.mark.slow
async def test_THR_shell_the_dispatcher_judges_the_same_words_as_policy_explain(make_bench: Any) -> None:
    """Every trick goes through the whole dispatcher: the person is asked and refuses, and the command never runs."""
    bench: Bench = await make_bench(policy=ANYTHING)
    (bench.workspace / "x").mkdir()
    for command in MORE_THAN_WORDS:
        asker = Answering("deny")
        answer = await result(bench, "run_command", asker=asker, command=command)
        assert answer.error is not None, command
        assert asker.asked or answer.error.code in {"invalid_arguments", "denied"}, command
    assert (bench.workspace / "x").is_dir()


WRITES = [
    "echo evil > a.py; echo evil | tee a.py",
    "sed -i s/total/evil/ a.py",
    "python3 -c \"open('a.py', 'w').write('evil')\"",
    "cp /etc/hostname a.py; mv a.py b.py; rm a.py; ln -sf /etc/passwd a.py; truncate -s0 a.py; chmod 777 a.py",
    "mkdir -p .git/hooks .vscode; echo evil > .git/hooks/pre-commit",
    "find . -name a.py -delete; find . -name a.py -exec rm {} +",
    "tar cf a.py /etc; dd if=/dev/zero of=a.py count=1; sort -o a.py a.py",
    "cp -r . /tmp/here && cd /tmp/here && echo evil > a.py && git init -q . && ls -d .git",
    "mount -o remount,rw . ; unshare -r sh -c 'echo evil > a.py'; chroot . sh",
    "exec 9<>a.py; echo evil >&9; flock a.py echo evil",
]
DENIED = LAX.replace('fs.write, path_glob: ["**"] }, action: allow', "fs.write }, action: deny")


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("trick", WRITES)
async def test_THR_shell_writes_of_every_kind_leave_the_workspace_as_it_is(make_bench: Any, trick: str) -> None:
    """An allowed command may write anything in its layer, but only files that policy allows reach the workspace."""
    await leaves_the_workspace_as_it_is(await make_bench(policy=DENIED), trick)


@pytest.mark.slow
@pytest.mark.usefixtures("each_sandbox", "sandbox")
async def test_THR_shell_all_of_these_writes_together_do_so_in_each_sandbox(make_bench: Any) -> None:
    await leaves_the_workspace_as_it_is(await make_bench(policy=DENIED), "\n".join(f"({each})" for each in WRITES))


async def leaves_the_workspace_as_it_is(bench: Bench, trick: str) -> None:
    before = (bench.workspace / "a.py").read_bytes()
    assert (await script(bench, f"echo started\n{trick}\n")).output.count("started") == 1
    assert (bench.workspace / "a.py").read_bytes() == before
    assert sorted(p.name for p in bench.workspace.iterdir()) == ["a.py", "script.sh"]


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize(
    "look",
    [
        "cat .env api/.env vault/deep/key link seen.txt",
        "grep -r hidden .; head seen.txt",
        "python3 -c \"print(open('api/.env').read())\"; cat seen.txt",
        "cp -r . /tmp/copy; cat /tmp/copy/.env /tmp/copy/api/.env /tmp/copy/seen.txt",
        "tar c . | tr -d '\\0'; cat /proc/self/cwd/link /proc/1/cwd/.env seen.txt",
        "cd api; cat ../.env ./.env ../seen.txt; diff .env ../seen.txt; . ./.env; base64 .env",
    ],
)
async def test_THR_shell_what_read_file_is_denied_no_command_can_show(make_bench: Any, look: str) -> None:
    """A file that `read_file` may not read is hidden from commands, by any name, in any folder, and if Git ignores
    it."""
    deny = '  - { name: vault, match: { syscall: fs.read, path_glob: ["vault/**"] }, action: deny }\n'
    bench: Bench = await make_bench(policy=LAX + deny)
    for name in (".env", "api/.env", "vault/deep/key", "seen.txt"):
        (bench.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.workspace / name).write_text(f"{'shown' if name == 'seen.txt' else 'hidden-value'}\n")
    (bench.workspace / "link").symlink_to("api/.env")
    (bench.workspace / ".gitignore").write_text(".env\n")
    answer = await script(bench, look)
    assert "hidden-value" not in answer.output
    assert "shown" in answer.output
