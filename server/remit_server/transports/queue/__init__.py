"""Turns over a NATS broker: `remit worker` runs them, `remit submit` and `remit watch` send and follow them (TRN-30).

`names.py` says what lies where on the broker, `broker.py` connects, `turn_log.py` reads and writes a turn's events,
`worker.py` takes turns, runs them, and is how a running one is spoken to, `following.py` the other side.
Absent: judging, and files of the workspace.
"""
