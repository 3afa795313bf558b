"""What `repo_map` knows of source code: names defined and used (`tags.py`), and which matter (`ranking.py`)."""
