"""Reports of test runners, read as results."""
