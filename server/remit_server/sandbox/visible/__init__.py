"""Which parts of the machine a command sees.

The system's folders and the table of folders shown from the person's home (`toolchains.py`), the programs behind a
folder of shims in PATH (`shims.py`), the environment variables, and the files that a tool names (`environment.py`).
"""
