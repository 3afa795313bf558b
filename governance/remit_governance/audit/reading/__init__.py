"""Looking at a log that somebody may be writing to: queries, calls, the whole examination. Writes nothing."""
