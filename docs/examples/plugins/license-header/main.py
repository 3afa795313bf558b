"""A plugin that writes: it proposes a patch, which is reviewed as every other write is."""

from __future__ import annotations

from remit_plugin import Context, Patch, Plugin, PluginError

plugin = Plugin("license-header", "1.0.0")


@plugin.tool("add")
def add(context: Context, paths: list[str], licence: str = "MIT") -> Patch:
    """Returns the patch, and which files it is of."""
    line = f"# SPDX-License-Identifier: {licence}\n"
    done: list[str] = []
    for path in paths:
        if not context.file_exists(path):
            raise PluginError(f"there is no file `{path}`")
        text = context.read_file(path)
        if "SPDX-License-Identifier" not in text:
            context.propose(path, line + text)
            done.append(path)
    return context.patch({"with a line now": done})


if __name__ == "__main__":
    plugin.serve()
