"""Lists, tests, replays and updates policies."""
