"""Every call of a model with every answer of a person, to compare what is told of them with what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench_runtime import SHOP, Answering, Bench, call, intent

from remit_server.contract import ApprovalAnswer, ApprovalRequired, LeftOut, RunResult

TWO = "".join(f"{number}\n" for number in range(40))
"""A file so long that two changed lines can be two hunks."""


ALL_DONE = "All of it is done."
"""The model's last words, whatever happened."""


DIFF = """\
--- a/a.py
+++ b/a.py
@@ -1,1 +1,1 @@
-total = 0
+total = 5
--- a/two.txt
+++ b/two.txt
@@ -1,2 +1,2 @@
-0
+zero
 1
"""
"""A diff of two files."""


@dataclass(frozen=True)
class Call:
    """A call of the model, and its effect if it is allowed: `changes` are the names of the files that differ then,
    `half` those that differ if the first hunk is left out."""

    intent: str
    call: dict[str, Any]
    changes: frozenset[str] = frozenset()
    asks: bool = True
    parts: int = 1
    fails: bool = False
    half: frozenset[str] | None = None


CALLS = {
    "read": Call("READ_FILE", call("read_file", path="a.py"), asks=False),
    "search": Call("ANALYZE", call("search_files", pattern="nothing has this"), asks=False),
    "list": Call("ANALYZE", call("list_files", pattern="*"), asks=False),
    "map": Call("ANALYZE", call("repo_map"), asks=False),
    "symbols": Call("ANALYZE", call("get_symbols", path="a.py"), asks=False),
    "definition": Call("ANALYZE", call("get_definition", path="a.py", line=1, symbol="total"), asks=False),
    "no references": Call(
        "ANALYZE", call("get_references", path="a.py", line=1, symbol="total"), asks=False, fails=True
    ),
    "no repository": Call("ANALYZE", call("git_status"), asks=False, fails=True),
    "no diff": Call("ANALYZE", call("git_diff"), asks=False, fails=True),
    "no commit": Call("EXECUTE", call("git_commit", message="x"), asks=False, fails=True),
    "diff": Call("CODE", call("apply_diff", diff=DIFF), frozenset({"a.py", "two.txt"}), half=frozenset({"two.txt"})),
    "tests": Call("EXECUTE", call("run_tests", runner="unittest")),
    "create": Call("WRITE_FILE", call("write_file", path="new/b.py", content="1\n2\n"), frozenset({"new/b.py"})),
    "edit": Call("CODE", call("edit_file", path="a.py", old_text="for n", new_text="for m"), frozenset({"a.py"})),
    "hunks": Call(
        "CODE",
        call("write_file", path="two.txt", content=TWO.replace("\n3\n", "\nthree\n").replace("\n30\n", "\nthirty\n")),
        frozenset({"two.txt"}),
        parts=2,
    ),
    "delete": Call("CODE", call("delete_file", path="two.txt"), frozenset({"two.txt"})),
    "move": Call("CODE", call("move_file", path="two.txt", new_path="moved.txt"), frozenset({"moved.txt", "two.txt"})),
    "already so": Call("CODE", call("write_file", path="a.py", content=SHOP), asks=False),
    "cannot": Call("CODE", call("edit_file", path="a.py", old_text="not there", new_text="x"), asks=False, fails=True),
    "denied": Call("CODE", call("write_file", path=".git/config", content="x"), asks=False, fails=True),
    "outside": Call("CODE", call("write_file", path="../b.py", content="x"), asks=False, fails=True),
    "run": Call("EXECUTE", call("run_command", command="true")),
    "run fails": Call("EXECUTE", call("run_command", command="exit 3")),
    "run writes": Call("EXECUTE", call("run_command", command="echo 1 > made.txt"), frozenset({"made.txt"})),
}


@dataclass
class Answer(Answering):
    """An answer of a person, or what comes in its place."""

    words: str | None = None
    half: bool = False

    async def ask(self, question: ApprovalRequired) -> ApprovalAnswer | None:
        self.asked.append(question)
        if self.decision == "none":
            return None
        scope = self.scope if self.scope in question.scopes else "once"
        left = (LeftOut(path=question.diffs[0].path, hunk=0),) if self.half and question.by_hunk else ()
        return ApprovalAnswer(
            approval_id=question.approval_id,
            decision="allow" if self.decision == "allow" else "deny",
            scope="once" if left else scope,  # type: ignore[arg-type]
            left_out=left,
            comment=self.words,
        )


ANSWERS = {
    "once": Answer,
    "session": lambda: Answer(scope="session"),
    "edits": lambda: Answer(scope="edits"),
    "half": lambda: Answer(half=True),
    "no": lambda: Answer("deny"),
    "no with words": lambda: Answer("deny", words="use a set"),
    "closed": lambda: Answer("none"),
    "beforehand": lambda: Answer(style="beforehand"),
    "nobody": lambda: Answer(style="never"),
    "too late": lambda: Answer(style="stream"),
}
SAID_YES = frozenset({"once", "session", "edits", "half", "beforehand"})
BY = {"beforehand": "beforehand", "nobody": "unavailable", "too late": "deadline"}


async def play(make_bench: Any, name: str, answer: str) -> tuple[Bench, RunResult]:
    """Plays a turn with one call and one answer; returns its bench and its result."""
    made = CALLS[name]
    patience = {"approval_timeout_s": 0.05} if answer == "too late" else {}
    steps = ({"calls": [intent(made.intent), made.call]}, {"text": ALL_DONE})
    bench: Bench = await make_bench(*steps, **patience)
    (bench.workspace / "two.txt").write_text(TWO)
    return bench, await bench.ask("do it", asker=ANSWERS[answer]())
