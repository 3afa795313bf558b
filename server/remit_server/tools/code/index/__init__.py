"""What `repo_map` knows of source code: names defined and used (`tags.py`), by language (`languages.py`)."""
