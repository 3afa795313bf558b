"""Podman and Docker: one container for each command.

`container_argv.py` builds their command lines; `container_layer.py` prepares the overlays that a command may write to,
which `mount_layer.py` mounts if the server is root. `system_image.py` makes the image, and `ways_trial.py`
tries whether a command reaches the server.
"""
