"""What of the machine a command sees.

The system, and the table of what is shown of the person's home (`toolchains.py`), what stands behind a folder of shims
in PATH (`shims.py`), the variables, and what a tool names (`environment.py`).
"""
