"""JSON-RPC over one connection: frames, threads, the shapes of messages, the custom methods, errors.

The way to the client: framing (`frames.py`) on two threads (`io_threads.py`), the shape of what comes (`shapes.py`),
JSON-RPC (`json_rpc.py`), the custom methods (`custom_methods.py`), errors as they are answered (`refusals.py`).
Absent: what a method does.
"""
