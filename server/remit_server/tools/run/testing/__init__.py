"""Runners of tests: which there are, what each is told, and its report as results (agent.md §2)."""
