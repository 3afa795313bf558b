"""What is known about programs: rows of `policy/programs/*.yaml`, and rows that a person or a project adds (CMD-08).

To add a program, write one row into the file of its subject. Its first line has the names of the program. The other
lines say what its words do, its `options`, which of these name a file to be written (`writes`), and the effect of an
option that is not listed (`unlisted`). docs/policy-reference.md explains the keys that a person may use too;
`files.py` has all keys. If words alone cannot tell the effect, the row names a function of `judging.JUDGES`, or of
`DOUBTS` or `WRITTEN` in `programs.py`.
"""
