"""Bytes and texts of files: reading, caching and writing."""
