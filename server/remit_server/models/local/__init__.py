"""A model on this machine: the provider, and both sides of its process."""
