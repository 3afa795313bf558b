"""Code on a command line: what little of it is known by what it does."""
