"""Command lines read as trees of simple commands (governance.md §2, Commands; threats.md, Shell).

`read_script` is the door. What it cannot know for certain it says, and what is not certain is never allowed by itself.
"""
