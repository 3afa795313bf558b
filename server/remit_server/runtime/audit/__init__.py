"""The audit log as commands and editors ask for it."""
