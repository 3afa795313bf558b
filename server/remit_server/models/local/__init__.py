"""A model on this machine: the provider, and its process from outside and inside."""
