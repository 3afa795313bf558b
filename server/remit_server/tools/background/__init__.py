"""Background processes, which these tools start, read, end and list (BG-01).

`seen.py` defines what a tool sees of the processes; `harness/background/` keeps them.
"""
