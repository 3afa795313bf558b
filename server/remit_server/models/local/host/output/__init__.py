"""Reads the output of a generation as text, thinking and calls."""
