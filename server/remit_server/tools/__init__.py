"""The built-in tools, one thin file each; `table.TOOLS` lists them (001 §3)."""
