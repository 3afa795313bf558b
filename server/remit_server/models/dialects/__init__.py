"""The syntaxes in which models spell tool calls, as one table (MOD-16)."""
