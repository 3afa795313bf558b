"""What a rule matches: paths, commands, conditions.

What a rule means: `conditions.py` for match keys, `paths.py` for paths and globs, `command_match.py` for commands:
their words, those that show the past, and the one matcher of policy and permissions, `scripts.py` for the parts of a
command line, `index.py` finds the rules that can match.
"""
