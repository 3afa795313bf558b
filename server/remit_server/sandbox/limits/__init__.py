"""How much of the machine a command may use; `limits.py` has the table."""
