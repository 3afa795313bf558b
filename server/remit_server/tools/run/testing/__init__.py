"""Test runners: which there are, how each is started, and how its report becomes results (TOOL-08)."""
