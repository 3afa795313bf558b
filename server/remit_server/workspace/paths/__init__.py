"""Workspace paths, parsed once and opened without races."""
