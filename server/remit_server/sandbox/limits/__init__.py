"""What a command may use of the machine.

`templates.py` is the table; `at_once.py` says how many commands run at once.
"""
