"""Models that follow a script (`scripted.py`) or a recording: `recorder.py` records what a model is asked and answers
(`traffic.py` has the format of the lines), `replay.py` plays it.
"""
