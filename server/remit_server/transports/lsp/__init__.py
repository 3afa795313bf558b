"""The language server: the only package that knows pygls and lsprotocol.

`main.py` and `server.py` run one connection from start to end; `methods.py` lists its methods in the table `FEATURES`.
`connection.py` has the state that features see: the `Connection`, or a frozen `Snapshot` for features that only read.
`lsp/features/` has one file per feature. `folders.py` has the workspace folders, each with its own runtime, and
`open_folders.py` watches their policy and configuration. Commands for editors that do not know Remit are in
`commands.py` (with the table in `tasks.py`), `session_commands.py`, `chat_commands.py`, `review_commands.py`,
`governance_commands.py` and `model_commands.py`. `virtual_addresses.py` parses the addresses of documents that are no
files; `editor.py` is an editor for tests and the demo. A feature imports the layers below it, never the server. Absent:
decisions, and anything slow to import before `initialize` is answered.
"""
