"""Walks folders without what the project ignores."""
