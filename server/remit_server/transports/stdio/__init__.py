"""Turns for scripts and other programs, as JSON lines on standard input and output (TRN-04).

`main.py` is the process: its streams, its signals, its end. `runtime/turns/streamed_client.py` handles the lines.
Absent: questions that are asked by other means than the stream.
"""
