"""Tool results as Remit's tools print them; a test compares them with what the real tools print."""

from __future__ import annotations

import random

from training import identifiers, sources
from training.words import Vocabulary


def read(path: str, lines: list[str], first: int = 1, total: int | None = None) -> str:
    """The result of read_file: `lines` from line `first` on, of `total` in the file."""
    total = total or len(lines)
    last = first + len(lines) - 1
    more = f"; more with offset {last + 1}" if last < total else ""
    header = f"{path} (lines {first}-{last} of {total}{more})"
    return "\n".join([header, *(f"{number}|{line}" for number, line in enumerate(lines, first))])


def found(pattern: str, base: str, hit: tuple[str, int, str] | None, total: int = 1, files: int = 1) -> str:
    """The result of search_files that shows one match, (file, line number, line), of `total` in `files`."""
    if hit is None:
        return f"0 matches for `{pattern}` in 0 files below {base}"
    rest = "; the first 1 are shown" if total > 1 else ""
    return f"{total} matches for `{pattern}` in {files} files below {base}{rest}\n{hit[0]}\n{hit[1]}:{hit[2]}"


def edited(path: str, count: int = 1) -> str:
    """The result of edit_file."""
    return f"edited {path}: {count} replacement{'' if count == 1 else 's'}"


def ended(code: int, stdout: str = "", stderr: str = "") -> str:
    """The result of run_command."""
    parts = [f"exit code {code}"]
    parts += [f"{name}:\n{text}" for name, text in (("stdout", stdout), ("stderr", stderr)) if text]
    return "\n".join(parts)


_ERRORS: tuple[str, ...] = (
    "not_found: cannot read `{f}`: there is no such file\nfix: list the folder, or correct the path",
    "not_found: cannot open `{f}`: it does not exist\nfix: name an existing file",
    "denied: `{t}` was denied by {i}: {w}\nfix: leave it as it is; a person can change the policy",
    "denied: `{t}` was denied by default deny: {w}\nfix: a person can add a rule that allows it",
    "approval_denied: the person said no to `{t}`: {w}\nfix: do not try again",
    "approval_expired: nobody answered in time: {w}\nfix: ask again",
    "tool_not_allowed_for_intent: `{t}` is not allowed under READ_FILE: {w}\nfix: select another intent",
    "intent_required: `{t}` needs an intent: none is active\nfix: select an intent first",
    "invalid_arguments: `{t}` got wrong arguments: `{i}` {w}\nfix: {w}",
    "binary_file: cannot read `{f}`: it is not text\nfix: {w}",
    "timed_out: `{t}` took too long: {w}\nfix: {w}", "cancelled: {w}: {w}", "busy: {w}: {w}\nfix: {w}",
    "stale: cannot edit `{f}`: it changed since it was read\nfix: read it again",
    "outside_workspace: `{f}` cannot be used: it leaves the workspace\nfix: {w}",
    "too_large: cannot read `{f}`: it has {d} bytes\nfix: {w}",
    "sandbox_unavailable: `{t}` cannot run: nothing here can isolate it\nfix: {w}",
    "internal: `{t}` failed: {w}\nfix: {w}", "{i}: {w}\nfix: {w}", "{i}: {w}: {w}",
)  # fmt: skip
_MISSES: tuple[str, ...] = (
    "no_match: cannot edit `{f}`: old_text does not occur in it; {w}\nfix: {w}",
    "no_match: cannot edit `{f}`: old_text does not occur in it; line {d} is nearest: `{w}`\nfix: copy it from there",
    "not_unique: cannot edit `{f}`: old_text occurs {d} times, on lines {d}, {d}\nfix: {w}",
)


def error(rng: random.Random, vocabulary: Vocabulary, tool: str, path: str) -> str:
    """What a refused or failed call tells the model; edits fail on their text as often as on all the rest."""
    missed = tool == "edit_file" and rng.random() < 0.5
    text = rng.choice(_MISSES if missed else _ERRORS)
    while "{w}" in text:
        text = text.replace("{w}", sources.prose(rng, vocabulary), 1)
    name = identifiers.identifier(rng, vocabulary).lower()
    return "error " + text.format(f=path, t=tool, i=name, d=rng.randint(2, 999))
