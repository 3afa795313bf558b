"""Decides what runs next, for all work of the server that has to wait for its turn (SCH-01).

`schedule.py` (pure) has the frozen schedule and the function that advances it; `runner.py` has the tasks that wait for
their turn, and pauses them. Absent: what a task is.
"""
