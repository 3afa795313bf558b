"""Judges what runs of tests prove, from their reports and from the texts of the tests, without reading the disk.

`runs.py` judges failing and passing tests, and what a conftest file may hold; `alone.py` judges tests that are written
alone, and finds test files that a run wrote itself; `pieces.py` and `by_language.py` find what a test is made of.
Absent: the session, its states, and any run of a test.
"""
