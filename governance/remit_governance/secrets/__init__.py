"""Secrets: what they look like, and how they are removed from text (`redaction.py`).

`secret_shapes.py` recognises secrets by their form, `key_lines.py` single lines of private keys, and
`secret_patterns.py` those that a policy describes.
"""
