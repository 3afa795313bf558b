"""Grammars of what a generation may spell."""
