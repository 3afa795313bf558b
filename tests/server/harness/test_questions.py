"""A question can be read to its end: it has a short title, and shows everything whole once (INT-01)."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from bench_runtime import Answering, call, intent
from messages import SAYS

from remit_server.cli.console import draw_event

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")

ASKS_TO_RUN = "capabilities:\n  - { name: run, match: { syscall: process.exec }, action: require_review }\n"
LONG_SCRIPT = "cat <<'END'\n" + "".join(f"a line {n}\t{chr(0x202E)}⟨\n" for n in range(300)) + "END"


async def test_THR_approvals_long_command_is_said_once_and_its_title_stays_short(make_bench: Any) -> None:
    """THR-approvals-long-command: nobody reads a question of 35 kB that repeats its command four times."""
    asker = Answering("deny")
    bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command=LONG_SCRIPT)]}, {"text": "ok"}, policy=ASKS_TO_RUN
    )
    await bench.ask("go", asker=asker)
    (question,) = asker.asked
    assert question.title.startswith("run cat <<'END'… (")
    assert (
        f"{len(LONG_SCRIPT) - len(LONG_SCRIPT.partition(chr(10))[0]):,} characters more, shown below; sha256:"
        in question.title
    )
    assert question.command == LONG_SCRIPT.replace("⟨", "⟨U+27E8⟩").replace(chr(0x202E), "⟨U+202E⟩")
    assert question.always_rule is None, "a rule that nobody reads is not offered"
    assert question.session_rule is None or len(question.session_rule) < 300
    terminal = "\n".join(draw_event(question))
    assert "⟨U+27E8⟩U+" not in terminal.replace("⟨U+202E⟩⟨U+27E8⟩", ""), "nothing is spelled out twice"
    assert "U+000A" not in terminal
    assert len(terminal) < len(question.command) + 300 * len("      ") + 2_000


@pytest.mark.parametrize("command", ["x" * 5_000, "echo a\nls b", "true " + "\u200b" * 4_000])
async def test_a_title_is_one_short_line_whatever_the_command(make_bench: Any, command: str) -> None:
    asker = Answering("deny")
    bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command=command)]}, {"text": "ok"}, policy=ASKS_TO_RUN
    )
    await bench.ask("go", asker=asker)
    (question,) = asker.asked
    assert "\n" not in question.title
    assert len(question.title) < 1_200
    assert SAYS.characters_more_shown_below in question.title
    assert question.command == command.replace("\u200b", "⟨U+200B⟩")


async def test_the_hosts_that_a_command_may_reach_are_shown_on_their_own(make_bench: Any) -> None:
    """A client that draws its own title for a command must not lose the hosts with ours."""
    asker = Answering("deny")
    bench = await make_bench(
        {"calls": [intent("EXECUTE"), call("run_command", command="true", network=["pypi.org", "b.example:8443"])]},
        {"text": "ok"},
        policy=ASKS_TO_RUN + "  - { name: net, match: { syscall: net.connect }, action: require_review }\n",
    )
    await bench.ask("go", asker=asker)
    (question,) = asker.asked
    assert [host.partition(":")[0] for host in question.hosts] == ["pypi.org", "b.example"]
    assert f"    in the sandbox, network only to {', '.join(question.hosts)}" in list(draw_event(question))
