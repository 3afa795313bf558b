"""Configuration: what may be set, where it is set, and what counts (CFG-01)."""
