"""The audit log: two records for every call, chained by hash, in SQLite (AUD-01).

`record.py`, what is said, and what of it may wait for the disk (pure); `store.py`, one open log; `maintenance.py`, its
thread, and how long segments stay. `audit/log/` is the log on the disk: a hash chain in SQLite (`chain.py`,
`database.py`), a log that cannot be used (`set_aside.py`). `audit/proof/` vouches for it: signed checkpoints and a
signed head that lie elsewhere (`sealing.py` writes the head, `proven.py` judges it; `elsewhere.py` sends checkpoints
away). `audit/reading/` is queries, calls and `verify`. Absent: from `log/` any key, from `reading/` any write.
"""
