"""Models that follow a script or a recording, and the recorder.

A model that follows a script (`scripted.py`); `recorder.py` writes down what a model is asked and says (`traffic.py`
is the file's lines), `replay.py` plays it.
"""
