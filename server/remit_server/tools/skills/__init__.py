"""Skills: folders with a `SKILL.md`, instructions for a kind of work that a model reads when it needs them (TOOL-19).

`skill_file.py` parses a skill's file, `read_skill.py` is the row of the tool that reads it.
"""
