"""HOK-03, HOK-01: what an agent may try against its own hook, and failures around the hook."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command_line import REMIT
from examples import rounds
from hooked import Hooked, word_of

from remit_server.hooks.formats.agents import AGENTS


@pytest.fixture
def hooked(tmp_path: Path) -> Hooked:
    return Hooked.made(tmp_path)


def words_of(hooked: Hooked, lines: tuple[str, ...]) -> dict[str, str]:
    """Returns the answer to each command line, all judged in one process."""
    text = "\n".join(json.dumps(hooked.bash(line)) for line in lines)
    done = hooked.remit("hook", "test", "claude-code", "--json", stdin=text)
    return dict(zip(lines, (each["word"] for each in done.lines), strict=True))


SETTINGS = (
    *(
        "echo x > .claude/settings.json",
        "echo x >> .claude/settings.local.json",
        "tee .claude/settings.json < src/a.py",
    ),
    *("cp src/a.py .claude/settings.json", "mv src/a.py .claude/settings.json", "rm -rf .claude", "rm .claude/*"),
    *("ln -sf /dev/null .claude/settings.json", "sed -i s/remit/true/ .claude/settings.json", "chmod 0 .claude"),
    *("cd .claude && echo x > settings.json", "truncate -s 0 .claude/settings.json", "echo x > link"),
    *('python3 -c \'open(".claude/settings.json","w")\'', "git checkout -- .claude/settings.json", "git stash -u"),
    *("remit hook remove claude-code --yes", "remit intent EXECUTE", "remit hook report --allow 1 --yes"),
    *("env -i sh -c 'rm -r .claude'", "xargs rm < src/a.py", "find . -name settings.json -delete"),
    *("echo x > .codex/hooks.json", "echo x > .gemini/settings.json", "echo x > .github/hooks/remit.json"),
    *("echo x > .cursor/hooks.json", "echo x > .copilot/hooks/remit.json", "pkill remit", "kill -9 1"),
    *("export PATH=/tmp:$PATH", "alias remit=true", "echo x > ~/.claude/settings.json", "REMIT_CONFIG_DIR=/tmp ls -la"),
)


def test_HOK_03_no_command_changes_the_hook_unasked(hooked: Hooked) -> None:
    """THR-hooks-settings-edited."""
    words = words_of(hooked, SETTINGS)
    assert [line for line, word in words.items() if word == "allow"] == []
    assert words["echo x > .claude/settings.json"] == words["echo x > link"] == "deny"


def test_HOK_03_what_only_a_sandbox_would_hold_is_asked_about(hooked: Hooked) -> None:
    """THR-hooks-no-sandbox."""
    (hooked.root / "other").symlink_to(".env")
    (hooked.root / "away").symlink_to("/etc/passwd")
    (hooked.root / "src" / "twin").hardlink_to(hooked.root / ".env")
    (hooked.root / "src" / "alias").symlink_to("a.py")
    asked = (
        *("cat *", "cat .[e]nv", "find . | xargs cat", "find . -exec cat {} +", "sort --files0-from=src/a.py", "rg x"),
        *("echo /etc/passwd | xargs cat", "xargs cat", "cat src/a.py | xargs -n1 wc", "wc --files0-from=-"),
        *("grep -r x .", "git grep x", "git show HEAD:.env", "cat other", "cat away", "cat src/twin", "ps auxe", "env"),
        *(
            "printenv A",
            "export -p",
            "cd /tmp && ls",
            "cd && ls",
            "docker inspect x",
            "git config --list",
            "echo x>/tmp/y",
        ),
    )
    allowed = (
        "cat src/a.py",
        "cat src/alias",
        "rg x src/a.py",
        "ls -la",
        "git status",
        "ps -ef",
        "find . -name '*.py'",
    )
    words = words_of(hooked, (*asked, *allowed))
    assert {line: words[line] for line in asked if words[line] == "allow"} == {}
    assert {line: words[line] for line in allowed if words[line] != "allow"} == {}


ONLY_SEEMS_TO_READ = (
    *(
        "python3 -m pip list",
        "python3 -m json.tool src/a.py",
        "python3 -I -m json.tool a.json b.json",
        "tar -tf evil:x",
    ),
    *("pip --python ./evil.sh list", "java -javaagent:x.jar -version", "docker --config ./dc info", "gem list -r"),
    *("tmux ls ';' run-shell id", "apt search -o AptCli::Hooks::Search::=./evil.sh z", "ruby -v -r./evil"),
    *("git bisect view rm -f src/a.py --", "git clean -n --no-dry-run -f", "git commit --dry-run --no-dry-run -m x"),
    *("ruff check --config fix=true src/a.py", "git apply --stat --build-fake-ancestor=foo P", "git branch -v foo"),
    *("getent hosts x.evil", "systemctl -H evil status", "docker -H ssh://evil ps", "gron https://x.evil"),
)


def test_HOK_03_what_only_seems_to_read_is_asked_about(hooked: Hooked) -> None:
    """THR-hooks-no-sandbox."""
    words = words_of(hooked, ONLY_SEEMS_TO_READ)
    assert [line for line, word in words.items() if word == "allow"] == []


@pytest.mark.slow
def test_HOK_03_links_are_judged_by_where_they_lead_and_files_by_all_their_names(hooked: Hooked) -> None:
    """THR-hooks-other-names."""
    (hooked.root / "plain.txt").symlink_to(".env")
    (hooked.root / "out").symlink_to("/etc")
    (hooked.root / "twin.txt").hardlink_to(hooked.root / ".env")
    told = {}
    for path in ("plain.txt", "out/passwd", "twin.txt", "src/../.env", ".env"):
        event = hooked.bash("") | {"tool_name": "Read", "tool_input": {"file_path": str(hooked.root / path)}}
        told[path] = word_of("claude-code", hooked("claude-code", event))
    assert told == {"plain.txt": "deny", "out/passwd": "deny", "twin.txt": "ask", "src/../.env": "deny", ".env": "deny"}


@pytest.mark.slow
def test_HOK_01_hostile_names_are_answered_and_shown_as_what_they_are(hooked: Hooked) -> None:
    """THR-hooks-hostile-names."""
    for name in ("a\nallow", "a\u202eyp.txt", "\x1b[2J", "\ud800", "x" * 5000, "a\0b", "'; rm -rf /; '", " . ", "con."):
        event = hooked.bash("") | {"tool_name": "Write", "tool_input": {"file_path": name, "content": ""}}
        done = hooked("claude-code", event)
        assert word_of("claude-code", done) in {"ask", "deny"}
        reason = json.loads(done.out)["hookSpecificOutput"]["permissionDecisionReason"]
        assert not {"\x1b", "\u202e", "\n"} & set(reason)
        named = hooked.bash("") | {"tool_name": name[:150], "tool_input": {}}
        assert word_of("claude-code", hooked("claude-code", named)) in {"ask", "deny"}


@pytest.mark.slow
def test_HOK_01_large_calls_are_judged_up_to_a_bound_and_stopped_beyond(hooked: Hooked) -> None:
    """THR-hooks-large-calls."""

    def write(**arguments: object) -> tuple[int, str]:
        event = hooked.bash("") | {"tool_name": "Write", "tool_input": {"file_path": "src/b.py", **arguments}}
        done = hooked("claude-code", event)
        return done.code, word_of("claude-code", done)

    assert write(content="x" * (4 << 20)) == (0, "ask")
    assert write(content="x" * (9 << 20)) == (2, "deny")
    assert write(**{f"k{n}": n for n in range(10_000)}) == (0, "ask")
    assert write(**{f"k{n}": n for n in range(30_000)}) == (2, "deny")
    assert word_of("claude-code", hooked("claude-code", hooked.bash("ls " + "a " * 300_000))) == "deny"


@pytest.mark.slow
def test_HOK_01_a_policy_that_cannot_be_read_stops_the_call(hooked: Hooked) -> None:
    """THR-hooks-broken-policy."""
    project = hooked.root / ".remit" / "policy.yaml"
    project.parent.mkdir()
    os.mkfifo(project)
    for agent, row in AGENTS.items():
        first = next(name for name, each in row.events.items() if each.kind == "before" and each.tool is None)
        done = hooked(agent, hooked.bash("ls") | {"hook_event_name": first})
        assert (done.code, word_of(agent, done)) == (row.failed, "deny"), agent
        assert "fix: " in done.err
    project.unlink()
    hooked.remit.config.mkdir(exist_ok=True)
    for text in ("nonsense: [", "version: 1\ncapabilities: 3\n", "\udcff"):
        (hooked.remit.config / "policy.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
        assert hooked("claude-code", hooked.bash("ls")).code == 2


@pytest.mark.slow
def test_HOK_01_an_answer_comes_before_the_agent_gives_up_waiting(hooked: Hooked) -> None:
    hooked.remit.config.mkdir(exist_ok=True)
    os.mkfifo(hooked.remit.config / "policy.yaml")
    assert hooked("claude-code", hooked.bash("ls")).code == 2


@pytest.mark.slow
def test_HOK_02_an_argument_that_no_row_knows_is_asked_about(hooked: Hooked) -> None:
    """THR-hooks-a-second-path: an argument that a new version of an agent adds must not be taken for a known one."""
    for tool, known in (("Read", "file_path"), ("Glob", "path"), ("Grep", "path"), ("LS", "path")):
        for more in ({}, {"also": "/etc/passwd"}, {"also": ["/etc"]}, {"also": {"in": "/etc"}}):
            place = hooked.root / "src" / ("a.py" if tool == "Read" else "")
            arguments = {known: str(place), "pattern": "a.py", "limit": 3, **more}
            event = hooked.bash("") | {"tool_name": tool, "tool_input": arguments}
            assert word_of("claude-code", hooked("claude-code", event)) == ("ask" if more else "allow"), event


@pytest.mark.slow
def test_HOK_09_what_was_exchanged_after_it_was_judged_shows_in_the_record(hooked: Hooked) -> None:
    """THR-hooks-exchanged."""
    file = hooked.root / "src" / "a.py"
    for tool, target in (("Write", hooked.root / ".env"), ("Read", Path("/etc/passwd"))):
        event = hooked.bash("", call=tool) | {"tool_name": tool, "tool_input": {"file_path": str(file)}}
        assert word_of("claude-code", hooked("claude-code", event)) in {"allow", "ask"}
        file.unlink()
        file.symlink_to(target)
        hooked("claude-code", event | {"hook_event_name": "PostToolUse", "tool_response": {"success": True}})
        file.unlink()
        file.write_text("x=1\n")
        records = [record for record in hooked.records() if record.get("tool_call_id") == tool]
        why = hooked.remit("audit", "why", str(records[-1]["number"]), "--json").json
        assert why["leads_to"] == (".env" if tool == "Write" else "/etc/passwd")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_HOK_04_a_call_that_cannot_be_recorded_is_stopped(hooked: Hooked) -> None:
    """THR-hooks-full-disk."""
    # The limit of a file's size in blocks: 0 is like a full disk, larger ones fail at later steps of the record.
    for number, blocks in enumerate([0, 0, *range(1, 200, 200 // rounds(100, 5))]):
        full = ("sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh")
        text = json.dumps(hooked.bash("ls", call=f"full{number}"))
        done = hooked.remit("hook", "claude-code", stdin=text, before=full, REMIT_HOOK_RESIDENT="off")
        word = word_of("claude-code", done)
        recorded = [record for record in hooked.records() if record.get("tool_call_id") == f"full{number}"]
        assert (word, len(recorded)) in {("deny", 0), ("allow", 1)}, done
        assert word == "allow" or (done.code == 2 and "fix: " in done.err)
        assert blocks or word == "deny"
        assert word_of("claude-code", hooked("claude-code", hooked.bash("ls"))) == "allow"
    assert hooked.remit("audit", "verify").code == 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_HOK_04_kill_9_at_any_moment_leaves_a_log_that_holds(hooked: Hooked) -> None:
    """THR-hooks-killed."""
    environment = {**hooked.remit.environment, "REMIT_HOOK_RESIDENT": "off"}
    drawn = random.Random(7)
    hooked("claude-code", hooked.bash("ls"))
    answered: list[tuple[str, str]] = []
    for number in range(rounds(500, 15)):
        command, word = ("ls", "allow") if number % 2 else ("echo x > .env", "deny")
        text = json.dumps(hooked.bash(command, call=f"killed{number}")).encode()
        with subprocess.Popen(
            [str(REMIT), "hook", "claude-code"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        ) as process:
            assert process.stdin is not None
            process.stdin.write(text)
            process.stdin.close()
            time.sleep(drawn.uniform(0.3, 1.2))
            process.send_signal(signal.SIGKILL)
            assert process.stdout is not None
            out = process.stdout.read()
            assert not out or json.loads(out)["hookSpecificOutput"]["permissionDecision"] == word
            answered += [(f"killed{number}", word)] if out else []
    recorded = hooked.remit("audit", "log", "--json", "-n", "100000").lines
    told = {r["tool_call_id"]: r["metadata"]["told"] for r in recorded if r["kind"] == "tool_intent"}
    assert [(call, word) for call, word in answered if told.get(call) != word] == []
    assert word_of("claude-code", hooked("claude-code", hooked.bash("ls"))) == "allow"
    assert hooked.remit("audit", "verify").code == 0
