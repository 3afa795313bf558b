"""Tools of the person's own: programs that take JSON and print JSON (TOOL-15).

`declared.py` reads what is said of one, `row.py` makes its row beside the built-in ones.
"""
