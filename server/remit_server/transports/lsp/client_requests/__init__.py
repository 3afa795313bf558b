"""Requests to the client: questions, progress, edits, and what it knows of code.

What the server asks of its client or shows there: approvals by message (`approval_messages.py`), progress
(`progress.py`), edits (`workspace_edit.py`), what the editor knows of code (`editor_code.py`), whether a folder is
trusted (`folder_trust.py`), its settings (`editor_settings.py`), what it is to call while something waits
(`registrations.py`), what waits for lenses and commands (`review.py`, with `lsp/reviews.py`).
"""
