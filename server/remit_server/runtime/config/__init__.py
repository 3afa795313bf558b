"""Configuration: the settings, where each is set, and which value counts (CFG-01)."""
