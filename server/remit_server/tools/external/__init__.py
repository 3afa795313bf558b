"""Tools of the person's own: programs that take JSON and print JSON (TOOL-15).

`declared.py` reads a tool's description, `row.py` makes its row beside the built-in tools.
"""
