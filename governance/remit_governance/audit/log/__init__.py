"""One audit log on the disk: its databases and its chain. Absent: keys."""
