"""The audit log: two records for every call, chained by hash, in SQLite (AUD-01).

`record` says what is recorded and `store` records it; `log` is what lies on the disk, `proof` what vouches for it, and
`reading` looks at both.
"""
