"""Remit as an agent of the Agent Client Protocol, version 1, on standard input and output (TRN-10).

`main.py` is the process, `sdk.py` the SDK's connection with its defects mended, `agent.py` the table of what a client
can ask. `folders.py` and `sessions.py` hold what is open; `prompts.py` reads a prompt, `turns.py` runs it and asks,
`updates.py` and `replayed.py` say events and kept sessions in the protocol's words, `options.py` are what can be
chosen, `client_files.py` the client's own files. Absent: decisions, and a program of the client's that is started.
"""
