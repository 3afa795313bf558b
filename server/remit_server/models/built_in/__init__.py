"""The built-in model: it follows rules and uses no network, so the first run needs no configuration (MOD-09, MOD-23).

`language/` takes a sentence apart, `rules/` finds what it asks for, `edits/` plans the change of a file. `routing.py`
tries the rules in order: whole phrases first, then single words, then a name and a value. `steps.py` returns the next
step of a turn. `routes.py` has what rules return; `answers.py` and `declined.py` write the answers.
"""
