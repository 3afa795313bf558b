"""The gateway: the model as JSON lines on stdin and stdout (GW-01).

Any program can use the model through it. `protocol.py` is the wire format, `conversation.py` keeps sessions and asks
the model, `server.py` keeps requests in order and answers them. Absent: tools, a workspace, decisions.
"""
