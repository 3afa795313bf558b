"""The command line: one thin file per command, listed in `main.COMMANDS`.

What is slow to import, or would make a file too long, is a file beside it (`session_turns.py`, `policy_files.py`).
`cli/chat/` is the chat: its loop (`app.py`), its line (`prompt.py`), what a turn shows (`transcript.py`); its questions
are answered by one key (`question.py`). `trials.py` tries a model on requests and judges what it left. Absent:
decisions.
"""
