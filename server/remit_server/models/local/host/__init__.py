"""The model process: one model, generating under a grammar of intents (MOD-02).

Runs as `python -m remit_server.models.local.host`; the server speaks to it through `remit_server.models.local.wire`.
"""
