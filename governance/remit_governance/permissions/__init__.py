"""The person's standing answers, and where they hold.

`permissions.py` decides by them; what an answer would remember, in words and as an exact rule (`answer_scope.py`);
that rule added to a file's text (`permission_file.py`); which rules hold in a workspace (`workspace_identity.py`).
Absent: writing the file.
"""
