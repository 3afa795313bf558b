"""The chat in the terminal: `remit` alone (CLI-05)."""
