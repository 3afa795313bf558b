"""Sessions on disk: one JSON Lines file for each session, written as things happen, and replayed later (SES-01).

`session_file.py` reads and writes a file, which only one process at a time may write; `recorder.py` writes it while a
turn runs; `replay.py` (pure) rebuilds the conversation from the records; `folder.py` lists the sessions; `history.py`
keeps what turns changed, the contents of these files, and the tests of a proof; `messages.py` copies and searches a
session's messages; `export.py` makes a page of it, and `answers.py` tells how a question ended. Nothing here runs
anything of a session.
"""
