"""Says what runs next, for everything of the server that has to wait for its turn (SCH-01).

What runs next: a frozen schedule and the function that advances it (`schedule.py`, pure), the tasks that wait for
their turn in it and how one of them is paused (`runner.py`). Absent: what a task is.
"""
