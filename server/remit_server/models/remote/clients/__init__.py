"""One file a protocol: the way to an engine through the library of those who made it (MOD-11)."""
