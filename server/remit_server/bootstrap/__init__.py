"""Starts the server and keeps it up: standard library only, no message of the protocol, no data (CLI-11 to CLI-16).

Keeps the server up (`keep_up.py`), in a container of the workspace where asked to (`container.py`), and finds
runtimes (`runtimes.py`).
"""
