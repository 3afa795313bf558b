"""What a command may use of the machine.

`limits.py` has the table; `at_once.py` says how many commands run at once.
"""
