"""A chat as every transport offers it: commands, what a message can mention, a person's own prompts (CLI-05).

A chat as every transport can offer it: the table of its commands (`COMMANDS` in `chat/commands.py`), what a line
comes to and what may be typed (`lines.py`), what a message takes with it (`mentions.py`), prompts as
files (`prompts.py`). Absent: any drawing.
"""
