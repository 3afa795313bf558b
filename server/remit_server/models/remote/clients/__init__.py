"""The clients, one file for each protocol, each through the library of the protocol's own vendor (MOD-11)."""
