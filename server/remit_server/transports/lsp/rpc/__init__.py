"""JSON-RPC over one connection: frames, threads, the shapes of messages, the custom methods, errors.

`frames.py` reads and writes frames on two threads, `shapes.py` checks the shape of incoming values, `json_rpc.py` is
JSON-RPC itself, and `custom_methods.py` has the custom methods and the form of error answers.
Absent: what a method does.
"""
