"""The standard streams of a process: claimed for a protocol, read and written by lines, the log on one of them, and the
pings that show that a process still answers on them.
"""
