"""`undo_changes`: takes back what a turn changed, where nobody changed it since; only the person can call it
(SES-05)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import Field, JsonValue

from remit_governance.values import Effect
from remit_server.contract import ErrorCode
from remit_server.errors import OutsideWorkspace, ToolError
from remit_server.tools.files.read_source import current_image
from remit_server.tools.spec import Arguments, FileChange, Outcome, Plan, Target, Tool, ToolContext, WritePlan
from remit_server.workspace.content.files import FileImage, digest_of, if_there, is_executable
from remit_server.workspace.history import Direction, PastChange, PastTurn, can_take_back
from remit_server.workspace.line_diff import take_back

CHANGED_SINCE = "it was changed since, so it stays as it is"
LINKED = "its path is now a link to another file, which stays as it is"
NOT_KEPT = "its earlier contents are not kept: they were too large, or are too old"


class UndoArguments(Arguments):
    """Arguments of `undo_changes`."""

    turn: str | None = Field(default=None, max_length=128, description="the turn (default: the last)")
    direction: Direction = "undo"
    paths: tuple[str, ...] | None = Field(default=None, strict=False, description="only these files of it")


@dataclass(slots=True)
class _File:
    """One file while changes are taken back: its present image, and its content and mode afterwards."""

    image: FileImage | None
    data: bytes | None
    executable: bool


@dataclass(slots=True)
class TakingBack:
    """Takes changes back, the last one first. `files` are the files seen so far, `left` says why a change was left."""

    ctx: ToolContext
    files: dict[str, _File] = field(default_factory=dict[str, _File])
    left: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, change: PastChange) -> None:
        """Takes one change back, or notes why it is left."""
        if any(leads_elsewhere(path, self.ctx) for path in _paths(change)):
            why: str | None = LINKED
        else:
            why = self._move(change.path, change.moved_from) if change.moved_from else self._restore(change)
        if why is not None:
            self.left[change.path] = why

    def digest(self, path: str) -> str | None:
        """Returns the digest that a file will have, or None if there will be no file."""
        return _digest(self._file(path).data)

    def changes(self) -> tuple[FileChange, ...]:
        """Returns the changes to make, removals last."""
        found = [
            FileChange(self.ctx.resolve(path), file.image, file.data, executable=_rights(file))
            for path, file in self.files.items()
            if _differs(file)
        ]
        return tuple(sorted(found, key=lambda each: each.after is None))

    def _restore(self, change: PastChange) -> str | None:
        file = self._file(change.path)
        wanted, was = (self._contents(digest) for digest in (change.before, change.after))
        if change.before is not None and wanted is None:
            return NOT_KEPT
        if _digest(file.data) == change.before:
            return None
        if _digest(file.data) == change.after:
            file.data = wanted
            file.executable = change.executable[0] if change.executable else file.executable
            return None
        if file.data is None or wanted is None or was is None or _is_binary(file.data, wanted, was):
            return CHANGED_SINCE if change.after is not None else "another file has this name now"
        merged = take_back(was, wanted, file.data)
        file.data = merged.data
        return _told_left(merged.left, merged.done)

    def _move(self, now: str, then: str) -> str | None:
        source, target = self._file(now), self._file(then)
        if source.data is None:
            return "it is no longer there"
        if target.data is not None:
            return f"there is another file at `{then}` now"
        target.data, source.data = source.data, None
        target.executable = source.executable
        return None

    def _file(self, path: str) -> _File:
        if path not in self.files:
            image = if_there(lambda: current_image(self.ctx.resolve(path), self.ctx))
            data = None if image is None else image.data
            self.files[path] = _File(image, data, image is not None and is_executable(image.mode))
        return self.files[path]

    def _contents(self, digest: str | None) -> bytes | None:
        return None if digest is None else self.ctx.history.contents(digest)


def _told_left(left: int, done: int) -> str | None:
    """Returns why `left` places of a file stay as they are, while `done` were taken back."""
    if left and not done:
        return CHANGED_SINCE
    stays = "was changed since, and stays as it is" if left == 1 else "were changed since, and stay as they are"
    return f"{left} of its {left + done} places {stays}" if left else None


def choose_turn(turns: Sequence[PastTurn], arguments: UndoArguments) -> PastTurn:
    """Returns the turn whose changes are taken back; a redo takes an undo back. Raises ToolError."""
    able = can_take_back(turns, arguments.direction, arguments.turn)
    if able:
        return able[-1]
    named = f"no turn `{arguments.turn}`" if arguments.turn else "no turn"
    lacks = "has changes that can be taken back" if arguments.direction == "undo" else "was undone"
    raise ToolError(
        f"there is nothing to {arguments.direction}",
        f"{named} of this session {lacks}",
        "`remit session show` lists the turns and what they changed",
        code=ErrorCode.NOT_FOUND,
    )


def _chosen(arguments: UndoArguments, ctx: ToolContext) -> tuple[PastTurn, tuple[PastChange, ...]]:
    turn = choose_turn(ctx.history.turns(), arguments)
    only = None if arguments.paths is None else set(arguments.paths)
    changes = tuple(each for each in turn.changes if only is None or only & {each.path, each.moved_from})
    if not changes:
        raise ToolError(
            "there is nothing to take back", "the turn changed none of these files", "leave `paths` out for all of them"
        )
    return turn, changes


def _targets(arguments: UndoArguments, ctx: ToolContext) -> tuple[Target, ...]:
    _, changes = _chosen(arguments, ctx)
    paths = dict.fromkeys(path for each in changes for path in _paths(each))
    return tuple(Target("fs.write", ctx.resolve(path)) for path in paths if not leads_elsewhere(path, ctx))


async def _prepare(arguments: UndoArguments, ctx: ToolContext) -> Plan:
    return await asyncio.to_thread(_plan, arguments, ctx)


def _plan(arguments: UndoArguments, ctx: ToolContext) -> Plan:
    turn, changes = _chosen(arguments, ctx)
    taking = TakingBack(ctx)
    for change in reversed(changes):
        taking.take(change)
    todo = taking.changes()
    left = [f"{path}: {why}" for path, why in taking.left.items()]
    if not todo:
        return _nothing_to_change(turn, left, arguments, ctx)
    paths = [change.path.relative for change in todo]
    line = f"{_DONE[arguments.direction]}: {', '.join(paths)}"
    text = "\n".join([line, *(f"left: {each}" for each in left)])
    data: dict[str, JsonValue] = {"turn": turn.turn_id, "changed": [*paths], "left": [*left]}
    summary = line + (f" ({len(left)} left)" if left else "")
    return WritePlan(todo, Outcome(text, summary, data), undoes=(turn.turn_id,))


_DONE = {"undo": "undone", "redo": "redone"}
_HELD = {
    "undo": "the files already hold what they held before that turn",
    "redo": "the files already hold what they held before that undo",
}
_THEN = {"undo": "the next undo goes on to the turn before it", "redo": "the next redo goes on to the undo before it"}


def _nothing_to_change(turn: PastTurn, left: Sequence[str], arguments: UndoArguments, ctx: ToolContext) -> Plan:
    """Returns a plan that changes nothing, after which the turn counts as taken back, so that the next one can be.

    Raises ToolError if something was changed since, because it can still be taken back once that is put back; and if
    only some files were asked for, because nothing is known of the others.
    """
    direction = arguments.direction
    nothing, why = f"nothing was {_DONE[direction]}", "; ".join(left) or _HELD[direction]
    if left:
        raise ToolError(nothing, why, f"put it back as it was and {direction} again, or name another turn")
    if arguments.paths is not None:
        raise ToolError(nothing, why, "leave `paths` out for the other files of the turn, or name another turn")
    others = any(each.turn_id != turn.turn_id for each in can_take_back(ctx.history.turns(), direction))
    then = f", and {_THEN[direction]}" if others else ""
    text = f"{nothing}: {why}; the turn counts as {_DONE[direction]}{then}"
    data: dict[str, JsonValue] = {"turn": turn.turn_id, "changed": [], "left": []}
    return WritePlan((), Outcome(text, text, data), undoes=(turn.turn_id,))


def _paths(change: PastChange) -> tuple[str, ...]:
    return (change.path,) if change.moved_from is None else (change.path, change.moved_from)


def leads_elsewhere(path: str, ctx: ToolContext) -> bool:
    """Returns whether a link in the file's place, or above it, now leads to another file than the recorded one."""
    try:
        return ctx.resolve(path).relative != path
    except OutsideWorkspace:
        return True


def _differs(file: _File) -> bool:
    if file.image is None or file.data is None:
        return (file.image is None) != (file.data is None)
    return file.image.data != file.data or is_executable(file.image.mode) != file.executable


def _rights(file: _File) -> bool | None:
    if file.data is None:
        return None
    was = file.image is not None and is_executable(file.image.mode)
    return None if was == file.executable else file.executable


def _digest(data: bytes | None) -> str | None:
    return None if data is None else digest_of(data)


def _is_binary(*texts: bytes) -> bool:
    return any(b"\0" in text for text in texts)


UNDO_CHANGES = Tool(
    name="undo_changes",
    summary="Take back what a turn changed, where nobody changed it since.",
    effect=Effect.WRITE,
    arguments=UndoArguments,
    targets=_targets,
    prepare=_prepare,
    person_only=True,
)
