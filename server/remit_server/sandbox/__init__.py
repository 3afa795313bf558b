"""Runs commands behind one small port, and refuses them if nothing on this machine isolates (BOX-01).

`ports.py` is the port. `choose.py` picks an adapter; `findings.py` keeps the result of its trial for the life of the
process; `probe.py` tries to break each property of a sandbox from inside; `advice.py` refuses commands where there is
no sandbox and says how to get one on this machine; `scheduled.py` makes commands wait for their turn;
`server_identity.py` says which server a leftover folder belongs to. Absent: which commands may run (policy decides that
earlier).
"""
