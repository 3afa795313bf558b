"""What a command may use of the machine; `limits.py` has the table."""
