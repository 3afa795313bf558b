"""The built-in model: rules, and no network. It makes the first run work without configuration (MOD-09, MOD-23).

What a sentence is made of (`sentences.py`, its files in `files_told.py`, words in `words.yaml` and `words.py`), the
rules in their order (`rules.py`): whole phrases (`phrases.yaml`, `phrases.py`, `phrased.py`, those that only look in
`phrased_looks.py`), then single words (`looking.py`, `changing.py`), what they come to (`routes.py`, edits of a line
in `line_edits.py`), the next step of a turn (`steps.py`), and what is answered (`answers.py`) or declined
(`declining.py`).
"""
