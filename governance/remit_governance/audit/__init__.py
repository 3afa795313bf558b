"""The audit log: two records for every call, chained by hash, in SQLite (AUD-01).

`record.py` says what a record holds and which records may wait for the disk (pure); `store.py` is one open log;
`maintenance.py` is its thread, and says how long segments stay. `audit/log/` is the log on the disk: a hash chain in
SQLite (`chain.py`, `database.py`), and logs that cannot be used (`set_aside.py`). `audit/proof/` vouches for the log:
signed checkpoints and a signed head that lie elsewhere (`sealing.py` writes the head, `proven.py` judges it;
`elsewhere.py` sends checkpoints away). `audit/reading/` has queries, calls and `verify`. Absent: keys from `log/`,
writes from `reading/`.
"""
