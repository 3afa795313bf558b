"""The built-in model: rules, and no network. It makes the first run work without configuration (MOD-09, MOD-23)."""
