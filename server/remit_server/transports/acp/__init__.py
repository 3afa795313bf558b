"""Remit as an agent of the Agent Client Protocol, version 1, on standard input and output (TRN-10).

`main.py` is the process, `sdk.py` the SDK's connection with its defects corrected, `agent.py` the table of the client's
requests. `folders.py` and `sessions.py` hold what is open. `prompts.py` reads a prompt, and `turns.py` runs it and asks
its questions. `updates.py` and `replayed.py` convert events and kept sessions to the protocol's updates. `options.py`
has what a client can choose, and `client_files.py` reads the client's unsaved files. Absent: decisions, and starting
programs that the client names.
"""
