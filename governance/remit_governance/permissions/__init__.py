"""The person's standing answers, and where they hold.

`permissions.py` decides by them, and which of them hold in a workspace; what an answer would remember, in words, as an
exact rule, and in a file's text (`remembered.py`).
Absent: writing the file.
"""
