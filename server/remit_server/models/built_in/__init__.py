"""The built-in model: it follows rules and uses no network, so the first run needs no configuration (MOD-09, MOD-23).

`sentences.py` takes a sentence apart, with the words of `words.yaml` and `words.py`. `steps.py` returns the next step
of a turn. Rules are tried in order: whole phrases (`phrases.yaml`, `phrases.py`, `phrased.py`) first, then single words
(`looking.py`, `changing.py`). `routes.py` has what rules return; `answers.py` and `declined.py` write the answers.
"""
