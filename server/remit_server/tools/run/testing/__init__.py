"""Runners of tests: which there are, what each is told, and its report as results (TOOL-08)."""
