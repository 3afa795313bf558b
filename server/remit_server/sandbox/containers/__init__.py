"""Podman and Docker: one container a command.

`container_argv.py` has their command lines; `container_layer.py` what a command may write to, which `mount_layer.py`
mounts where the server is root.
"""
