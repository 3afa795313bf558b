"""What of the machine a command sees.

The system (`system_folders.py`), the table of what is shown of the person's home (`toolchains.py`), what stands
behind a folder of shims in PATH (`shims.py`), what a tool names (`visible_paths.py`).
"""
