"""A whole step as one JSON value, for engines that decode by a schema (MOD-12)."""
