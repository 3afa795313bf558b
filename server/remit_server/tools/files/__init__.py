"""Tools that list and read files."""
