"""Source code that a map cannot know, so that it can say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import PurePosixPath

_ENDINGS = frozenset(
    {
        *(".cs", ".vb", ".fs", ".swift", ".m", ".mm", ".kt", ".kts"),
        *(".scala", ".groovy", ".clj", ".rb", ".php", ".pl", ".pm", ".lua", ".r", ".jl", ".hs", ".ml", ".mli", ".ex"),
        *(
            ".exs",
            ".erl",
            ".dart",
            ".zig",
            ".nim",
            ".pas",
            ".f90",
            ".sh",
            ".bash",
            ".ps1",
            ".sql",
            ".vue",
            ".svelte",
            ".vhd",
        ),
    }
)
_MOST_NAMED = 5


class UnknownLanguages:
    """Counts source files that no grammar is there for, by the endings of their names."""

    def __init__(self) -> None:
        self._counted = Counter[str]()

    def count(self, relative: str, permits: Callable[[str, str], bool]) -> None:
        """Take a file of none of `LANGUAGES` into account, if it is source code that may be read."""
        ending = PurePosixPath(relative).suffix.lower()
        if ending in _ENDINGS and permits("fs.read", relative):
            self._counted[ending] += 1

    def said(self) -> list[str]:
        """What to say of them."""
        named = [f"{ending} ({count})" for ending, count in self._counted.most_common(_MOST_NAMED)]
        more = ["…"] if len(self._counted) > _MOST_NAMED else []
        return [f"not looked at, as their language is not known here: {', '.join(named + more)}"] if named else []
