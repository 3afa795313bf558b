"""Isolates by the kernel alone, without an installed program: `launch.py` builds what bwrap(1) builds, with Landlock.

Absent: what a command sees (only `bubblewrap/` says that, and it starts either bwrap or `launch.py`).
"""
