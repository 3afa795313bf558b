"""Reads a log that a server may be writing to: queries, calls, the whole examination. Writes nothing."""
