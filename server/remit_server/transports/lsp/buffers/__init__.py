"""The editor's open files, as it reports them, and their paths."""
