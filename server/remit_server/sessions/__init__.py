"""Sessions on disk: one JSON Lines file each, written as things happen and replayed from (SES-01).

Sessions on disk: lines and records (`lines.py`), one file that one process at a time writes (`session_file.py`),
written while a turn runs (`recorder.py`), what records come to (`replay.py`, pure), the folder with its list
(`folder.py`), what changed files held (`contents.py`, `history.py`), the tests that a proof is of (`kept_tests.py`),
and what all sessions changed in tests (`agent_work.py`). Absent: running anything of it.
"""
