"""Prompt caches of sessions, in memory and in files."""
