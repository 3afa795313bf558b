"""Processes in the background: started, read, ended and shown by these tools (BG-01).

`seen.py` says what a tool is told of them; `harness/background/` keeps them.
"""
