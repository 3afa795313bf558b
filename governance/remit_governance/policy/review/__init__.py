"""Policies looked at and changed: listed, tested, replayed, updated."""
