"""Files of the workspace: race-free paths, contents with their encoding, atomic writes.

Paths without races (`paths/`); texts kept as they were, whole-file writes and removals (`content/`); trees, with
ripgrep where they are large, what ignore files say, the lists outside the tree (`exclude.py`), and folders that are
looked at again only where they changed (`known_folders.py`) (`trees/`); a log of merges and what becomes of it after
a crash (`merges/`); the port to what turns changed (`history.py`) and a change taken back hunk by hunk
by the lines that two texts share (`line_diff.py`), the port to who knows about
code (`code.py`), a repository's objects, refs and locks (`git_folder.py`, `git_objects.py`), its index
(`git_index.py`, `git_absent.py`), where they lie (`git_linked.py`) and the settings of git
(`git_config.py`). Absent: policy.
"""
