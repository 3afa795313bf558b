"""A file's bytes after a patch, and a line about each of its hunks (`apply_diff`; TOOL-05).

Encoding, byte order mark and line ends stay as they were, unless the diff shows them: then it means them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.tools.edit.near_miss import explain
from remit_server.tools.edit.patch.apply import Placed, Unplaced, apply_hunks, place
from remit_server.tools.edit.patch.parts import NO_NEWLINE, FilePatch, Hunk
from remit_server.tools.files.read_source import MARK, with_one_mark
from remit_server.workspace.content.files import MAX_FILE_BYTES, FileImage
from remit_server.workspace.content.text import Text


def edit_image(patch: FilePatch, image: FileImage, redact: Callable[[str], str]) -> tuple[bytes, list[str]]:
    """What `image` becomes, and where each hunk goes. Raises ToolError, with its words as `redact` leaves them."""
    text, placed = Text(""), tuple[Placed | Unplaced, ...]()
    for text, hunks in _readings(image.data, patch):
        shown = _shows_mark(text, hunks)
        placed = place(MARK + text.content if shown else text.content, hunks)
        good = [each for each in placed if isinstance(each, Placed)]
        if len(good) == len(placed):
            return _encode(patch, text, good, shown=shown), _lines(patch, placed)
    raise _misplaced_error(patch, placed, text.content, redact)


def diff_refusal(patch: FilePatch, why: str, fix: str, code: ErrorCode = ErrorCode.INVALID_ARGUMENTS) -> ToolError:
    """The refusal of a whole diff for what it says of one file."""
    return ToolError(f"nothing was changed: cannot patch `{patch.path}`", why, fix, code=code)


def _readings(data: bytes, patch: FilePatch) -> Iterator[tuple[Text, Sequence[Hunk]]]:
    r"""The ways to understand file and hunks. A diff that shows line ends is taken at its word, where that fits."""
    text = Text.decode(data, patch.path)
    ends = {line.endswith("\r") for hunk in patch.hunks for line in (*hunk.old, *hunk.new)}
    if True in ends:
        raw = data[len(text.mark) :].decode(text.encoding)
        yield Text(raw, text.encoding, text.mark), patch.hunks
    if ends != {True, False}:
        # It changes no line end, so those of the file can stay, whichever they are.
        yield text, [hunk.plain for hunk in patch.hunks]


def _shows_mark(text: Text, hunks: Sequence[Hunk]) -> bool:
    """Whether the diff shows the file's byte order mark as a character before its first line, as git does."""
    return bool(text.mark) and any(line.startswith(MARK) for hunk in hunks for line in hunk.old)


def _encode(patch: FilePatch, text: Text, placed: Sequence[Placed], *, shown: bool) -> bytes:
    after = apply_hunks(MARK + text.content if shown else text.content, placed)
    if len(after) > MAX_FILE_BYTES:
        raise diff_refusal(patch, f"it would become larger than {MAX_FILE_BYTES} bytes", "change less")
    if not shown:
        return text.encode(with_one_mark(text, after))
    # What the diff showed and no longer has is gone, but where it says how the bytes are to be read.
    gone = not after.startswith(MARK) and text.encoding == "utf-8"
    return (replace(text, mark=b"") if gone else text).encode(after.removeprefix(MARK))


def _lines(patch: FilePatch, placed: Sequence[Placed | Unplaced]) -> list[str]:
    return [f"{patch.path}: {_describe_placement(number, each)}" for number, each in enumerate(placed, 1)]


def _describe_placement(number: int, each: Placed | Unplaced) -> str:
    match each:
        case Placed(start=start, drift=0):
            return f"hunk {number} fits at line {start + 1}"
        case Placed(start=start, drift=drift):
            return f"hunk {number} fits at line {start + 1}, {abs(drift)} lines {'below' if drift > 0 else 'above'}"
        case Unplaced(trouble="missing"):
            return f"hunk {number} fits nowhere"
        case Unplaced(trouble="ambiguous", lines=lines):
            return f"hunk {number} fits at lines {', '.join(map(str, lines))}"
        case Unplaced(trouble="repetitive"):
            return f"hunk {number} may stand at too many places to look at them all"
        case Unplaced(lines=lines):
            return f"hunk {number} overlaps another one at line {lines[0]}"


def _misplaced_error(
    patch: FilePatch, placed: Sequence[Placed | Unplaced], content: str, redact: Callable[[str], str]
) -> ToolError:
    failed = next(each for each in placed if isinstance(each, Unplaced))
    said = "; ".join(_lines(patch, placed))
    match failed.trouble:
        case "missing" if failed.hunk.at_end and "\n".join(failed.hunk.plain.old) in content:
            why = f"{said}: its last line is not the file's, as `{NO_NEWLINE}` says"
            return diff_refusal(patch, why, "leave that line out, or correct the hunk", ErrorCode.NO_MATCH)
        case "missing" if failed.hunk.old:
            miss = explain(redact(content), "\n".join(failed.hunk.old), whole_word=False)
            return diff_refusal(patch, f"{said}: {miss.why}", miss.fix, ErrorCode.NO_MATCH)
        case "missing":
            return diff_refusal(patch, f"{said}: it has no context", "add lines around it", ErrorCode.NO_MATCH)
        case "ambiguous" | "repetitive":
            return diff_refusal(
                patch, said, "add more lines of context, or the right line number", ErrorCode.NOT_UNIQUE
            )
        case "overlaps":
            return diff_refusal(patch, said, "put the two into one hunk", ErrorCode.INVALID_ARGUMENTS)
