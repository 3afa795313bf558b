"""The language server: the only package that knows pygls and lsprotocol.

The life of one connection (`main.py`, `server.py`), its methods (the table `FEATURES` in `methods.py`), what features
see of it (`connection.py`: the `Connection`, or a frozen `Snapshot` for those that only look, and work of which only
the latest counts), one file a feature in `lsp/features/`, workspace folders, each with a runtime of its own
(`folders.py`), and what is watched in them while they are open (`open_folders.py`), commands for plain editors
(`commands.py` with the table `tasks.py`, `session_commands.py`, `chat_commands.py`, `review_commands.py`,
`governance_commands.py`, `model_commands.py`), the addresses of documents that are on no disk (`virtual_addresses.py`),
and an editor for tests and the demo (`editor.py`). A feature imports down, never the server. Absent: decisions,
anything slow to import before `initialize` is answered.
"""
