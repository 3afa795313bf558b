"""The model as a gateway of JSON lines on stdin and stdout (GW-01)."""
