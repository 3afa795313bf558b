"""The audit log: two records for every call, chained by hash, in SQLite (003 §Audit Log Module).

`record` is pure; `store` writes, `query` reads and `verify` checks a database file.
"""
