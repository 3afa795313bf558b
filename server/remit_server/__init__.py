"""Remit's server: the language server, the agent, the model and the sandboxes."""

__version__ = "0.1.0"
