"""The command line: one thin file per command, listed in `main.COMMANDS`.

In `cli/commands/policy/` and `cli/commands/session/` it is one a subcommand. `cli/chat/` is the chat: its loop
(`app.py`), keys, questions by one key (`question.py`), Markdown block by block (`blocks.py`, `transcript.py`).
`cli/trials/` tries a model on requests and judges what it left. Absent: decisions.
"""
