"""The options of well-known programs, read as sets."""
