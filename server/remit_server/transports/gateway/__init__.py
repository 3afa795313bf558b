"""The gateway: the model as JSON lines on stdin and stdout (GW-01)."""
