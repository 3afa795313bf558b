"""Generates whole conversations of the rename family in the embedded model's prompt format."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from training import identifiers, requests, sources
from training.words import HELD_OUT, TRAIN, Vocabulary

RESULT_LIMIT = 2400
"""Characters of a tool result that the chat template shows the model."""
CUT_MARK = "\n…"
DECLINED = "I stopped: the embedded model only renames an identifier in a file."


@dataclass(frozen=True, slots=True)
class Step:
    """One generation the model should produce, and the tool results that follow it."""

    expected: str
    results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request and the steps that answer it. `kind` groups scores: rename, absent, refused, missing, denied, other."""

    kind: str
    request: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be renamed, where, and what the file holds."""

    old: str
    new: str
    path: str
    content: str


def calls(*named: tuple[str, dict[str, object]]) -> str:
    """Spell tool calls as the model must: compact JSON between the call markers."""
    return "".join(
        "<tool_call>"
        + json.dumps({"name": name, "arguments": arguments}, separators=(",", ":"), ensure_ascii=False)
        + "</tool_call>"
        for name, arguments in named
    )


def shown(content: str) -> str:
    """Show a text as the chat template does: markers defused, long texts cut."""
    for marker, defused in (("<|", "< |"), ("<tool_call>", "< tool_call>"), ("</tool_call>", "< /tool_call>")):
        content = content.replace(marker, defused)
    return content if len(content) <= RESULT_LIMIT else content[:RESULT_LIMIT] + CUT_MARK


def segments(conversation: Conversation) -> list[tuple[str, bool]]:
    """Render a conversation as the chat template does, as (text, produced by the model) pieces."""
    pieces = [(f"<|user|>{shown(conversation.request)}<|end|>", False)]
    for step in conversation.steps:
        pieces.append(("<|assistant|>", False))
        pieces.append((f"{step.expected}<|end|>", True))
        pieces.extend((f"<|tool|>{shown(result)}<|end|>", False) for result in step.results)
    return pieces


def read_step(path: str, result: str) -> Step:
    """The first step: declare READ_FILE and read the file."""
    text = calls(("select_active_intent", {"intent": "READ_FILE"}), ("read_file", {"path": path}))
    return Step(text, ("intent READ_FILE is active", result))


def edit_step(task: Task, result: str) -> Step:
    """The second step: declare CODE and replace every whole-word occurrence."""
    arguments: dict[str, object] = {
        "path": task.path, "old_text": task.old, "new_text": task.new, "replace_all": True, "whole_word": True,
    }  # fmt: skip
    text = calls(("select_active_intent", {"intent": "CODE"}), ("edit_file", arguments))
    return Step(text, ("intent CODE is active", result))


def read_result(path: str, content: str, total: int | None = None) -> str:
    """Spell the result of read_file; `total` lines say that the read was truncated."""
    lines = content.split("\n")
    more = f"; more with offset {len(lines) + 1}" if total else ""
    header = f"{path} (lines 1-{len(lines)} of {total or len(lines)}{more})"
    return "\n".join([header, *(f"{number}|{line}" for number, line in enumerate(lines, 1))])


def conversation(rng: random.Random, *, held_out: bool = False, max_lines: int = 40) -> Conversation:
    """Generate one conversation; `held_out` draws names, paths, phrasings and templates that training never sees."""
    vocabulary = HELD_OUT if held_out else TRAIN
    kind = rng.choices(("rename", "absent", "missing", "refused", "denied", "other"), (70, 10, 5, 7, 2, 6))[0]
    if kind == "other":
        return _other(rng, vocabulary)
    old, content, extension = _file(rng, vocabulary, kind == "absent", held_out, max_lines)
    path = identifiers.path(rng, vocabulary, extension)
    if rng.random() < 0.05:
        path = path.replace(".", f"/{old}.", 1)
    near = rng.random() < 0.4
    new = identifiers.derived(rng, old, vocabulary) if near else identifiers.identifier(rng, vocabulary)
    new = new if new != old else new + "_new"
    return from_task(rng, kind, Task(old, new, path, content), vocabulary, held_out=held_out)


def from_task(rng: random.Random, kind: str, task: Task, vocabulary: Vocabulary, *, held_out: bool) -> Conversation:
    """Lay out the steps of one task, with the results its `kind` brings."""
    request = requests.rename_request(rng, task.old, task.new, task.path, held_out=held_out)
    stopped = f"I stopped: {task.path} was not"
    total = rng.randint(200, 4000) if kind == "rename" and rng.random() < 0.04 else None
    read = read_step(task.path, read_result(task.path, task.content, total))
    if kind == "missing":
        missing = read_step(task.path, _error(rng, task, vocabulary))
        return Conversation(kind, request, (missing, Step(f"{stopped} read.")))
    if kind == "denied":
        step = Step(read.expected, (_error(rng, task, vocabulary), _error(rng, task, vocabulary)))
        return Conversation(kind, request, (step, Step(f"{stopped} read.")))
    if kind == "absent" and len(read.results[1]) <= RESULT_LIMIT:
        absent = Step(f"I stopped: {task.old} does not occur in {task.path}.")
        return Conversation(kind, request, (read, absent))
    if kind in ("refused", "absent"):
        edit = edit_step(task, _error(rng, task, vocabulary))
        return Conversation("refused", request, (read, edit, Step(f"{stopped} changed.")))
    approved = rng.choice(("", "", "", " (approved)"))
    edit = edit_step(task, f"edited {task.path}: {rng.randint(1, 12)} replacements{approved}")
    return Conversation("rename", request, (read, edit, Step(f"Renamed {task.old} to {task.new} in {task.path}.")))


def _other(rng: random.Random, vocabulary: Vocabulary) -> Conversation:
    old, new = identifiers.identifier(rng, vocabulary), identifiers.identifier(rng, vocabulary)
    path = identifiers.path(rng, vocabulary, rng.choice(identifiers.EXTENSIONS))
    request = requests.other_request(rng, old, new, path, sources.prose(rng, vocabulary))
    return Conversation("other", request, (Step(DECLINED),))


def _file(
    rng: random.Random, vocabulary: Vocabulary, absent: bool, held_out: bool, max_lines: int
) -> tuple[str, str, str]:
    """Draw (identifier, content, extension): the identifier occurs in the content, or not at all when `absent`."""
    lines = min(max_lines, 3 + int(rng.expovariate(1 / 9)))
    if rng.random() < 0.45 and not held_out:
        content, extension = sources.excerpt(rng, sources.training_sources(), lines), "py"
        found = [name for name in identifiers.IDENTIFIER.findall(content) if len(name) > 1]
        old = rng.choice(found) if found else identifiers.identifier(rng, vocabulary)
    else:
        old, content, extension = _templated(rng, vocabulary, held_out, lines)
    if absent:
        near = rng.random() < 0.35
        old = identifiers.derived(rng, old, vocabulary) if near else identifiers.identifier(rng, vocabulary)
        while identifiers.occurs(old, content):
            old += rng.choice("xyz")
    elif not identifiers.occurs(old, content):
        content = f"{old}\n{content}"
    return old, content, extension


def _templated(rng: random.Random, vocabulary: Vocabulary, held_out: bool, lines: int) -> tuple[str, str, str]:
    extension = rng.choice(tuple(sources.LANGUAGES))
    templates = sources.templates("held_out" if held_out else "train", sources.LANGUAGES[extension])
    old = identifiers.identifier(rng, vocabulary)
    siblings = [identifiers.derived(rng, old, vocabulary) for _ in range(rng.choice((0, 0, 1, 2)))]
    pool = siblings + [identifiers.identifier(rng, vocabulary) for _ in range(rng.randint(2, 9))]
    share = rng.choice((0.03, 0.08, 0.15))

    def name() -> str:
        return old if rng.random() < share else rng.choice(pool)

    content = sources.templated(rng, templates, name, vocabulary, lines).split("\n")
    if rng.random() < 0.04:
        other = requests.rename_request(rng, rng.choice(pool), rng.choice(pool), "src/other.py", held_out=held_out)
        content.insert(rng.randint(0, len(content)), f"# {other}")
    if not identifiers.occurs(old, "\n".join(content)):
        line = rng.choice(("{0} = 1", "  {0}({1})", '"{0}": {1}', "  # {1} {0}")).format(old, pool[-1])
        content.insert(rng.randint(0, len(content)), line)
    return old, "\n".join(content), extension


_ERRORS: tuple[str, ...] = (
    "not_found: no file `{f}`", "not_found: `{f}` does not exist", "denied: policy rule `{i}` denies this path",
    "approval_denied: the person declined the edit of `{f}`", "approval_denied: no answer in time",
    "tool_not_allowed_for_intent: `{i}` is not allowed under READ_FILE", "intent_required: select an intent first",
    "not_unique: `{o}` occurs {d} times", "invalid_arguments: `path` {w}", "binary_file: `{f}` is not text",
    "timeout: {w}", "{i}: {w}", "io_error: {w}", "stale: `{f}` changed since it was read", "cancelled: {w}",
    "outside_workspace: `{f}` leaves the workspace", "too_large: `{f}` has {d} bytes",
    "not_found: `{o}` does not occur in `{f}`",
)  # fmt: skip


def _error(rng: random.Random, task: Task, vocabulary: Vocabulary) -> str:
    message = rng.choice(_ERRORS).format(
        f=task.path, o=task.old, i=identifiers.identifier(rng, vocabulary).lower(), d=rng.randint(2, 999),
        w=sources.prose(rng, vocabulary),
    )  # fmt: skip
    fix = f"\nfix: {sources.prose(rng, vocabulary)}" if rng.random() < 0.5 else ""
    return f"error {message}{fix}"
