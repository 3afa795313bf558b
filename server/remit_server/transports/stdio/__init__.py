"""Turns for scripts and other programs, as JSON lines on standard input and output (TRN-04).

`main.py` is the process: its streams, its signals, its end. What the lines mean is `runtime/streamed_client.py`'s.
Absent: questions put by other means than the stream.
"""
