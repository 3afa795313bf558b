"""The built-in model: it follows rules and uses no network, so the first run needs no configuration (MOD-09, MOD-23).

`language/` takes a sentence apart, `rules/` finds what it asks for, `edits/` plans the change of a file. `routing.py`
tries the rules in order: whole phrases first, then single words, then a name and a value; `wishes.py` parts a sentence
with several wishes. `steps.py` returns the next step of a turn. If no rule takes a sentence, `without_rule.py` looks
for its words in the files, and `guesses/` says what they may mean. `routes.py` has what rules return; `answers.py` and
`declined.py` write the answers.
"""
