"""Secrets: what they look like, and how they are taken out of text.

Also secrets that only their form gives away (`secret_shapes.py`) or that a policy describes (`secret_patterns.py`).
"""
