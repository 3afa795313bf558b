"""JSON-RPC over one connection: frames, threads, the shapes of messages, the custom methods, errors.

The way to the client: framing on two threads (`frames.py`), the shape of what comes (`shapes.py`),
JSON-RPC (`json_rpc.py`), the custom methods, and errors as they are answered (`custom_methods.py`).
Absent: what a method does.
"""
