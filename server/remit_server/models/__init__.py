"""Model providers behind one port: local MLX models, the built-in one, and scripts and recordings for tests.

The port (`ports.py`), how a model is spoken to (`profile.py`), which provider a reference means (`choose.py`), one
answer in a wanted format (`answers.py`), why there is no model (`availability.py`), one model for all folders of a
server (`shared.py`), limits of arguments that intersect (`limits.py`), an answer that only repeats itself
(`sameness.py`), the thinking with which an answer begins (`thinking.py`), calls that cannot be read or stand in a code
fence (`unreadable.py`), what a model is told about the tools (`tool_words.py`), and every model that can be chosen here
(`finding.py`).
"""
