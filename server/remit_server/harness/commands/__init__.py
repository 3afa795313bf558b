"""Hides from a command what policy denies it to read, and classifies what the command changed."""
