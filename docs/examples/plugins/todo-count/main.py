"""A plugin that only reads: it may start no program, reach nothing and write nothing."""

from __future__ import annotations

import re

from remit_plugin import Context, Plugin, PluginError

plugin = Plugin("todo-count", "1.0.0")
MARK = re.compile(r"\b(?:TODO|FIXME)\b")


@plugin.tool("count")
def count(context: Context, folder: str = ".") -> dict[str, int]:
    """Returns how many marks each file holds that has one."""
    found: dict[str, int] = {}
    pending: list[str] = [folder]
    while pending:
        here = pending.pop()
        try:
            names = context.list_dir(here)
        except OSError as error:
            raise PluginError(f"`{here}` cannot be listed: {error.strerror}") from error
        for name in names:
            path = name if here == "." else f"{here}/{name}"
            if name.endswith("/"):
                pending += [] if name.startswith(".") else [path.rstrip("/")]
                continue
            try:
                marks = len(MARK.findall(context.read_file(path)))
            except (OSError, UnicodeDecodeError):
                continue
            if marks:
                found[path] = marks
    return found


if __name__ == "__main__":
    plugin.serve()
