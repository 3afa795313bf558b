"""Classifies what a command changed, file by file: taken over, asked about, or dropped with the reason (BOX-05).

Also holds back removals that would lose content. A command that moves a file leaves a new file and a removal. If the
new file is dropped, the removal must be dropped too, or the person's content would be lost (BOX-05).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from remit_governance.values import Verdict
from remit_governance.visible import visible
from remit_server.counted import list_some
from remit_server.errors import ToolError
from remit_server.harness.judgement import Judgement
from remit_server.sandbox.bubblewrap.layer import LayerChange
from remit_server.tools.git.commit.repository import stages_the_same
from remit_server.tools.spec import FileChange, FolderChange
from remit_server.workspace.content.files import FileImage, image_of_text, is_executable, read_image
from remit_server.workspace.content.text import Text, plain
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath
from remit_server.workspace.ports import Documents

MAX_LISTED = 20
"""The most paths of one kind that a model is told of."""


@dataclass(frozen=True, slots=True)
class CommandChanges:
    """The changes of a command that could be taken over, the paths that cannot be, with the reason, and the `dropped`
    contents of those paths.

    Only empty folders are changes of their own; other folders are made and removed with their files.
    """

    changes: tuple[FileChange, ...]
    folders: tuple[FolderChange, ...]
    refused: tuple[tuple[str, str], ...]
    dropped: tuple[Dropped, ...]


def find_changes(
    left: Sequence[LayerChange], workspace: Workspace, documents: Documents, started_ns: int
) -> CommandChanges:
    """Finds the changes of a command that began at `started_ns`. A file that somebody else changed since then cannot be
    taken over."""
    changes: list[FileChange] = []
    folders: list[FolderChange] = []
    refused: dict[str, str] = {}
    for each in left:
        try:
            if each.odd is not None:
                refused[each.path] = each.odd
            elif each.folder is not None:
                folders.append(FolderChange(_exact(each.path, workspace), made=each.folder == "made"))
            elif (change := _make_change(each, workspace, documents, started_ns)) is not None:
                changes.append(change)
        except ToolError as error:
            refused[each.path] = error.why
    dropped = (Dropped(each.path, each.data) for each in left if each.path in refused and each.holds)
    return CommandChanges(tuple(changes), tuple(folders), tuple(refused.items()), tuple(dropped))


def without_paths(found: CommandChanges, why: Mapping[str, str]) -> CommandChanges:
    """Returns the changes without those of the paths in `why`, which are dropped with that reason."""
    gone = [change for change in found.changes if change.path.relative in why]
    dropped = (Dropped(change.path.relative, change.after) for change in gone if change.after)
    left = tuple(change for change in found.changes if change not in gone)
    return replace(found, changes=left, refused=(*found.refused, *why.items()), dropped=(*found.dropped, *dropped))


def _make_change(left: LayerChange, workspace: Workspace, documents: Documents, started_ns: int) -> FileChange | None:
    path = _exact(left.path, workspace)
    before = _read_before(left.path, workspace, documents, started_ns)
    if left.data is None:
        return FileChange(path, before, None) if before else None
    if before is not None and path.relative.endswith(".git/index") and stages_the_same(before.data, left.data):
        return None  # builds and test runners run `git describe --dirty`, which only refreshes times in the index
    was = before is not None and is_executable(path.absolute.lstat().st_mode)
    if left.executable == was:
        return FileChange(path, before, left.data)
    if documents.get(left.path) is not None:
        raise ToolError(
            f"cannot take over `{left.path}`", "the command changed its mode, but it is open in the editor", "close it"
        )
    return FileChange(path, before, left.data, executable=left.executable)


def _exact(relative: str, workspace: Workspace) -> WorkspacePath:
    path = workspace.resolve(relative)
    if path.relative != relative:
        raise ToolError(f"cannot take over `{relative}`", f"it leads to `{path.relative}`", "name that file")
    return path


def _read_before(relative: str, workspace: Workspace, documents: Documents, started_ns: int) -> FileImage | None:
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


NOT_IN_GIT = "so nothing is staged or committed: call git_commit, which needs no `git add`"
KEPT_BY_A_RULE = "a rule in the person's policy that allows fs.write for such files would keep them"
_IGNORED = "the project ignores it"
_IN_GIT = re.compile(r"(?:^|/)\.git/(?:index|refs/heads/.+)$")
"""Git's own files that a command changes when it stages or commits."""


@dataclass(frozen=True, slots=True)
class JudgedChange:
    """One change, and how it is judged by itself."""

    change: FileChange | FolderChange
    judgement: Judgement

    @property
    def file(self) -> FileChange | None:
        """The change if it is one of a file, else None."""
        return self.change if isinstance(self.change, FileChange) else None

    @property
    def path(self) -> str:
        """The relative path that is changed."""
        return self.change.path.relative

    @property
    def dropped(self) -> Dropped | None:
        """The content that is dropped if this change is not taken over, or None if it has none."""
        return Dropped(self.path, self.file.after) if self.file and self.file.after else None

    @property
    def denial(self) -> str:
        """Why the change is denied, and by which rules."""
        answer, decision = self.judgement.answer, self.judgement.decision
        rules = ", ".join(decision.rules) if decision.verdict is Verdict.DENY else answer.source
        return f"{answer.reason} ({rules or 'default deny'})"


@dataclass(frozen=True, slots=True)
class ClassifiedChanges:
    """Changes that are taken over, changes that a person is asked about, and paths that are dropped, with the
    reason."""

    allowed: tuple[JudgedChange, ...]
    asked: tuple[JudgedChange, ...]
    refused: tuple[tuple[str, str], ...]


def classify_changes(
    judged: Sequence[JudgedChange], ignored: frozenset[str], dropped: Sequence[Dropped]
) -> ClassifiedChanges:
    """Classifies changes by their judgements. `dropped` are files that could not be taken over in any case.

    A person is not asked about files that the project ignores, such as caches and build output; these are dropped.
    """
    refused: dict[str, str] = {}
    for each in judged:
        if each.judgement.denies:
            refused[each.path] = each.denial
        elif each.judgement.asks and each.path in ignored:
            refused[each.path] = _IGNORED
    gone = [each.dropped for each in judged if each.path in refused and each.dropped]
    for path, why in find_held_back((each.file for each in judged if each.file), (*dropped, *gone)).items():
        refused.setdefault(path, why)
    left = [each for each in judged if each.path not in refused]
    return ClassifiedChanges(
        tuple(each for each in left if not each.judgement.asks),
        tuple(each for each in left if each.judgement.asks),
        tuple(refused.items()),
    )


def describe_merge(
    taken: Iterable[str], refused: Sequence[tuple[str, str]], folders: Sequence[FolderChange] = ()
) -> str:
    """Returns what a model is told of a command's changes, or an empty text if the command changed nothing."""
    parts: list[str] = []
    if names := list(taken):
        parts.append(f"changed in the workspace: {_list_paths(names)}")
    for what, made in (("made folders", True), ("removed folders", False)):
        if names := [each.path.relative for each in folders if each.made is made]:
            parts.append(f"{what}: {_list_paths(names)}")
    for why in dict.fromkeys(why for _, why in refused):
        paths = [path for path, reason in refused if reason == why]
        parts.append(f"not taken over, because {why}: {_list_paths(paths)}")
    if any(_IN_GIT.search(path) for path, _ in refused):
        parts.append(NOT_IN_GIT)
    if any(why == _IGNORED for _, why in refused):
        parts.append(KEPT_BY_A_RULE)
    return "\n".join(parts)


def _list_paths(paths: Sequence[str]) -> str:
    # Make line ends and bytes that are not text visible, so that a name cannot pose as anything else.
    return list_some([visible(path, "show") for path in paths], MAX_LISTED)


_MOVED = "its new place was refused"
_PLACE = "what took its place was not taken over"
_PERHAPS = "what it held may be in what was not taken over"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A file of a command that is not taken over. `data` is its content, or None if that was not read."""

    path: str
    data: bytes | None


def find_held_back(changes: Iterable[FileChange], dropped: Sequence[Dropped]) -> dict[str, str]:
    """Returns the paths whose changes must be held back, with the reason: they would remove content that may then exist
    only in a dropped file."""
    if not dropped:
        return {}
    paths = {each.path for each in dropped}
    above = {folder for path in paths for folder in _folders(path)}
    datas = {each.data for each in dropped}
    lines = {line for data in datas if data for line in _lines(data)}
    held: dict[str, str] = {}
    for change in changes:
        path, data = change.path.relative, change.before.data if change.before else b""
        if change.after is None and (path in above or not paths.isdisjoint(_folders(path))):
            held[path] = _PLACE
        elif data and data in datas and _gone(data, change.after):
            held[path] = _MOVED
        elif data and change.after is None and (None in datas or _mostly(data, lines)):
            held[path] = _PERHAPS
    return held


def _gone(data: bytes, after: bytes | None) -> bool:
    """Returns whether a file was removed or has lost most of its lines."""
    return after is None or not _mostly(data, set(_lines(after)))


def _folders(path: str) -> Iterable[str]:
    """Yields the folders above a path."""
    return (path[:end] for end, letter in enumerate(path) if letter == "/")


def _lines(data: bytes) -> list[bytes]:
    return [line for each in data.splitlines() if (line := each.strip())]


def _mostly(data: bytes, lines: set[bytes]) -> bool:
    """Returns whether at least half of the lines of `data` are among `lines`, so that it may have been moved and then
    edited."""
    own = _lines(data)
    return bool(own) and 2 * sum(line in lines for line in own) >= len(own)
