"""Runs a person's own rules: one sandboxed process for all of them (EXT-01).

`host.py` keeps the process running, `process.py` talks to it, and `program.py` is the program that runs inside. Absent:
what an answer means (`policy/decision/extension.py` says that).
"""
