"""Where a person's own rules run: one sandboxed process for all of them (EXT-01)."""
