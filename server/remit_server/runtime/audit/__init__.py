"""The audit log for commands and editors: calls, and the sessions of all agents."""
