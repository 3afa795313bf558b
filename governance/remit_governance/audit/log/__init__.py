"""One log on the disk: its databases and its chain, what is durable when, how long it is kept. Absent: keys."""
