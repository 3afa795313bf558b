"""The test-first workflow: states, what leads from one to the next, what each opens, and what proves a failing test.

Its words, and the tables of what leads where (`states.py`), what they leave writable (`workflow.yaml`), which files are
tests, and what an exemption opens (`test_files.py`), the coverage that explore mode owes (`debt.py`), when a commit
needs a look (`review.py`), a session's place as one value, and what of it holds when the session is taken up again
(`position.py`). Absent: any run of a test.
"""
