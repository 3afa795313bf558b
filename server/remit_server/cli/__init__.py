"""The command line: one thin file per command, listed in `main.COMMANDS`.

Code that is slow to import, or would make a file too long, is in a file beside it (`session_turns.py`,
`policy_files.py`). `cli/chat/` is the chat: its loop (`app.py`), its prompt line (`prompt.py`), how it shows a turn
(`transcript.py`); one key answers a question (`question.py`). `trials.py` tries a model on requests and judges what it
left. Absent: decisions.
"""
