"""Where a person's own rules run: one sandboxed process for all of them (003 §Rule Language, extension layer)."""
