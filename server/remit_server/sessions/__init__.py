"""Sessions on disk: one JSON Lines file each, written as things happen and replayed from (SES-01).

Sessions on disk: records as lines of one file that one process at a time writes (`session_file.py`), written while
a turn runs (`recorder.py`), what records come to (`replay.py`, pure), the folder with its list (`folder.py`), what
turns and all sessions changed, and what those files and the tests of a proof held (`history.py`), and a
session's messages, copied or looked through (`messages.py`). Absent: running anything of it.
"""
