"""Command lines read as trees of simple commands (CMD-01).

`read_script` is the entry point. It returns a doubt for everything that is not certain, and a command line with a doubt
is never allowed without a person's review.
"""
