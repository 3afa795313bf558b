"""Which models this machine has and may reach: looked for when the person asks, and nowhere but here (MOD-26)."""
