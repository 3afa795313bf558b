"""Decisions: every rule that speaks, and the strictest word."""
