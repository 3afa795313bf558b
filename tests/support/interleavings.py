"""Typing, undo, changes on disk, and the agent's edits with hunk decisions, in any order (APP-09, FILE-03, FILE-06).

The code under test is the whole way of a call below a runtime, with the buffers and `workspace/applyEdit`. It is
compared with a second implementation, which knows only lines and the diff that the person was shown.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from configured import configured
from lsprotocol import types as lsp

from remit_governance.intents import Declaration
from remit_governance.values import Intent
from remit_server.contract import ApprovalAnswer, ApprovalRequired, FileDiff, LeftOut
from remit_server.harness.calls import CallResult, ToolCall
from remit_server.harness.turn import SessionMemory, Turn
from remit_server.runtime.opening import open_runtime
from remit_server.runtime.runtime import Runtime
from remit_server.runtime.settings import Settings
from remit_server.transports.lsp.buffers.documents import EditorDocuments
from remit_server.transports.lsp.client_requests.folder_requests import put_edit
from remit_server.transports.lsp.connection.client import Client
from remit_server.transports.lsp.connection.connection import Connection
from remit_server.transports.lsp.features import sync

ASKS = """\
version: 1
capabilities:
  - { name: reads, match: { syscall: fs.read }, action: allow }
  - { name: asks, match: { syscall: fs.write }, action: require_review }
"""
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
NAME = "a.txt"
NOT_DONE = re.compile(
    r"stale|outcome_unknown|approval_denied|no_match|not_unique|not_found|said no|changed|not known|does not"
)


@dataclass
class Person:
    """An editor with one buffer, the person at it, and other programs that change the file; all of them act at
    random."""

    dice: random.Random
    path: Path
    end: str
    encoding: str
    connection: Connection = field(init=False)
    text: str = ""
    version: int = 0
    is_open: bool = True
    undo: list[str] = field(default_factory=list)
    typed: int = 0
    unsent: list[lsp.TextDocumentContentChangeEvent] = field(default_factory=list)
    asked: list[tuple[ApprovalRequired, str]] = field(default_factory=list)
    answers: list[tuple[str, tuple[LeftOut, ...], str, bool]] = field(default_factory=list)
    applied: list[tuple[str, str]] = field(default_factory=list)
    style: str = "callback"

    # what is there

    def now(self) -> str:
        """Returns the text that counts: the buffer while it is open, else the file."""
        return self.text if self.is_open else self.path.read_bytes().decode()

    def lines(self, count: int) -> list[str]:
        words = ["x = 1", "def f():", "    y = 2", "", "🙂 = 'é'", "z", "\t# 𝒳 here", "return"]
        return [f"{self.dice.choice(words)}{self.dice.choice(['', f' {n}'])}{self.end}" for n in range(count)]

    # what the person and others do

    def open(self, text: str) -> None:
        self.text, self.version, self.is_open, self.undo = text, 1, True, []
        document = lsp.TextDocumentItem(self.path.as_uri(), "plaintext", 1, text)
        sync.did_open(self.connection, lsp.DidOpenTextDocumentParams(document))

    def close(self) -> None:
        self.is_open = False
        document = lsp.TextDocumentIdentifier(self.path.as_uri())
        sync.did_close(self.connection, lsp.DidCloseTextDocumentParams(document))

    def place(self, at: int) -> lsp.Position:
        before = re.split("\r\n|\n", self.text[:at])
        codec, size = CODECS[self.encoding]
        return lsp.Position(len(before) - 1, len(before[-1].encode(codec)) // size)

    def replace(self, start: int, stop: int, new: str) -> None:
        """Changes the buffer, but does not tell the server yet."""
        span = lsp.Range(self.place(start), self.place(stop))
        self.unsent.append(lsp.TextDocumentContentChangePartial(range=span, text=new))
        self.undo.append(self.text)
        self.text, self.version = self.text[:start] + new + self.text[stop:], self.version + 1

    def send(self) -> None:
        if self.unsent:
            document = lsp.VersionedTextDocumentIdentifier(version=self.version, uri=self.path.as_uri())
            sync.did_change(self.connection, lsp.DidChangeTextDocumentParams(document, self.unsent))
            self.unsent = []

    def type(self) -> None:
        """Types, deletes or replaces somewhere, never within a line end or half a character."""
        self.typed += 1
        places = [m.start() for m in re.finditer(r"(?<!\r)(?=\n)|(?=[^\n])", self.text)] + [len(self.text)]
        start = self.dice.choice(places)
        if self.dice.random() < 0.6:
            start = self.text.rfind("\n", 0, start) + 1
        stops = [place for place in places if start <= place <= start + 12] or [start]
        stop = self.dice.choice(stops) if self.dice.random() < 0.3 else start
        new = self.dice.choice([f"typed {self.typed}{self.end}", "k", self.end, f"🙂{self.typed}", "    "])
        self.replace(start, stop, new)

    def act(self) -> None:
        """Does something that may happen while a question waits."""
        match self.dice.choices(["nothing", "type", "undo", "disk", "save", "close", "open"], [4, 6, 2, 1, 1, 1, 1])[0]:
            case "type" if self.is_open:
                for _ in range(self.dice.randint(1, 3)):
                    self.type()
                self.send()
            case "undo" if self.is_open and self.undo:
                whole, before = self.text, self.undo[-1]
                self.replace(0, len(whole), before)
                del self.undo[-2:]
                self.send()
            case "disk":
                text = self.path.read_bytes().decode()
                self.path.write_bytes((text + f"from elsewhere{self.end}").encode())
            case "save" if self.is_open:
                self.path.write_bytes(self.text.encode())
            case "close" if self.is_open:
                self.close()
            case "open" if not self.is_open:
                self.open(self.path.read_bytes().decode())
            case _:
                pass

    # what the server asks of them

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        """Lets things happen, then answers: allows all or a part, denies, or closes the question."""
        self.asked.append((question, self.now()))
        for _ in range(self.dice.randint(0, 2)):
            self.act()
        (diff,) = question.diffs
        parts = range(diff.hunks) if question.by_hunk else ()
        left = tuple(LeftOut(path=diff.path, hunk=n, comment="why") for n in parts if self.dice.random() < 0.3)
        decision = "deny" if self.dice.random() < 0.1 else "allow"
        self.answers.append((decision, left, self.now(), self.is_open))
        if decision == "deny" and self.dice.random() < 0.5:
            return None
        kept = left if decision == "allow" else ()
        return ApprovalAnswer(
            approval_id=question.approval_id, decision=decision, digest=question.digest, left_out=kept
        )

    def apply(self, params: lsp.ApplyWorkspaceEditParams) -> bool:
        """Answers `workspace/applyEdit` as editors do: late, never, at another version, with typing before or after
        it."""
        (change,) = params.edit.document_changes or ()
        assert isinstance(change, lsp.TextDocumentEdit)
        (edit,) = change.edits
        how = self.dice.choices(
            ["apply", "type first", "type, unsent", "lie", "refuse", "type behind"], [8, 2, 1, 1, 1, 2]
        )[0]
        if how in {"type first", "type, unsent"}:
            self.type()
            if how == "type first":
                self.send()
        if how == "lie":
            return True
        if how == "refuse" or change.text_document.version != self.version:
            return False
        before = self.text
        start, stop = (self.offset(place) for place in (edit.range.start, edit.range.end))
        assert isinstance(edit, lsp.TextEdit)
        self.replace(start, stop, edit.new_text)
        self.applied.append((before, self.text))
        if how == "type behind":
            self.type()
        self.send()
        return True

    def offset(self, place: lsp.Position) -> int:
        lines = re.findall(r"[^\n]*\n|[^\n]+", self.text)
        codec, size = CODECS[self.encoding]
        here = lines[place.line].rstrip("\r\n") if place.line < len(lines) else ""
        before = here.encode(codec)[: place.character * size].decode(codec)
        return sum(map(len, lines[: place.line])) + len(before)


# The second implementation: lines, and the diff as it was shown


@dataclass(frozen=True)
class Shown:
    """A hunk as the person read it: `first` is the number of its first old line."""

    first: int
    old: tuple[str, ...]
    new: tuple[str, ...]


def shown_hunks(diff: FileDiff) -> list[Shown]:
    found: list[tuple[int, list[str], list[str]]] = []
    rows = diff.diff.replace("⟨U+000D⟩", "\r").split("\n")[2:-1]
    for number, row in enumerate(rows):
        if row.startswith("@@ "):
            start, _, count = row.split(" ")[1][1:].partition(",")
            found.append((int(start) - (count != "0"), [], []))
        elif not row.startswith("\\"):
            ended = not rows[number + 1 : number + 2] or not rows[number + 1].startswith("\\")
            line = row[1:] + ("\n" if ended else "")
            found[-1][1].extend([line] if row[0] in " -" else [])
            found[-1][2].extend([line] if row[0] in " +" else [])
    return [Shown(first, tuple(old), tuple(new)) for first, old, new in found]


def split(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def headings(lines: list[str], at: int) -> list[str]:
    """Returns the lines that enclose the line at this place, by their indentation."""

    def depth(line: str) -> int:
        return len(re.match(r"[ \t]*", line)[0])  # type: ignore[index]

    first = next((line for line in lines[at:] if line.strip()), "")
    found, deep = [], depth(first)
    for line in reversed(lines[:at]):
        if deep and line.strip() and depth(line) < deep:
            found.append(line)
            deep = depth(line)
    return found


def expected(before: str, hunks: list[Shown], now: str, end: str) -> str | None:
    """Returns the text `now` with the accepted hunks applied; None if one of them has no unique place there."""
    made = expected_lines(before.replace("\r\n", "\n"), hunks, now.replace("\r\n", "\n"))
    ended = end if not now else "\r\n" if "\r\n" in now else "\n"
    return None if made is None else made.replace("\n", ended)


def expected_lines(before: str, hunks: list[Shown], now: str) -> str | None:
    then, lines = split(before), split(now)
    found = []
    for hunk in hunks:
        places = [n for n in range(len(lines) + 1) if lines[n : n + len(hunk.old)] == list(hunk.old)]
        if now == before:
            places = [hunk.first]
        elif len(places) != 1 or not hunk.old or headings(lines, places[0]) != headings(then, hunk.first):
            return None
        found.append((places[0], hunk))
    for (at, hunk), (following, _) in pairwise(found):
        if at + len(hunk.old) > following:
            return None
    for at, hunk in reversed(found):
        lines[at : at + len(hunk.old)] = hunk.new
    return "".join(lines)


# One interleaving


class Channel:
    """The way to the editor."""

    person: Person

    async def ask(self, method: str, params: Any, timeout_s: float) -> Any:
        assert method == lsp.WORKSPACE_APPLY_EDIT
        applied = self.person.apply(params)
        return lsp.ApplyWorkspaceEditResult(applied=applied)

    def notify(self, method: str, params: Any = None) -> None:
        pass

    def stream(self, token: Any, value: Any) -> None:
        pass


@dataclass
class World:
    runtime: Runtime
    connection: Connection
    channel: Channel
    root: Path
    seen: dict[str, int] = field(default_factory=dict)

    async def play(self, seed: int) -> None:
        dice = random.Random(seed)
        person = Person(dice, self.root / NAME, dice.choice(["\n", "\r\n"]), dice.choice(sorted(CODECS)))
        person.connection, self.channel.person = self.connection, person
        self.connection.buffers.encoding = person.encoding  # type: ignore[assignment]
        text = "".join(person.lines(dice.randint(0, 25)))
        text = text.removesuffix(person.end) if dice.random() < 0.1 else text
        person.path.write_bytes(text.encode())
        person.is_open = False
        if dice.random() < 0.85:
            person.open(text)
            for _ in range(dice.randint(0, 3)):
                person.type()
            person.send()
        result = await self.call(person, seed, changed(person))
        person.send()
        self.check(person, result)
        if person.is_open:
            assert self.connection.buffers.at(person.path.as_uri()).text == person.text  # type: ignore[union-attr]
            person.close()

    async def call(self, person: Person, seed: int, content: str) -> CallResult:
        memory = SessionMemory(f"s{seed}")
        turn = Turn(f"t{seed}", memory, lambda event: None, person)  # type: ignore[arg-type]
        turn.begin_step()
        dispatcher = self.runtime.dispatcher
        dispatcher.declare(Declaration(Intent.CODE), "i", turn)
        return await dispatcher.execute(ToolCall("c", "write_file", {"path": NAME, "content": content}), turn)

    def check(self, person: Person, result: CallResult) -> None:
        kind = self.judge(person, result)
        self.seen[kind] = self.seen.get(kind, 0) + 1

    def judge(self, person: Person, result: CallResult) -> str:
        """Compares the result with the second implementation; returns the kind of ending."""
        if not person.asked:
            assert not person.applied
            return "nothing to ask"
        steps = list(zip(person.asked, person.answers, strict=True))
        for (question, before), (decision, left, now, is_open) in steps[:-1]:
            # The person is asked again only if the change no longer fits.
            assert decision == "allow"
            hunks = taken(question, left)
            assert hunks
            assert now != before
            assert not is_open or expected(before, hunks, now, person.end) is None
        (question, before), (decision, left, now, is_open) = steps[-1]
        hunks = taken(question, left)
        for written_over, became in person.applied:
            assert expected(before, hunks, written_over, person.end) == became
        if decision == "deny" or not hunks:
            assert not result.ok
            assert "said no" in result.text
            assert not person.applied
            assert person.now() == now
            return "no"
        if not result.ok:
            assert NOT_DONE.search(result.text), result.text
            assert not person.applied
            return "not done"
        if is_open:
            assert len(person.applied) == 1
        else:
            assert person.path.read_bytes().decode() == expected(before, hunks, now, person.end)
        assert ("written in part" in result.text) == bool(left)
        return "a part" if left else "all"


def taken(question: ApprovalRequired, left: tuple[LeftOut, ...]) -> list[Shown]:
    (diff,) = question.diffs
    gone = {each.hunk for each in left}
    return [hunk for number, hunk in enumerate(shown_hunks(diff)) if number not in gone]


def changed(person: Person) -> str:
    """Returns the text that the model makes of the present one."""
    lines = split(person.now())
    for _ in range(person.dice.randint(1, 4)):
        at = person.dice.randint(0, len(lines))
        lines[at : at + person.dice.randint(0, 2)] = [
            f"model {person.dice.randint(0, 99)}{person.end}"
        ] * person.dice.randint(0, 2)
    return "".join(lines)


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    root = folder / "work"
    root.mkdir()
    person_policy = folder / "config" / "policy.yaml"
    person_policy.parent.mkdir()
    person_policy.write_text(ASKS)
    (folder / "script.json").write_text("[]")
    channel = Channel()
    connection = Connection(channel, None)  # type: ignore[arg-type]
    connection.client = Client(applies_edits=True, versions_edits=True)
    documents = EditorDocuments(root, connection.buffers, lambda asked: put_edit(connection, asked), settle_s=0.001)
    settings = Settings(
        root, folder / "state", person_policy, configured(
            name=f"script:{folder / 'script.json'}", save=False, spare_memory_mib=0, spare_disk_mib=0
        ),
    )  # fmt: skip
    runtime = await open_runtime(settings, documents)
    try:
        yield World(runtime, connection, channel, root)
    finally:
        await runtime.close()


async def play_all(folder: Path, seeds: range) -> None:
    """Plays one interleaving for each seed; the first that fails names its seed."""
    async with world(folder) as here:
        for seed in seeds:
            try:
                await here.play(seed)
            except BaseException as error:
                error.add_note(f"seed {seed}")
                raise
    # Every kind of ending must occur, so that every check was made.
    assert set(here.seen) >= {"no", "not done", "a part", "all"}, here.seen


if __name__ == "__main__":
    asyncio.run(play_all(Path(sys.argv[1]), range(int(sys.argv[2]), int(sys.argv[3]))))
