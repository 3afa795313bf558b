"""Starts the server and keeps it up by the standard library only; sees no message and no data (CLI-11 to CLI-16)."""
