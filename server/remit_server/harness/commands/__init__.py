"""Keeps what a command may see within policy, and judges and merges what it changed."""
