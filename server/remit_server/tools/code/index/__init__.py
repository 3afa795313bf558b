"""The index of source code for `repo_map`: names defined and used (`tags.py`), by language (`languages.py`)."""
