"""Requests to the client: questions, progress, edits, and what it knows of code.

What the server asks of its client or shows there: approvals by message (`approval_messages.py`), progress
(`progress.py`), what is asked of a folder: trust, settings, code and edits (`folder_requests.py`), what it is to call
while something waits (`registrations.py`), what waits for lenses and commands (`review.py`, with `lsp/reviews.py`).
"""
