"""Tools that look for text in files, and what they share."""
