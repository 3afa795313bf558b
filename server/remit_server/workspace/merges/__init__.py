"""The write-ahead log of merges, and recovery after a crash."""
