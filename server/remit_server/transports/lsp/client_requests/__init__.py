"""Requests to the client: questions, progress, edits, and queries about code.

`approval_messages.py` asks for approvals by message, and `progress.py` shows progress. `folder_requests.py` asks about
one folder: trust, settings, code and edits. `registrations.py` asks the client to send further methods, some only while
a question waits. `review.py` (with `connection/reviews.py`) keeps the waiting questions for lenses and commands.
"""
