"""Models that another program serves, on this machine or elsewhere; only where the person chose one (MOD-11)."""
