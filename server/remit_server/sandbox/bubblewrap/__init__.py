"""Bubblewrap: Linux namespaces around one command, with an overlay over the workspace.

Linux: `run_contained.py` holds a command until its limits are set and sees it end, `spawn.py` starts it from a thread
of its own, `seccomp.py` is the table of syscalls, `layer.py` what a command wrote, `apart.py` the overlays that keep
the host's sockets out of reach, `bubblewrap_options.py` what a command sees, /etc included, `orphans.py` ends what
waits for a server that was killed.
"""
