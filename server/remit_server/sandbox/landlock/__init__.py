"""The kernel's own means, where no program isolates: `launch.py` builds what bwrap(1) builds, and adds Landlock to it.

Absent: what a command sees (`bubblewrap/` says that, once, and starts either of the two).
"""
