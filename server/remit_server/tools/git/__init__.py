"""Tools that look at a git repository or commit to it."""
