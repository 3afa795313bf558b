"""Skills: folders with a `SKILL.md`, instructions for a kind of work that a model reads when it needs them (TOOL-19).

`skill_file.py` reads what is said of one, `read_skill.py` is the row of the tool that reads it.
"""
