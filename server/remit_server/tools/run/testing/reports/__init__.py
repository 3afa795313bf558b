"""Turns the reports of test runners into results."""
