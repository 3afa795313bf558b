"""A model on this machine: the provider, and both sides of its process.

The provider (`provider.py`), what it sends and reads (`conversion.py`), its process from outside (`process.py`,
`wire.py`). `models/local/hub/` knows names, the local cache and `remit model pull`; only `models/local/hub/remote.py`
has a network, and only that command imports it.
"""
