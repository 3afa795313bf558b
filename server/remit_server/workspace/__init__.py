"""Files of the workspace: race-free paths, contents with their encoding, atomic writes.

`paths/` has paths without races; `content/` texts kept as they were, whole-file writes and removals; `trees/` walks,
with ripgrep for large trees, ignore files, the ignore lists outside the tree (`exclude.py`) and folders that are read
again only if they changed (`known_folders.py`); `merges/` a log of merges and recovery after a crash. `history.py` is
the port to what turns changed, `line_diff.py` finds the lines that two texts share and takes a change back hunk by
hunk, `code.py` is the port to what an editor knows about code. Git: a repository's objects, refs and locks
(`git_folder.py`, `git_objects.py`), its index (`git_index.py`, `git_absent.py`), their places (`git_linked.py`) and the
settings (`git_config.py`). Absent: policy.
"""
