"""Work items: what a step may work on, from a file that only people write.

As values (`items.py`), their file (`file.py`), their scopes as rules (`scope.py`). Absent: any look at the
disk.
"""
