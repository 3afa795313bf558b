"""VS Code, Neovim and Emacs draw a turn as it happened: each draws the same recorded turns (AGT-15, EDI-01, NVI-01,
EMA-01)."""

from __future__ import annotations

import asyncio
import html
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bench_runtime import SHOP, Answering, benches, call, intent
from told import ALL_DONE, ANSWERS, CALLS, SAID_YES, TWO, play

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client-vscode"

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@dataclass(frozen=True)
class Told:
    """A turn as it was sent, and the files that its call changed."""

    name: str
    answer: str
    events: list[dict[str, Any]]
    changed: frozenset[str]

    @property
    def result(self) -> dict[str, Any]:
        """The result of the turn."""
        return dict(self.events[-1]["result"])

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> list[Told]:
    return [asyncio.run(told(tmp_path_factory.mktemp("told"), name, answer)) for name in CALLS for answer in ANSWERS]


async def told(folder: Path, name: str, answer: str) -> Told:
    async with benches(folder) as make:
        bench, _ = await play(make, name, answer)
        names = ("a.py", "two.txt", "moved.txt", "made.txt", "new/b.py")
        after = {each: (bench.workspace / each).read_text() for each in names if (bench.workspace / each).is_file()}
        events = [json.loads(event.model_dump_json()) for event in bench.events]
        changed = frozenset(each for each in names if after.get(each) != STARTED.get(each))
        return Told(name, answer, events, changed)


STARTED = {"a.py": SHOP, "two.txt": TWO}


def in_vscode(turns: list[Told], folder: Path) -> list[str]:
    npx = shutil.which("npx") or pytest.skip("there is no Node.js with npm: install version 20 or newer")
    bundle = folder / "draw.cjs"
    made = ["--bundle", "--platform=node", "--jsx=automatic", "--jsx-import-source=preact", f"--outfile={bundle}"]
    subprocess.run([npx, "esbuild", "test/draw.tsx", *made, "--log-level=error"], cwd=CLIENT, check=True)
    sent = [{"session_id": "s", "turn_id": "1", "events": each.events} for each in turns]
    command = ["node", str(bundle)]
    done = subprocess.run(command, input=json.dumps(sent), capture_output=True, text=True, check=True, timeout=120)
    drawn = (re.sub(r"</?code>", "`", each) for each in json.loads(done.stdout))  # backticks are drawn as code
    return [html.unescape(re.sub(r"<[^>]*>", " ", each)) for each in drawn]


NEOVIM = """
local turns = vim.fn.json_decode(vim.fn.readfile(os.getenv('TOLD')))
local chat, drawn = require('remit.chat'), {}
for _, events in ipairs(turns) do
  chat.clear()
  for _, event in ipairs(events) do
    chat.draw(event)
    if event.kind == 'run_completed' then chat.ended(event.result) end
  end
  for _, each in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(each):find('remit://chat', 1, true) then
      table.insert(drawn, table.concat(vim.api.nvim_buf_get_lines(each, 0, -1, false), '\\n'))
    end
  end
end
vim.fn.writefile({ vim.fn.json_encode(drawn) }, os.getenv('DRAWN'))
"""


def in_neovim(turns: list[Told], folder: Path) -> list[str]:
    nvim = shutil.which("nvim") or pytest.skip("there is no nvim: apt-get install neovim")
    (folder / "draw.lua").write_text(NEOVIM)
    command = [nvim, "--clean", "--headless", "-n", "-i", "NONE", "--cmd", f"set rtp^={ROOT / 'client-neovim'}"]
    drawn_by(folder, [*command, "-c", f"luafile {folder / 'draw.lua'}", "-c", "qa!"], turns)
    return list(json.loads((folder / "drawn.json").read_text()))


EMACS = """
(setq load-prefer-newer t)
(require 'package)
(package-initialize)
(require 'remit)
(let ((turns (with-temp-buffer
               (insert-file-contents (getenv "TOLD"))
               (json-parse-buffer :object-type 'plist :null-object nil :false-object :json-false)))
      (drawn nil))
  (seq-doseq (events turns)
    (with-temp-buffer
      (seq-doseq (event events)
        (remit--draw event)
        (when (equal (plist-get event :kind) "run_completed") (remit--draw-end (plist-get event :result))))
      (push (buffer-substring-no-properties (point-min) (point-max)) drawn)))
  (with-temp-file (getenv "DRAWN")
    (insert (json-serialize (vconcat (nreverse drawn))))))
"""


def in_emacs(turns: list[Told], folder: Path) -> list[str]:
    emacs = shutil.which("emacs") or pytest.skip("there is no emacs: apt-get install emacs-nox elpa-eglot")
    (folder / "draw.el").write_text(EMACS)
    drawn_by(folder, [emacs, "-q", "--batch", "-L", str(ROOT / "client-emacs"), "-l", str(folder / "draw.el")], turns)
    return list(json.loads((folder / "drawn.json").read_text()))


def drawn_by(folder: Path, command: list[str], turns: list[Told]) -> None:
    """Runs an editor that reads the turns from the file in TOLD, and writes what it draws to the file in DRAWN."""
    (folder / "told.json").write_text(json.dumps([each.events for each in turns]))
    environment = {"TOLD": str(folder / "told.json"), "DRAWN": str(folder / "drawn.json"), "HOME": str(folder)}
    path = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(command, env=path | environment, capture_output=True, text=True, check=False, timeout=120)
    assert (folder / "drawn.json").is_file(), f"{done.stdout}\n{done.stderr}"


@dataclass(frozen=True)
class Words:
    """The words with which an editor says that a call was allowed or denied and by whom, and whether it says so if a
    whole turn changed nothing."""

    allowed: str
    denied: str
    by: Mapping[str, str]
    says_nothing: bool


BY = {
    "person": " by you",
    "beforehand": "by an answer from the command line",
    "deadline": "nobody answered in time",
    "unavailable": "nobody was there to ask",
}
BY_KEYS = Words(r"^(?:allowed|all edits of this session allowed)\b", r"^denied(?: by you|: nobody)", BY, True)
SURFACES = {
    "VS Code": (in_vscode, Words(r"\bAllowed\b|\ballowed by\b", r"\bDenied(?: by|:)", BY, False)),
    "Neovim": (in_neovim, BY_KEYS),
    "Emacs": (in_emacs, BY_KEYS),
}


@pytest.mark.parametrize("surface", SURFACES)
def test_AGT_15_what_an_editor_draws_is_what_happened(turns: list[Told], tmp_path: Path, surface: str) -> None:
    draw, words = SURFACES[surface]
    for each, text in zip(turns, draw(turns, tmp_path), strict=True):
        wrong = [what for what, holds in judged(each, text, words).items() if not holds]
        assert not wrong, f"{each.name}, {each.answer}: {wrong}\n{text}"


async def handed_over(folder: Path) -> Told:
    """Returns a turn whose sub-agent makes a file after a question."""
    made = [intent("CODE"), call("write_file", path="new/b.py", content="b = 1\n")]
    steps = [
        {"calls": [intent("PLAN"), call("delegate", work="make the second file")]},
        {"told": "make the second file", "calls": made},
        {"told": "make the second file", "text": "made"},
        {"text": ALL_DONE},
    ]
    async with benches(folder) as make:
        bench = await make(*steps)
        await bench.ask("go", asker=Answering())
        events = [json.loads(event.model_dump_json()) for event in bench.events]
        return Told("delegate", "yes", events, frozenset({"new/b.py"}))


@pytest.mark.parametrize("surface", SURFACES)
def test_AGT_17_what_a_sub_agent_does_is_drawn_apart_and_its_question_says_who_asks(
    tmp_path: Path, surface: str
) -> None:
    turn = asyncio.run(handed_over(tmp_path))
    (text,) = SURFACES[surface][0]([turn], tmp_path)
    (question,) = turn.of("approval_required")
    (summary,) = [event["summary"] for event in turn.of("tool_result") if event["tool"] == "write_file"]
    assert summary in text
    assert question["asked_by"] == "make the second file"
    assert text.count("make the second file") >= 1
    if surface != "VS Code":  # VS Code indents the row of a sub-agent instead: `isOfSubAgent`
        lines = [line for line in text.splitlines() if line.startswith("┆ ")]
        assert any(summary in line for line in lines)
        assert not any("delegate" in line for line in lines)


def judged(turn: Told, text: str, words: Words) -> dict[str, bool]:
    """Returns, by name, whether each thing holds that must hold of the drawn text."""
    told, result = text.rpartition(ALL_DONE)[2], turn.result
    resolved = {event["decision"] for event in turn.of("approval_resolved")}
    calls = [event for event in turn.of("tool_result") if event["tool"] != "select_active_intent"]
    lines = {change["path"]: (change["added"], change["removed"]) for change in result["changes"]}
    yes, spoken = turn.answer in SAID_YES, result["final_output"] is not None
    whole = result["status"] == "completed" and not result["reason"] and not result["error"]
    return {
        "the model's last words": (ALL_DONE in text) is spoken,
        "each file that differs is named in the end": all(each in told for each in turn.changed),
        "no other file is": all(
            each in turn.changed or each in (result["reason"] or "") for each in STARTED if spoken and each in told
        ),
        "with its lines": all(
            f"+{new}" in told and f"−{old}" in told for new, old in lines.values() if new is not None
        ),
        "a yes is told": bool(re.search(words.allowed, text, re.MULTILINE)) is ("allow" in resolved),
        "a no is told": bool(re.search(words.denied, text, re.MULTILINE)) is ("deny" in resolved),
        "who answered": all(
            words.by[event["by"]] in text or (event.get("reason") or "\0") in text
            for event in turn.of("approval_resolved")
        ),
        "a no with words": turn.answer != "no with words" or not turn.of("approval_required") or "use a set" in text,
        "how the last command ended": not (turn.name == "run fails" and yes) or "exit code 3" in told,
        "a turn that is not whole": whole
        is not bool(re.search(r"denied|not done|exit code|stopped|declined|failed|cannot", told, re.IGNORECASE)),
        "nothing was changed": ("no file changed" in told) is (words.says_nothing and whole and not turn.changed),
        # A row may tell a no in its own words, which "a no is told" looks for; the end of the turn may tell why.
        "every call's outcome": all(
            outcome(call)[:20] in text or (call["error"] or {}).get("code") == "approval_denied" for call in calls
        ),
        # What VS Code has folded up is in its text too.
        "once why a call was not done": words is not BY_KEYS
        or all(
            text.count(outcome(call)) <= 1
            for call in calls
            if call["error"] and outcome(call) in (result["reason"] or "")
        ),
    }


def outcome(call: dict[str, Any]) -> str:
    return str(call["summary"]).splitlines()[0].removeprefix("not done: ")


async def by_built_in(folder: Path, sentence: str, answer: str) -> Told:
    """Returns a turn of the built-in model."""
    async with benches(folder) as make:
        bench = await make()
        await bench.ask(sentence, asker=Answering(answer), model="built-in")
        return Told(sentence, answer, [json.loads(event.model_dump_json()) for event in bench.events], frozenset())


@pytest.mark.parametrize("surface", ["Neovim", "Emacs"])
def test_EDI_02_what_the_answer_repeats_is_told_once(bwrap: str, tmp_path: Path, surface: str) -> None:
    folders = [tmp_path / each for each in ("ran", "no")]
    for each in folders:
        each.mkdir()
    ran = asyncio.run(by_built_in(folders[0], "run `printf %s%s two -more`", "allow"))
    said_no = asyncio.run(by_built_in(folders[1], "rename total to amount in a.py", "deny"))
    (failed,) = [call for call in said_no.of("tool_result") if call["error"]]
    assert outcome(failed) in said_no.result["final_output"].lower()
    printed, refused = SURFACES[surface][0]([ran, said_no], tmp_path)
    assert (printed.count("two-more"), refused.lower().count(outcome(failed))) == (1, 1), f"{printed}\n{refused}"
