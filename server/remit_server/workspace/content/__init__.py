"""The bytes and texts of files, read, kept and written."""
