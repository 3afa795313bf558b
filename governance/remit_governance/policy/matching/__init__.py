"""What a rule matches: paths, commands, conditions.

`conditions.py` compiles match keys, `paths.py` normalises paths and matches globs. `command_match.py` splits commands
into words, finds those that show history, and has the one matcher of policy and permissions. `scripts.py` takes a
command line apart, and `index.py` finds the rules that can match.
"""
