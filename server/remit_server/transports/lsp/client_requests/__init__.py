"""Requests to the client: questions, progress, edits, and what it knows of code."""
