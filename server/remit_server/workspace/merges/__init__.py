"""The write-ahead log of merges, and what a crash left of one."""
