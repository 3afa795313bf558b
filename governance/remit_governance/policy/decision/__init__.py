"""Decisions: every rule that speaks, and the strictest word.

`evaluate.py`, which paths no rule is about, by their names (`rule_paths.py`), the rules nobody can switch off
(`builtin.py` with the table `implicit_files.txt`, read by `implicit.py`), rules that are programs (`extension.py`),
`risk.py`, what is told of a judgement and kept in records (`recorded.py`).
"""
