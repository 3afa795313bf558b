"""Unified diffs as models write them: read leniently, applied strictly."""
