"""The language server: the only package that knows pygls and lsprotocol.

`main.py` and `server.py` run one connection from start to end; `methods.py` lists its methods in the table `FEATURES`.
`lsp/connection/` has what is known of the connection, `lsp/features/` one file per feature, and `lsp/commands/` the
commands for editors that do not know Remit. `editor.py` is an editor for tests and the demo. A feature imports the
layers below it, never the server. Absent: decisions, and anything slow to import before `initialize` is answered.
"""
