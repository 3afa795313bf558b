"""What a command changed, taken over file by file as policy and the person allow; the rest vanishes (003 §Output and
Merge, architecture.md invariant 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from remit_governance.permissions import Answer
from remit_governance.values import Action, Decision, Verdict
from remit_governance.visible import visible
from remit_server.errors import ToolError
from remit_server.harness.removals import Vanished, held_back
from remit_server.sandbox.layer import Left
from remit_server.tools.spec import FileChange
from remit_server.workspace.files import FileImage, image_of_text, is_executable, read_image
from remit_server.workspace.paths import Workspace
from remit_server.workspace.ports import Documents
from remit_server.workspace.text import Text, plain

MAX_TOLD = 20
"""Paths of one kind that a model is told of."""


@dataclass(frozen=True, slots=True)
class Found:
    """The changes a command left that could be taken over, why others cannot be, and what of those holds something."""

    changes: tuple[FileChange, ...]
    refused: tuple[tuple[str, str], ...]
    vanished: tuple[Vanished, ...]


def found_changes(left: Sequence[Left], workspace: Workspace, documents: Documents, started_ns: int) -> Found:
    """Sort out what a command left, which began at `started_ns`: a file that somebody else changed since is theirs."""
    changes: list[FileChange] = []
    refused: dict[str, str] = {}
    for each in left:
        try:
            if each.odd is not None:
                refused[each.path] = each.odd
            elif (change := _change(each, workspace, documents, started_ns)) is not None:
                changes.append(change)
        except ToolError as error:
            refused[each.path] = error.why
    vanished = (Vanished(each.path, each.data) for each in left if each.path in refused and each.holds)
    return Found(tuple(changes), tuple(refused.items()), tuple(vanished))


def _change(left: Left, workspace: Workspace, documents: Documents, started_ns: int) -> FileChange | None:
    path = workspace.resolve(left.path)
    if path.relative != left.path:
        raise ToolError(f"cannot take over `{left.path}`", f"it leads to `{path.relative}`", "name that file")
    before = _before(left.path, workspace, documents, started_ns)
    if left.data is None:
        return FileChange(path, before, None) if before else None
    was = before is not None and is_executable(path.absolute.lstat().st_mode)
    if left.executable == was:
        return FileChange(path, before, left.data)
    if documents.get(left.path) is not None:
        raise ToolError(f"cannot take over `{left.path}`", "its mode changes, and it is open in the editor", "close it")
    return FileChange(path, before, left.data, executable=left.executable)


def _before(relative: str, workspace: Workspace, documents: Documents, started_ns: int) -> FileImage | None:
    path = workspace.resolve(relative)
    try:
        status = path.absolute.lstat()
    except FileNotFoundError:
        return None
    if max(status.st_mtime_ns, status.st_ctime_ns) >= started_ns:
        raise ToolError(f"cannot take over `{relative}`", "it was changed while the command ran", "run it again")
    image = read_image(workspace, path)
    document = documents.get(relative)
    if document is None:
        return image
    if plain(document.text) != Text.decode(image.data, relative).content:
        raise ToolError(f"cannot take over `{relative}`", "it is open in the editor, and not saved", "save it first")
    return image_of_text(document.text)


@dataclass(frozen=True, slots=True)
class Weighed:
    """One change, what policy says of it, and the person's standing answer."""

    change: FileChange
    action: Action
    decision: Decision
    answer: Answer

    @property
    def path(self) -> str:
        """What is changed."""
        return self.change.path.relative


@dataclass(frozen=True, slots=True)
class Sorted:
    """Changes that are taken over, that a person is asked about, and that vanish, with the reason."""

    allowed: tuple[Weighed, ...]
    asked: tuple[Weighed, ...]
    refused: tuple[tuple[str, str], ...]


def sort_out(weighed: Sequence[Weighed], ignored: frozenset[str], vanished: Sequence[Vanished]) -> Sorted:
    """By what was decided. A person is not asked about what the project ignores: caches and build output vanish.

    `vanished` is what could not be taken over anyway.
    """
    refused: dict[str, str] = {}
    for each in weighed:
        if each.answer.word in {"deny", "final_deny"}:
            refused[each.path] = _denied_by(each)
        elif each.answer.word == "ask" and each.path in ignored:
            refused[each.path] = "the project ignores it"
    gone = [Vanished(each.path, each.change.after) for each in weighed if each.path in refused and each.change.after]
    for path, why in held_back((each.change for each in weighed), (*vanished, *gone)).items():
        refused.setdefault(path, why)
    left = [each for each in weighed if each.path not in refused]
    return Sorted(
        tuple(each for each in left if each.answer.word == "allow"),
        tuple(each for each in left if each.answer.word == "ask"),
        tuple(refused.items()),
    )


def _denied_by(weighed: Weighed) -> str:
    rules = ", ".join(weighed.decision.rules) if weighed.decision.verdict is Verdict.DENY else weighed.answer.source
    return f"{weighed.answer.reason} ({rules or 'default deny'})"


def told(taken: Iterable[str], refused: Sequence[tuple[str, str]]) -> str:
    """What came of a command's changes, in words for a model; empty where it changed nothing."""
    parts: list[str] = []
    if names := list(taken):
        parts.append(f"changed in the workspace: {_listed(names)}")
    for why in dict.fromkeys(why for _, why in refused):
        paths = [path for path, reason in refused if reason == why]
        parts.append(f"not taken over, because {why}: {_listed(paths)}")
    return "\n".join(parts)


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MAX_TOLD} more" if len(paths) > MAX_TOLD else ""
    # A name may hold line ends, or bytes that are no text: it is one name, and says nothing else.
    return ", ".join(visible(path, "show") for path in paths[:MAX_TOLD]) + more
