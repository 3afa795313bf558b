"""The built-in tools, one thin file each; `table.TOOLS` lists them (TOOL-01)."""
