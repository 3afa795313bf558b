"""Tools that move the workflow of a session (FLW-06)."""
