"""Plugins: programs that speak with Remit over a socket, each in its own sandbox (PLG-01).

`manifest.py` reads a plugin's manifest and files, `record.py` keeps what the person accepted of them, and a plugin's
states; `wire.py` has the frames, `conversation.py` one call, `rows.py` the rows of its tools. `sdk/` is what a plugin
in Python may import: each plugin sees it, and nothing here imports it.
"""
