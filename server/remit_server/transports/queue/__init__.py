"""Turns over a NATS broker: `remit worker` runs them, `remit submit` and `remit watch` send and follow them (TRN-30).

`names.py` has the names of everything on the broker, and `broker.py` connects. `turn_log.py` reads and writes a turn's
events. `worker.py` takes requests, runs their turns, and handles messages to running turns; `following.py` is the
client's side. Absent: judging, and files of the workspace.
"""
