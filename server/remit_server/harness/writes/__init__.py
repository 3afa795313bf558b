"""Writes approved changes into the workspace, and approved commits into its repository."""
