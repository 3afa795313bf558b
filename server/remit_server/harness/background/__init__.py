"""Processes in the background: kept, told of, and ended with their session (BG-01).

`processes.py` keeps them, `printed.py` what they print.
"""
