"""Podman and Docker: one container a command.

`container_argv.py` has their command lines.
"""
