"""Tools that run commands and tests."""
