"""Podman and Docker: one container a command."""
