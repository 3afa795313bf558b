"""The rules Remit holds an agent to: intents, policy, permissions, approvals, audit and redaction.

Pure apart from the two modules that say so (`audit.store`, `policy.load`); no editor, no model, no network.
"""
