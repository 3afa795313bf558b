"""Folders of files, walked without what the project ignores."""
