"""Decisions: the reasons of every rule that speaks, and the strictest verdict.

`evaluate.py` makes the decision. `builtin.py` has the rules that nobody can switch off, with the table
`implicit_files.txt`, which `implicit.py` reads; `extension.py` has the rules that are programs. `risk.py` rates
actions, `rule_paths.py` finds the paths that no rule is about, and `recorded.py` makes what audit records keep.
"""
