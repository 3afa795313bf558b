"""The person's standing answers (permissions), and the workspaces in which they apply.

`permissions.py` decides by them, and finds those that apply in a workspace. `remembered.py` says what an answer would
remember: in words, as an exact rule, and in the text of a permission file.
Absent: writing the file.
"""
