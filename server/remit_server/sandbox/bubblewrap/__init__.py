"""Bubblewrap: Linux namespaces around one command, with an overlay over the workspace."""
