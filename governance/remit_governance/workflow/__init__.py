"""The test-first workflow: its states, the transitions between them, what each state opens, what proves a failing test.

`states.py` has the states and the tables of transitions; `workflow.yaml` says what each state leaves writable;
`test_files.py` says which files are tests and what an exemption opens; `debt.py` counts the coverage that explore mode
owes; `review.py` says when a person has to look at a commit; `position.py` is a session's position as one value, and
judges it when the session is taken up again. Absent: any run of a test.
"""
