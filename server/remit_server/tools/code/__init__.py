"""Tools that answer questions about code."""
