"""The model as a gateway of JSON lines on stdin and stdout (000; protocol.md §5)."""
