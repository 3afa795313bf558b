"""The gateway: the model as JSON lines on stdin and stdout (GW-01).

The model for any program, as JSON lines: the wire (`protocol.py`), sessions and what the model is told of them
(`conversation.py`), order and answers (`server.py`). Absent: tools, a workspace, decisions.
"""
