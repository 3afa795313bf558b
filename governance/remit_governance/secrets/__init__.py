"""Secrets: what they look like, and how they are removed from text (`redaction.py`).

`secret_shapes.py` recognises secrets by their form, `secret_patterns.py` those that a policy describes.
"""
