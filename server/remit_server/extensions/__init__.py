"""Where a person's own rules run: one sandboxed process for all of them (EXT-01).

The one process of a person's own rules: kept by `host.py`, spoken to by `process.py`; `program.py` is what runs
inside. Absent: what an answer means (`policy/decision/extension.py` says that).
"""
