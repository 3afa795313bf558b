"""Bubblewrap: Linux namespaces around one command, with an overlay over the workspace.

Linux only. `run_contained.py` holds a command until its limits are set and waits for its end, `spawn.py` starts it from
a thread of its own, `seccomp.py` is the table of syscalls, `layer.py` reads what a command wrote, `apart.py` makes the
overlays that keep the host's sockets out of reach, `bubblewrap_options.py` says what a command sees, /etc included, and
`orphans.py` kills processes that still wait for a server that was killed.
"""
