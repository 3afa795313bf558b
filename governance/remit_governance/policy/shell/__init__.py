"""Command lines read as trees of simple commands (CMD-01).

`read_script` is the door. What it cannot know for certain it says, and what is not certain is never allowed by itself.
"""
