"""Where commands run: behind one small port, refused where nothing isolates (BOX-01).

One port (`ports.py`); `choose.py` picks an adapter, `findings.py` keeps what its trial found for the life of the
process, `probe.py` tries what holds and which sockets are reached; `advice.py` refuses where there is none, with how
to get one on this machine; `scheduled.py` has commands wait for their turn; `server_identity.py` says whose leftovers
are whose. Absent: what may run (policy says that before).
"""
