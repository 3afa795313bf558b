"""A model tried on a few requests: each in a folder of its own, judged by what it left (MOD-25)."""
