"""Models that follow a script (`scripted.py`) or a recording: `recorder.py` writes down what a model is asked and says
(`traffic.py` is the file's lines), `replay.py` plays it.
"""
