"""Tells whether an edit changes types alone: compares syntax trees without what no run of the code can see (FLW-09)."""
