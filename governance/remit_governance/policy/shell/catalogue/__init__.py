"""What is known of programs: rows of `policy/programs/*.yaml`, and those that a person or a project adds (CMD-08).

To add a program, write one row into the file of its subject, its names on its first line: what its words do, its
`options`, those among them that name a file to be written (`writes`), and what an option that is not listed makes of it
(`unlisted`). docs/policy.md explains the keys that a person may use too; `files.py` has all. Where words alone
do not tell, the row names a function: of `judging.JUDGES`, or of `DOUBTS` or `WRITTEN` in `programs.py`.
"""
