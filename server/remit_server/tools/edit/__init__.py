"""Tools that write, edit, move and delete files."""
