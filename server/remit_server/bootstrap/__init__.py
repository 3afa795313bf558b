"""Starts the server and keeps it up, with the standard library only. It sees no protocol messages and no data (CLI-11
to CLI-16)."""
