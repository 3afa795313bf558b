"""The built-in model: rules, and no network. It makes the first run work without configuration (MOD-09, MOD-23).

What a sentence is made of (`sentences.py`, its words and files by `words.yaml` and `words.py`), the next step of a
turn by rules in their order (`steps.py`): whole phrases (`phrases.yaml`, `phrases.py`, `phrased.py`), then single words
(`looking.py`, `changing.py`), what they come to (`routes.py`), and what is answered or declined (`answers.py`).
"""
