"""Guesses what a sentence that no rule takes may mean, by what the files say of its words (MOD-29)."""
