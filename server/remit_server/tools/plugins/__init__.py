"""Plugins: programs that speak with Remit over a socket, each in a sandbox of its own (PLG-01).

`manifest.py` reads what one says of itself and is made of, `record.py` what of that the person took, and its states,
`wire.py` its frames, `conversation.py` one call, `rows.py` its tools. `sdk/` is what a plugin
in Python may import: it is shown to each, and imported by nothing here.
"""
