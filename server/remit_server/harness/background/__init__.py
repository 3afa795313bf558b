"""Processes in the background: holds them, reports on them, and ends them with their session (BG-01).

`processes.py` holds the processes of all sessions, `process.py` is one of them, `printed.py` what it prints.
"""
