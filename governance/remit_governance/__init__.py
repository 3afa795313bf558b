"""The rules Remit holds an agent to: intents, policy, permissions, approvals, audit and redaction.

Pure, except for `os_keyring.py` and the modules whose docstrings say "(effect)". It knows no editor, no model and no
network.
"""
