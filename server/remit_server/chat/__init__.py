"""A chat as every transport offers it: commands, what a message can mention, a person's own prompts (CLI-05).

`commands.py` has the table of commands (`COMMANDS`), `lines.py` reads what was typed and completes it, `mentions.py`
finds what a message attaches, and `prompts.py` reads prompts from files. Nothing here draws.
"""
