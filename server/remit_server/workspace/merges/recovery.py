"""Finishes or reports merges that a crash interrupted: no file is half merged, no step is done twice (FILE-04)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit_server.errors import ToolError
from remit_server.workspace.content.files import FileImage, if_there, is_executable, read_image, write_atomically
from remit_server.workspace.content.removal import move_file, remove_file
from remit_server.workspace.merges.merge_log import LoggedMerge, MergeLog, Step
from remit_server.workspace.paths.workspace_path import Workspace, WorkspacePath

Standing = Literal["done", "due", "changed"]


@dataclass(frozen=True, slots=True)
class Recovered:
    """The outcome of one merge: files finished now, files left unchanged, and the folder of their new contents."""

    finished: tuple[str, ...]
    left: tuple[str, ...]
    why: str = ""
    kept: str | None = None

    @property
    def message(self) -> str:
        """The message for the person."""
        parts = [f"a change that a crash cut short was finished: {', '.join(self.finished)}"] if self.finished else []
        if self.left:
            parts.append(f"a change that a crash cut short was not finished in {', '.join(self.left)}: {self.why}")
            parts.append(f"what it would have written is kept in {self.kept}")
        return "; ".join(parts)


def recover(workspace: Workspace, log: MergeLog, policy_version: str) -> tuple[Recovered, ...]:
    """Recovers every merge whose writer died; a merge that another policy had allowed is only reported."""
    return tuple(_recover(workspace, merge, policy_version) for merge in log.unfinished())


def _recover(workspace: Workspace, merge: LoggedMerge, policy_version: str) -> Recovered:
    finished: list[str] = []
    left: list[str] = []
    why = "the policy has changed since"
    for number, step in enumerate(merge.steps):
        if number in merge.done:
            continue
        try:
            standing = _find_state(workspace, step)
            if standing == "due" and merge.policy_version == policy_version and not step.in_editor:
                _carry_out(workspace, merge, number, step)
                finished.append(step.path)
            elif standing != "done":
                left.append(step.path)
                if step.in_editor:
                    why = "it was open in the editor"
                elif standing == "changed":
                    why = "it was changed meanwhile"
        except (OSError, ToolError) as error:
            left.append(step.path)
            why = error.why if isinstance(error, ToolError) else str(error)
    if not left:
        merge.end()
        return Recovered(tuple(finished), ())
    return Recovered(tuple(finished), tuple(left), why, str(merge.keep()))


def _find_state(workspace: Workspace, step: Step) -> Standing:
    """Returns whether a step that is not recorded as done was done, is due, or cannot be done because a file
    changed."""
    image = _image(workspace, _resolve_exactly(workspace, step.path))
    now = None if image is None else image.digest
    if step.moved_from is None:
        # One rename changes both contents and mode.
        has_mode = image is None or step.executable in {None, is_executable(image.mode)}
        return "done" if now == step.after and has_mode else "due" if now == step.before else "changed"
    source = _digest(workspace, step.moved_from)
    if now == step.after and source is None:
        return "done"
    # Between link and unlink the file has both names.
    return "due" if source == step.before and now in {None, step.after} else "changed"


def _carry_out(workspace: Workspace, merge: LoggedMerge, number: int, step: Step) -> None:
    path = _resolve_exactly(workspace, step.path)
    if step.moved_from is not None:
        source = _resolve_exactly(workspace, step.moved_from)
        image = read_image(workspace, source)
        if _image(workspace, path) is not None:
            remove_file(workspace, source, image)
        else:
            move_file(workspace, source, image, path)
    elif step.after is None:
        remove_file(workspace, path, read_image(workspace, path))
    else:
        write_atomically(workspace, path, _image(workspace, path), merge.content(number), step.executable)
    merge.finished(number)


def _resolve_exactly(workspace: Workspace, relative: str) -> WorkspacePath:
    """Returns the path that was approved. Raises ToolError if a link leads elsewhere by now."""
    path = workspace.resolve(relative)
    if path.relative != relative:
        raise ToolError(f"cannot finish `{relative}`", f"it leads to `{path.relative}` now", "make the change again")
    return path


def _digest(workspace: Workspace, relative: str) -> str | None:
    image = _image(workspace, _resolve_exactly(workspace, relative))
    return None if image is None else image.digest


def _image(workspace: Workspace, path: WorkspacePath) -> FileImage | None:
    return if_there(lambda: read_image(workspace, path))
