"""What runs of tests prove, judged from what they told and from the texts of the tests, without a look at the disk.

A failing and a passing test, and what fixtures that tests share may hold (`runs.py`), tests alone, and which test
files a run wrote for itself (`alone.py`), by
what a test is made of (`pieces.py`, and `by_language.py`). Absent: the session, its states, and any run of a test.
"""
