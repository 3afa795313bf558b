"""HOK-06: `remit hook install` and `remove` change only Remit's entries in an agent's settings, and no other byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hooked import Hooked, word_of
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_server.errors import SetupError
from remit_server.hooks.formats.agents import AGENTS
from remit_server.hooks.settings_file import EVENTS, SettingsFile, hash_of

pytestmark = pytest.mark.slow

OTHERS = """{
    // mine
    "model": "opus",   "permissions": {"allow": ["Bash(ls)"]},
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "dcg"}]}
        ]
    }
}
"""


@pytest.fixture
def hooked(tmp_path: Path) -> Hooked:
    return Hooked.made(tmp_path)


def file_of(agent: str) -> SettingsFile:
    return SettingsFile(AGENTS[agent], Path("/nowhere/settings.json"), "/opt/re mit/bin/remit")


@pytest.mark.parametrize("agent", AGENTS)
def test_HOK_06_what_is_installed_is_what_the_agent_reads_and_goes_again(agent: str) -> None:
    file = file_of(agent)
    made = file.with_hooks("")
    value = json.loads(made)
    assert set(value["hooks"]) == set(EVENTS[agent])
    assert file.with_hooks(made) == made
    assert (file.state(""), file.state(made)) == ("absent", "installed")
    assert json.loads(file.without_hooks(made)) == {name: part for name, part in value.items() if name != "hooks"}


@pytest.mark.parametrize("agent", AGENTS)
def test_HOK_06_all_else_stays_byte_for_byte(agent: str) -> None:
    file = file_of(agent)
    made = file.with_hooks(OTHERS)
    assert made != OTHERS
    assert file.without_hooks(made) == OTHERS
    assert file.with_hooks(made) == made
    # Entries of another version are replaced, and not added a second time.
    older = made.replace("/opt/re mit/bin/remit", "/old/remit")
    assert file.with_hooks(older) == made


@settings(max_examples=60, deadline=None)
@given(
    value=st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.text(max_size=5) | st.integers(),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
            max_leaves=5,
        ),
        max_size=4,
    ),
    indent=st.sampled_from([None, 1, 2, "\t"]),
)
def test_HOK_06_any_settings_come_back_as_they_were(value: dict, indent: int | str | None) -> None:
    text = json.dumps(value, indent=indent)
    file = file_of("claude-code")
    try:
        made = file.with_hooks(text)
    except SetupError:
        assert not isinstance(value.get("hooks", {}), dict)
        return
    assert json.loads(made)["hooks"].keys() >= set(EVENTS["claude-code"])
    if value.get("hooks") != {} and value:
        assert file.without_hooks(made) == text


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', '{"a":1,}', '{"a":1,"a":2}', "nonsense"]
)
def test_HOK_06_what_cannot_be_kept_is_not_touched(text: str, hooked: Hooked, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    place = tmp_path / ".claude" / "settings.json"
    place.write_text(text)
    done = hooked.remit("hook", "install", "claude-code", "--yes", HOME=str(tmp_path))
    assert done.code == 1
    assert '"PreToolUse"' in done.err
    assert place.read_text() == text


def test_HOK_06_install_asks_is_idempotent_and_is_seen_by_status(hooked: Hooked, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert hooked.remit("hook", "install", "claude-code", **home).code == 1
    assert not (tmp_path / ".claude").exists()
    first = hooked.remit("hook", "install", "claude-code", "--yes", "--json", **home).json
    again = hooked.remit("hook", "install", "claude-code", "--yes", "--json", **home).json
    assert (first["changed"], again["changed"]) == (True, False)
    states = {line["file"]: line["state"] for line in hooked.remit("hook", "status", "--json", **home).lines}
    assert states[first["file"]] == "installed"
    assert sum(state == "installed" for state in states.values()) == 1
    assert hooked.remit("hook", "remove", "claude-code", "--yes", "--json", **home).json["changed"]
    assert (tmp_path / ".claude" / "settings.json").read_text() == "{}\n"


def test_HOK_06_where_remit_is_still_installed_is_said(hooked: Hooked, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    for place in ((), ("--project",)):
        assert hooked.remit("hook", "install", "claude-code", "--yes", *place, **home).code == 0
    first, second = (
        hooked.remit("hook", "remove", "claude-code", "--yes", *place, **home).out for place in ((), ("--project",))
    )
    assert "remit hook remove claude-code --project" in first
    assert "remit hook remove" not in second


TRUSTED = "sha256:75fc3d9b5c18798429f250b8f3b8e7b771748623471038709a09efd3f3a23b1b"
"""The name that Codex 0.171.0 gives this entry (`hooks/list` of its `app-server`)."""
KNOWN = {
    "matcher": "*",
    "hooks": [{"type": "command", "command": "/srv/bin/remit hook codex || exit 2", "timeout": 30}],
}


def test_HOK_10_hooks_that_codex_does_not_trust_are_not_called_installed(hooked: Hooked, tmp_path: Path) -> None:
    """THR-hooks-passed-over."""
    assert hash_of(KNOWN) == TRUSTED
    home = tmp_path / "home"
    (home / ".codex").mkdir(parents=True)

    def status() -> str:
        return hooked.remit("hook", "status", "codex", "--json", HOME=str(home)).lines[0]["state"]

    assert hooked.remit("hook", "install", "codex", "--yes", "--json", HOME=str(home)).json["state"] == "untrusted"
    assert status() == "untrusted"
    file = home / ".codex" / "hooks.json"
    (entry,) = json.loads(file.read_text())["hooks"]["PreToolUse"]
    trusted = f'[hooks.state."{file}:pre_tool_use:0:0"]\ntrusted_hash = "{hash_of(entry)}"\n'
    config = home / ".codex" / "config.toml"
    for text, state in (
        (trusted, "installed"),
        (f"{trusted}enabled = false\n", "untrusted"),
        (f"[features]\nhooks = false\n{trusted}", "untrusted"),
        (trusted.replace("sha256:", "sha256:0"), "untrusted"),
        (trusted.replace(":0:0", ":1:0"), "untrusted"),
        ("no = [toml", "untrusted"),
        (f"hooks = 3\nfeatures = []\n# {trusted}", "untrusted"),
    ):
        config.write_text(text)
        assert status() == state, text


def test_HOK_06_the_installed_command_answers_and_stops_the_call_where_remit_is_gone(hooked: Hooked) -> None:
    import subprocess

    from command_line import REMIT

    for name, remit, code, word in (
        ("claude-code", str(REMIT), 0, "allow"),
        ("claude-code", "/nowhere/remit", 2, "deny"),
        ("copilot", "/nowhere/remit", 0, "deny"),
    ):
        file = SettingsFile(AGENTS[name], Path("/nowhere"), remit)
        event = EVENTS[name][0]
        entry = json.loads(file.with_hooks(""))["hooks"][event][0]
        command = entry.get("bash") or entry["hooks"][0]["command"]
        done = subprocess.run(
            ["sh", "-c", command],
            input=json.dumps(hooked.bash("ls")),
            cwd=hooked.root,
            env={**hooked.remit.environment, "REMIT_HOOK_RESIDENT": "off"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, word_of(name, done_of(done))) == (code, word)


def done_of(process):
    from command_line import Done

    return Done(process.returncode, process.stdout, process.stderr)


def test_HOK_04_what_was_asked_most_is_reported_and_can_be_allowed(hooked: Hooked) -> None:
    for _ in range(3):
        hooked("claude-code", hooked.bash("make build"))
    hooked("claude-code", hooked.bash("") | {"tool_name": "mcp__docs__find", "tool_input": {}})
    hooked("claude-code", hooked.bash("cat *"))
    listed = hooked.remit("hook", "report", "--json").lines
    assert [(line["times"], bool(line["rule"])) for line in listed] == [(3, True), (1, True), (1, False)]
    for number in ("1", "2"):
        assert hooked.remit("hook", "report", "--allow", number, "--yes").code == 0
    words = [word_of("claude-code", hooked("claude-code", hooked.bash(c))) for c in ("make build", "make other")]
    assert words == ["allow", "ask"]
    mcp = hooked.bash("") | {"tool_name": "mcp__docs__find", "tool_input": {}}
    assert word_of("claude-code", hooked("claude-code", mcp)) == "allow"
    assert hooked.remit("hook", "report", "--allow", "3", "--yes").code == 2


def test_HOK_01_recorded_events_are_replayed_and_nothing_is_kept(hooked: Hooked) -> None:
    lines = "\n".join(json.dumps(hooked.bash(command)) for command in ("ls", "make", "echo x > .env"))
    done = hooked.remit("hook", "test", "claude-code", "--json", stdin=lines)
    assert [line["word"] for line in done.lines] == ["allow", "ask", "deny"]
    assert not hooked.remit.state.exists() or not list(hooked.remit.state.rglob("audit.sqlite3"))
