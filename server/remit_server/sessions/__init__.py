"""Sessions on disk: one JSON Lines file each, written as things happen and replayed from (SES-01).

Sessions on disk: lines and records (`lines.py`), one file that one process at a time writes (`session_file.py`),
written while a turn runs (`recorder.py`), what records come to (`replay.py`, pure), the folder with its list
(`folder.py`), what changed files held (`contents.py`), what turns and all sessions changed (`history.py`), and
the tests that a proof is of (`kept_tests.py`). Absent: running anything of it.
"""
