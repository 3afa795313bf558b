"""Starts the server and keeps it up: standard library only, no message of the protocol, no data (CLI-11 to CLI-16)."""
