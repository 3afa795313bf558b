"""Keeps what a command may see within policy, and classifies what it changed."""
