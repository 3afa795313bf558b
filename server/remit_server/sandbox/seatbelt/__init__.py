"""Seatbelt: macOS's own sandbox."""
